import type { BankAnswer } from "../../partners/bank/port.ts";
import type { AnswerOutcome } from "../payouts/store.ts";

/** Why an answer of the bank could not be applied. */
export const EXCEPTION_KINDS = ["suspense", "no_such_payment", "out_of_order", "conflict"] as const;
export type ExceptionKind = Exclude<AnswerOutcome, "applied">;

/** `returning`: the bank was asked to send the money back and has not answered yet. */
export const EXCEPTION_STATUSES = ["open", "returning", "resolved"] as const;
export type ExceptionStatus = (typeof EXCEPTION_STATUSES)[number];

export const RESOLUTIONS = ["assign", "return", "write_off", "dismiss"] as const;
export type Resolution = (typeof RESOLUTIONS)[number];

/** An answer of the bank that could not be applied to a payout. */
export type BankException = Pick<
  BankAnswer,
  "account_id" | "end_to_end_id" | "bank_reference" | "bank_account" | "amount" | "currency"
> & {
  id: string;
  answer: BankAnswer["kind"];
  kind: ExceptionKind;
  /** Null when no payout has this end-to-end id. */
  offramp_id: string | null;
  /** What came to suspense because of it. */
  held: bigint;
  status: ExceptionStatus;
  resolution: Resolution | null;
  reason: string | null;
  /** The payout that its money was assigned to. */
  assigned_offramp_id: string | null;
  assigned_attempt: number | null;
  /** What was given back of it, in millionths of a token, as its payout had been refunded. */
  given_back: bigint | null;
  refund_rate: string | null;
  /** How often its return was attempted. */
  returns: number;
  created_at: Date;
  updated_at: Date;
};
