/** What the operator books of its own money. Stored with a proposal, so amounts are texts. */
export type TreasuryBooking =
  | { what: "opening"; bank_account: string; currency: string; amount: string }
  | { what: "line"; number: string; as: "transfer" | "fee" }
  | { what: "deposit"; id: string };

/** A line of a statement that waits for a person, and its sign. */
export type WaitingLine = {
  number: bigint;
  bank_account: string;
  entry_key: string;
  part: number;
  kind: string;
  amount: bigint;
  currency: string;
  booked_on: string | null;
  problem: string | null;
};

/** Signed: a debit is negative. */
export function signedAmount({ kind, amount }: Pick<WaitingLine, "kind" | "amount">): bigint {
  return kind === "incoming" || kind === "returned" ? amount : -amount;
}
