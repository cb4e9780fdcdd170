/** Why a payout waits in `ongoing_checks`: the beginnings of the messages that its gates give. */
const MESSAGES = {
  document: ["The supporting document", "This payout needs a supporting document"],
  approval: ["The payment waits for approval"],
  identity: [
    "The user must pass identity verification",
    "The user is not approved for swift",
    "The user's data was erased",
  ],
  checks: ["Checks on this user", "The operator has put this user"],
  bank_account: ["The payment detail"],
  deposit: ["The deposit"],
  rate: ["There is no current rate"],
} as const;

/** An invoice can stop its payment with many messages: whatever else holds its payout. */
export type HeldReason = keyof typeof MESSAGES | "invoice";
export const HELD_REASONS: readonly HeldReason[] = [
  ...(Object.keys(MESSAGES) as (keyof typeof MESSAGES)[]),
  "invoice",
];

const ALL = Object.values(MESSAGES).flat();

/** The condition on a payout in SQL; the texts are our own. */
export function isHeldBecause(reason: HeldReason): string {
  if (reason === "invoice") {
    return `invoice_id is not null and document_status is distinct from 'rejected'
      and not ${begins(ALL)}`;
  }
  // A reviewer's own words stand in the place of our message.
  if (reason === "document")
    return `(document_status = 'rejected' or ${begins(MESSAGES.document)})`;
  return `${begins(MESSAGES[reason])} and document_status is distinct from 'rejected'`;
}

function begins(beginnings: readonly string[]): string {
  const patterns = beginnings.map((text) => `'${text.replaceAll("'", "''")}%'`);
  return `coalesce(status_message, '') like any (array[${patterns.join(", ")}])`;
}
