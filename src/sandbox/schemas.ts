import Type from "typebox";
import { ADVANCE_MAX_MS } from "../platform/clock.ts";
import { closedObject, optionalText, TIME, UUID } from "../platform/schema-parts.ts";

export const ClockAnswer = Type.Object({
  clock: Type.Object({ now: TIME, idle: Type.Boolean() }),
});

export const ClockBody = closedObject({
  advance_ms: Type.Integer({ minimum: 0, maximum: ADVANCE_MAX_MS }),
});

const requested = closedObject({ status: Type.String({ description: "The state to reach." }) });

/** Granted or withdrawn; its other states only follow the general status. */
export const SWIFT_STATUSES = ["approved", "suspended"] as const;

export const KycBody = closedObject({
  kyc: closedObject({
    ...requested.properties,
    swift_status: Type.Optional(
      Type.String({ description: `The approval for swift: ${SWIFT_STATUSES.join(", ")}.` }),
    ),
  }),
});
export const PaymentDetailStatusBody = closedObject({ payment_detail: requested });
export const OfframpStatusBody = closedObject({ offramp: requested });
export const InvoiceStatusBody = closedObject({ invoice: requested });

export const OnrampStatusBody = closedObject({ onramp: requested });

const amount = Type.Union([Type.Number(), Type.String()], {
  errorMessage: "Send a number or a plain decimal string.",
});

export const DepositBody = closedObject({
  deposit: closedObject({
    amount,
    currency: Type.String({ description: "E.g. usd." }),
    deposit_message: optionalText("The text of the transfer; it contains the onramp's code."),
    bank_reference: optionalText("Generated if omitted."),
  }),
});

export const CryptoDepositBody = closedObject({
  crypto_deposit: closedObject({
    quote_id: Type.String({ description: "The quote whose address is paid." }),
    tx_id: optionalText("The transaction id, in the format of its chain; generated if omitted."),
    from: optionalText("The sender's address; generated if omitted."),
    token: Type.Optional(Type.String({ description: "Default: the quote's token." })),
    amount,
    mined_at: Type.Optional(Type.String({ description: "ISO 8601; default now." })),
  }),
});

export const CryptoDepositAnswer = Type.Object({
  crypto_deposit: Type.Object({
    quote_id: UUID,
    tx_id: Type.String(),
    token: Type.String(),
    amount: Type.Number(),
    address: Type.String(),
    blockchain: Type.String(),
    from: Type.String({ description: "The sender's address." }),
    mined_at: TIME,
  }),
});

export const CryptoTransferBody = closedObject({
  crypto_transfer: closedObject({
    blockchain: Type.String({ description: "The chain, e.g. polygon." }),
    tx_id: Type.Optional(
      Type.String({
        description:
          "Generated if omitted; sent again, it adds one more transfer to the transaction.",
      }),
    ),
    token: Type.Optional(Type.String({ description: "Default usdc." })),
    amount,
    from: Type.String({ description: "The sender's address." }),
    to: Type.String({ description: "The recipient's address." }),
    mined_at: Type.Optional(Type.String({ description: "ISO 8601; default now." })),
  }),
});

export const CryptoTransferAnswer = Type.Object({
  crypto_transfer: Type.Object({
    blockchain: Type.String(),
    tx_id: Type.String(),
    log_index: Type.Integer(),
    token: Type.String(),
    amount: Type.Number(),
    from: Type.String(),
    to: Type.String(),
    mined_at: TIME,
  }),
});
