import { minOf } from "../../platform/money.ts";
import type { Offramp } from "../model.ts";

/** One attempt to pay an offramp out. */
export type Payout = {
  account_id: string;
  offramp_id: string;
  attempt: number;
  payment_detail_id: string;
  end_to_end_id: string;
  status: "recorded" | "submitting" | "sent" | "booked" | "returned" | "rejected";
  returned_amount: bigint | null;
  /** Our account that paid it; null until it is booked. */
  bank_account: string | null;
  /** Our account that the money came back to. */
  returned_to: string | null;
  /** It came back, so it was booked; but the bank has not reported the booking yet. */
  is_booking_implied: boolean;
  created_at: Date;
  updated_at: Date;
};

/** Derived from record and attempt number: the same after a crash. At most 35 characters. */
export function endToEndId(offramp_id: string, attempt: number): string {
  return `${offramp_id.replaceAll("-", "")}${String(attempt).padStart(3, "0")}`;
}

const END_TO_END_ID =
  /^([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})(\d{3,9})$/;

/** An end-to-end id begins with the offramp's id without its hyphens. */
export function offrampIdOf(end_to_end_id: string): string | null {
  return readEndToEndId(end_to_end_id)?.offramp_id ?? null;
}

/** The attempt that has this id; null if it is none of ours. */
export function readEndToEndId(
  end_to_end_id: string,
): { offramp_id: string; attempt: number } | null {
  const parts = END_TO_END_ID.exec(end_to_end_id)?.slice(1);
  if (!parts) return null;
  const key = { offramp_id: parts.slice(0, 5).join("-"), attempt: Number(parts[5]) };
  return endToEndId(key.offramp_id, key.attempt) === end_to_end_id ? key : null;
}

/**
 * What came back of an offramp's payouts, and what is pending: a re-route adds what is missing.
 * Null when no money has left, or all attempts were refused.
 */
export function findReturn(
  { destination_amount }: Pick<Offramp, "destination_amount">,
  payouts: readonly Pick<Payout, "status" | "returned_amount">[],
): { pending: bigint; returned: bigint } | null {
  const last = payouts.findLast(({ status }) => status === "returned");
  if (!last) return null;
  const returned = minOf(last.returned_amount!, destination_amount);
  return { returned, pending: payouts.at(-1) === last ? returned : destination_amount };
}

export function newPayout(offramp: Offramp, now: Date): Payout {
  return {
    account_id: offramp.account_id,
    offramp_id: offramp.id,
    attempt: offramp.attempt,
    payment_detail_id: offramp.payment_detail_id,
    end_to_end_id: endToEndId(offramp.id, offramp.attempt),
    status: "recorded",
    returned_amount: null,
    bank_account: null,
    returned_to: null,
    is_booking_implied: false,
    created_at: now,
    updated_at: now,
  };
}
