import Type from "typebox";
import { DEPOSIT_RAILS } from "../catalogue/rails.ts";
import { listAnswer, listQuery } from "../platform/http/list.ts";
import { DEPOSIT_REASONS, DEPOSIT_STATUSES, type DepositReason, ONRAMP_STATUSES } from "./model.ts";

const closed = { additionalProperties: false };
const nullableText = Type.Union([Type.String(), Type.Null()]);
const id = Type.String({ format: "uuid" });
const nullableId = Type.Union([id, Type.Null()]);
const time = Type.String({ format: "date-time" });

export const CreateOnrampBody = Type.Object(
  {
    onramp: Type.Object(
      {
        destination_amount: Type.Union([Type.Number(), Type.String()], {
          description: "The tokens to deliver, as a number or a plain decimal string.",
          errorMessage: "Send a number or a plain decimal string such as 1000.50.",
        }),
        crypto_currency: Type.String({ description: "usdc or usdt." }),
        crypto_rails: Type.String({ description: "The chain, e.g. polygon." }),
        destination_address: Type.String({
          description: "The address that receives the tokens, on that chain.",
        }),
        fiat_currency: Type.String({ description: "usd or eur." }),
        fiat_rails: Type.String({ description: "usd: ach_push or wire; eur: local." }),
      },
      closed,
    ),
  },
  closed,
);

const DepositInstructionsRecord = Type.Object(
  {
    bank_account_number: nullableText,
    bank_routing_number: nullableText,
    bank_iban: nullableText,
    bank_swift_bic: nullableText,
    bank_name: nullableText,
    bank_address: nullableText,
    bank_beneficiary_name: nullableText,
    deposit_message: Type.String({
      description:
        "Put this code in the text of the transfer; case, spaces and hyphens are ignored.",
    }),
  },
  { title: "DepositInstructions" },
);

const fields = {
  id,
  user_id: id,
  status: Type.Enum([...ONRAMP_STATUSES]),
  status_message: nullableText,
  crypto_currency: Type.String(),
  crypto_rails: Type.String(),
  destination_amount: Type.Number(),
  destination_address: Type.String(),
  fiat_currency: Type.String(),
  fiat_rails: Type.Enum([...DEPOSIT_RAILS]),
  deposit_amount: Type.Number({ description: "The amount to deposit, fee included." }),
  fee: Type.Number({ description: "In the fiat currency." }),
  rate: Type.Number({ description: "Fiat units for one token; locked for 24 hours." }),
  tx_id: Type.Union([Type.String(), Type.Null()], {
    description: "Set once the tokens were sent.",
  }),
};
const times = { created_at: time, updated_at: time };

export const OnrampRecord = Type.Object({ ...fields, ...times }, { title: "Onramp" });
export const OnrampWithInstructions = Type.Object(
  { ...fields, deposit_instructions: DepositInstructionsRecord, ...times },
  { title: "OnrampDetails" },
);
export const OnrampAnswer = Type.Object({ onramp: OnrampWithInstructions });
export const OnrampListAnswer = listAnswer("onramps", OnrampRecord);
export const OnrampListQuery = listQuery({
  status: Type.Optional(Type.Enum([...ONRAMP_STATUSES])),
});

const reasons = Object.keys(DEPOSIT_REASONS) as DepositReason[];

export const FiatDepositRecord = Type.Object(
  {
    id,
    status: Type.Enum([...DEPOSIT_STATUSES]),
    reason: Type.Union([Type.Enum(reasons), Type.Null()], {
      description: "Why the deposit waits for the operator, or could not be returned.",
    }),
    message: nullableText,
    amount: Type.Number(),
    currency: Type.String(),
    bank_account: Type.String(),
    bank_reference: Type.String(),
    booked_at: time,
    text: Type.String({ description: "The text of the transfer." }),
    payer_name: Type.String(),
    account_id: Type.Union([id, Type.Null()], {
      description: "The account of the onramp that it pays or seems to be for.",
    }),
    onramp_id: nullableId,
    matched_amount: Type.Union([Type.Number(), Type.Null()], {
      description: "The amount that the onramp took.",
    }),
    created_at: time,
    updated_at: time,
  },
  { title: "Deposit" },
);
export const FiatDepositAnswer = Type.Object({ deposit: FiatDepositRecord });
export const FiatDepositListAnswer = listAnswer("deposits", FiatDepositRecord);
export const FiatDepositListQuery = listQuery({
  status: Type.Optional(Type.Enum([...DEPOSIT_STATUSES])),
});

export const MatchDepositBody = Type.Object(
  {
    deposit: Type.Optional(
      Type.Object(
        {
          onramp_id: Type.Optional(
            Type.Union([Type.String(), Type.Null()], {
              description:
                "The onramp, of any account; default: the one whose code is in the transfer text.",
            }),
          ),
        },
        closed,
      ),
    ),
  },
  closed,
);
