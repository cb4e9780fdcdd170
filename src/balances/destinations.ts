import type { KycEnforcement } from "../users/clearance.ts";
import type { KycStatus } from "../users/model.ts";

/**
 * Where a refund goes, in this order:
 *
 * - `sender`: an address that tokens of this user, token and chain came from, and no more than came
 *   from there and has neither been paid out nor gone back.
 * - `registered`: an address that the user has registered.
 * - `other`: only with two-person approval.
 */
export type RefundDestination = "sender" | "registered" | "other";

export function destinationOf(
  amount: bigint,
  { from_address, is_registered }: { from_address: bigint; is_registered: boolean },
): RefundDestination {
  if (amount <= from_address) return "sender";
  return is_registered ? "registered" : "other";
}

/** A user who is not approved gets tokens only where they came from. */
export function mayGoElsewhere(kyc_status: KycStatus, enforcement: KycEnforcement): boolean {
  return enforcement === "off" || kyc_status === "approved";
}

/** Whose identity was refused, or put in doubt after approval. A denied retry is a refusal too. */
export const BARRED: readonly KycStatus[] = ["suspended", "failed", "retry_denied"];

/** Nothing leaves for these users without two members, one of them the operator's. */
export function isBarred(kyc_status: KycStatus): boolean {
  return BARRED.includes(kyc_status);
}
