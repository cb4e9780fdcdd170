import Type from "typebox";
import { DEPOSIT_RAILS } from "../catalogue/rails.ts";
import { byStatus, listAnswer, listQuery } from "../platform/http/list.ts";
import {
  closedObject,
  NULLABLE_TEXT,
  nullable,
  OPTIONAL_REASON,
  optional,
  TIME,
  titledObject,
  UUID,
} from "../platform/schema-parts.ts";
import { DEPOSIT_REASONS, DEPOSIT_STATUSES, type DepositReason, ONRAMP_STATUSES } from "./model.ts";

export const CreateOnrampBody = closedObject({
  onramp: closedObject({
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
  }),
});

const DepositInstructionsRecord = titledObject("DepositInstructions", {
  bank_account_number: NULLABLE_TEXT,
  bank_routing_number: NULLABLE_TEXT,
  bank_iban: NULLABLE_TEXT,
  bank_swift_bic: NULLABLE_TEXT,
  bank_name: NULLABLE_TEXT,
  bank_address: NULLABLE_TEXT,
  bank_beneficiary_name: NULLABLE_TEXT,
  deposit_message: Type.String({
    description: "Put this code in the text of the transfer; case, spaces and hyphens are ignored.",
  }),
});

const fields = {
  id: UUID,
  user_id: UUID,
  status: Type.Enum([...ONRAMP_STATUSES]),
  status_message: NULLABLE_TEXT,
  crypto_currency: Type.String(),
  crypto_rails: Type.String(),
  destination_amount: Type.Number(),
  destination_address: Type.String(),
  fiat_currency: Type.String(),
  fiat_rails: Type.Enum([...DEPOSIT_RAILS]),
  deposit_amount: Type.Number({ description: "The amount to deposit, fee included." }),
  fee: Type.Number({ description: "In the fiat currency." }),
  rate: Type.Number({ description: "Fiat units for one token; locked for 24 hours." }),
  tx_id: nullable(Type.String(), "Set once the tokens were sent."),
};
const times = { created_at: TIME, updated_at: TIME };

export const OnrampRecord = titledObject("Onramp", { ...fields, ...times });
export const OnrampWithInstructions = titledObject("OnrampDetails", {
  ...fields,
  deposit_instructions: DepositInstructionsRecord,
  ...times,
});
export const OnrampAnswer = Type.Object({ onramp: OnrampWithInstructions });
export const OnrampListAnswer = listAnswer("onramps", OnrampRecord);
export const OnrampListQuery = listQuery(byStatus(ONRAMP_STATUSES));

const reasons = Object.keys(DEPOSIT_REASONS) as DepositReason[];

export const FiatDepositRecord = titledObject("Deposit", {
  id: UUID,
  status: Type.Enum([...DEPOSIT_STATUSES]),
  reason: nullable(
    Type.Enum(reasons),
    "Why the deposit waits for the operator, or could not be returned.",
  ),
  message: NULLABLE_TEXT,
  amount: Type.Number(),
  currency: Type.String(),
  bank_account: Type.String(),
  bank_reference: Type.String(),
  booked_at: TIME,
  text: Type.String({ description: "The text of the transfer." }),
  payer_name: Type.String(),
  account_id: nullable(UUID, "The account of the onramp that it pays or seems to be for."),
  onramp_id: nullable(UUID),
  matched_amount: nullable(Type.Number(), "The amount that the onramp took."),
  created_at: TIME,
  updated_at: TIME,
});
export const FiatDepositAnswer = Type.Object({ deposit: FiatDepositRecord });
export const FiatDepositListAnswer = listAnswer("deposits", FiatDepositRecord);
export const FiatDepositListQuery = listQuery(byStatus(DEPOSIT_STATUSES));

export const MatchDepositBody = closedObject({
  deposit: Type.Optional(
    closedObject({
      onramp_id: optional(
        Type.String(),
        "The onramp, of any account; default: the one whose code is in the transfer text.",
      ),
    }),
  ),
  reason: OPTIONAL_REASON,
});
