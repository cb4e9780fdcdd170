type Kind = {
  /** What is to be done, for the API's reference. */
  meaning: string;
  /** What members see of each proposal, besides who asked, when, how much in usd, and why. */
  shows: readonly string[];
};

/**
 * Every kind of proposal. A kind is the name of the use case that runs it; the module of the use
 * case describes its proposals (`Description`), and `propose` refuses an incomplete description.
 */
export const PROPOSAL_KINDS = {
  "pay-quote": {
    meaning: "Pay the payouts of an executed or funded quote.",
    shows: ["User", "Paid with", "Payouts", "To"],
  },
  "refund-balances": {
    meaning: "Send tokens that are owed to a user to an address.",
    shows: ["User", "Amount", "Came from", "To"],
  },
  "refund-offramps": {
    meaning: "Give up a payout and credit its money to the user's balance.",
    shows: ["User", "Payout", "Account", "To"],
  },
  "reroute-offramps": {
    meaning: "Send a bounced payout to another account.",
    shows: ["User", "Payout", "Old account", "New account"],
  },
  "review-documents": {
    meaning: "Approve or reject the supporting document of a payout.",
    shows: ["User", "Payout", "Account", "Judgement", "File"],
  },
  "match-deposits": {
    meaning: "Pay an onramp with a deposit.",
    shows: ["Deposit", "Bank reference", "Payer", "Text", "Onramp", "User", "Delivers", "To"],
  },
  "accept-difference-deposits": {
    meaning: "Pay an onramp with a deposit of another amount.",
    shows: ["Deposit", "Bank reference", "Payer", "Text", "Onramp", "User", "Delivers", "To"],
  },
  "return-deposits": {
    meaning: "Return a deposit to its payer.",
    shows: ["Deposit", "Bank reference", "Payer", "Text"],
  },
  "dismiss-deposits": {
    meaning: "Dismiss a deposit that the bank reported twice.",
    shows: ["Deposit", "Bank reference", "Payer", "Text"],
  },
  "resolve-bank-exceptions": {
    meaning: "Decide what an answer of the bank that fits no payout means.",
    shows: ["Resolution", "Bank's answer", "In suspense", "Bank reference", "Account", "Reason"],
  },
  "decide-kyc": {
    meaning: "A decision on a user's identity.",
    shows: ["User", "Decision", "Status"],
  },
  "change-members": {
    meaning: "Add or remove a member, change a member's role, or remove their second factor.",
    shows: ["Member", "Old role", "New role", "Reason"],
  },
  "change-accounts": {
    meaning: "Change who reviews for the account, or its approval amount.",
    shows: ["Account", "Reason"],
  },
  "set-limits": {
    meaning: "Set or remove a limit.",
    shows: ["Applies to", "Limit", "Old limit", "New limit", "Reason"],
  },
  "settle-bank-items": {
    meaning: "Say which payments a line or a rejection of a bank is about, or a return by hand.",
    shows: ["Item", "Amount", "Means", "Reason"],
  },
  "book-treasury": {
    meaning: "Book the operator's own money in a bank account.",
    shows: ["Record", "Amount", "Reason"],
  },
} as const satisfies Record<string, Kind>;

/** Names what a description lacks. */
export function findMissing(kind: string, labels: readonly string[]): string[] {
  const { shows }: Kind = PROPOSAL_KINDS[kind as keyof typeof PROPOSAL_KINDS] ?? { shows: [] };
  return shows.filter((label) => !labels.includes(label));
}
