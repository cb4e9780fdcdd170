import { deleteUnapproved } from "../../approvals/amount-store.ts";
import type { Transaction } from "../../platform/db/database.ts";
import type { RecordKey } from "../../platform/db/rows.ts";
import { MINUTE_MS } from "../../platform/durations.ts";
import type { Keyring } from "../../platform/encryption/keyring.ts";
import { claimUnfunded } from "../claim-store.ts";
import { CHUNK } from "../fund-offramps.ts";
import { advanceOfframp, recordChanges } from "../record-changes.ts";
import type { OfframpRenderer } from "../render.ts";
import { toOfframps } from "../store.ts";
import { type Quote, restUntil } from "./model.ts";
import { lockQuotes, updateProgress } from "./store.ts";

const FINALITY_AWAITED_MS = MINUTE_MS;

/**
 * Ends a quote that was not paid, or not paid in full: its offramps fail, in chunks. A short
 * deposit stays owed to the user. The chain is final up to `final_until`. Returns when to check
 * again; null when done.
 */
export async function closeQuote(
  tx: Transaction,
  deps: { keyring: Keyring; renderer: OfframpRenderer },
  key: RecordKey,
  final_until: Date,
  now: Date,
): Promise<Date | null> {
  const [quote] = await lockQuotes(tx, [key]);
  if (!quote || quote.funded_at) return null;
  const until = restUntil(quote);
  if (now < until) return until;
  // A transfer that was mined in time may become final only now.
  if (final_until < until) return new Date(now.getTime() + FINALITY_AWAITED_MS);
  return endQuote(tx, deps, quote, now);
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
  const keys = await deps.keyring.openUserKeys(tx, [{ account_id, user_id }]);
  const changes = toOfframps(rows, keys).map((entry) =>
    advanceOfframp(entry, { status: "failed", status_message }, now),
  );
  recordChanges(tx, deps.renderer, changes, now);
  return changes.length > 0 ? now : null;
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
