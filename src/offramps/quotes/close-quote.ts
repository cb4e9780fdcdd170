import { deleteUnapproved } from "../../approvals/amount-store.ts";
import { listQuoteDeposits } from "../../balances/deposit-store.ts";
import type { Transaction } from "../../platform/db/database.ts";
import type { Keyring } from "../../platform/encryption/keyring.ts";
import { CHUNK } from "../fund-offramps.ts";
import { advanceOfframp, recordChanges } from "../record-changes.ts";
import type { OfframpRenderer } from "../render.ts";
import { claimUnfunded, toOfframps } from "../store.ts";
import { EXECUTION_GRACE_MS, type Quote, TOP_UP_MS } from "./model.ts";
import { lockQuotes, type QuoteKey, updateProgress } from "./store.ts";

/**
 * Ends a quote that was not paid, or not paid in full: its offramps fail, in chunks. A short
 * deposit stays owed to the user. Returns when to check again; null when done.
 */
export async function closeQuote(
  tx: Transaction,
  deps: { keyring: Keyring; renderer: OfframpRenderer },
  key: QuoteKey,
  now: Date,
): Promise<Date | null> {
  const [quote] = await lockQuotes(tx, [key]);
  if (!quote || quote.funded_at) return null;
  const due_at = await closingTime(tx, quote);
  return now < due_at ? due_at : endQuote(tx, deps, quote, now);
}

/** Ends a locked, unfunded quote regardless of the time; null when done. */
export async function endQuote(
  tx: Transaction,
  deps: { keyring: Keyring; renderer: OfframpRenderer },
  quote: Quote,
  now: Date,
  status_message = describeEnd(quote),
): Promise<Date | null> {
  if (!quote.closed_at) updateProgress(tx, { ...quote, closed_at: now, updated_at: now });
  const { account_id, user_id } = quote;
  // It moved nothing, so it no longer counts among what went without approval.
  deleteUnapproved(tx, account_id, quote.id);
  const rows = await claimUnfunded(tx, quote, null, CHUNK);
  const keys = await deps.keyring.openSubjects(tx, [{ account_id, subject_id: user_id }]);
  const changes = toOfframps(rows, keys).map((entry) =>
    advanceOfframp(entry, { status: "failed", status_message }, now),
  );
  recordChanges(tx, deps.renderer, changes, now);
  return changes.length > 0 ? now : null;
}

/** One hour after the expiry; for an executed quote, one day after the first part of a payment. */
async function closingTime(tx: Transaction, quote: Quote): Promise<Date> {
  const unpaid = new Date(quote.expires_at.getTime() + EXECUTION_GRACE_MS);
  if (!quote.executed_at || quote.received === 0n) return unpaid;
  const { account_id, id, deposit_token } = quote;
  const [first] = await listQuoteDeposits(tx, account_id, id, deposit_token);
  return new Date(Math.max(unpaid.getTime(), first!.mined_at.getTime() + TOP_UP_MS));
}

function describeEnd({ received, from_balance, executed_at }: Quote): string {
  if (received + from_balance === 0n) return "The quote was not paid in time.";
  if (!executed_at)
    return "The quote was not executed in time. The deposit was credited to the user's balance.";
  return (
    "The missing part of the deposit did not arrive in time. The deposit was credited to " +
    "the user's balance."
  );
}
