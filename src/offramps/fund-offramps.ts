import { TOKEN_DIGITS } from "../catalogue/chains.ts";
import { offrampFunded } from "../ledger/offramp-postings.ts";
import { postEntries } from "../ledger/post-entries.ts";
import type { Transaction } from "../platform/db/database.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import { minorToText } from "../platform/money.ts";
import { enqueueTasks } from "../platform/tasks/tasks.ts";
import { claimUnfunded } from "./claim-store.ts";
import type { Offramp } from "./model.ts";
import { type FundingRules, withoutAbandoned } from "./quotes/fund-from-deposits.ts";
import { countedFor, type Quote, restUntil } from "./quotes/model.ts";
import { advanceOfframp, type ChangedOfframp, recordChanges } from "./record-changes.ts";
import type { OfframpRenderer } from "./render.ts";
import { type KeyedOfframp, toOfframps } from "./store.ts";
import { ASSESS_OFFRAMP_TASK } from "./task-kinds.ts";

/**
 * Large quotes are processed in chunks, so that no transaction locks thousands of rows. Larger ones
 * take less time for each offramp, but the service needs more memory.
 */
export const CHUNK = 300;

/**
 * For short deposits, whose offramps wait in `ongoing_checks`, and after a failure, where funded
 * ones are assessed by tasks of their own; usually `fundAndAssess` does both at once. Returns
 * whether more are left.
 */
export async function fundOfframps(
  tx: Transaction,
  deps: FundingRules & { keyring: Keyring; renderer: OfframpRenderer },
  quote: Quote,
  now: Date,
  limit = CHUNK,
): Promise<boolean> {
  const { account_id, user_id } = quote;
  const is_funded = quote.funded_at !== null;
  const status_message = is_funded ? null : await describeShortage(tx, deps, quote);
  const rows = await claimUnfunded(tx, quote, status_message, limit);
  const keys = await deps.keyring.openUserKeys(tx, [{ account_id, user_id }]);
  const offramps = toOfframps(rows, keys);
  const changes = offramps.flatMap((entry) =>
    is_funded ? [fundOne(entry, now)] : holdShort(entry, status_message, now),
  );
  recordChanges(tx, deps.renderer, changes, now);
  if (is_funded) {
    postEntries(
      tx,
      offramps.map(({ offramp }) => offrampFunded(offramp)),
      now,
    );
    const funded = offramps.map(({ offramp }) => offramp);
    enqueueTasks(tx, ASSESS_OFFRAMP_TASK, funded, now);
  }
  // Not "a full chunk": rows that another transaction changed while we waited are skipped.
  return offramps.length > 0;
}

export function isUnfunded({ funded_at, status }: Offramp): boolean {
  return funded_at === null && status !== "failed";
}

export function fundOne(entry: KeyedOfframp, now: Date): ChangedOfframp {
  const status =
    entry.offramp.status === "initiated" ? "pending_internal_assessment" : "ongoing_checks";
  return advanceOfframp(entry, { status, status_message: null, funded_at: now }, now);
}

function holdShort(
  entry: KeyedOfframp,
  status_message: string | null,
  now: Date,
): ChangedOfframp[] {
  // An offramp that already waits gets a message with the amount missing now.
  if (entry.offramp.status === "ongoing_checks") {
    return [advanceOfframp(entry, { status_message }, now)];
  }
  const seen = advanceOfframp(entry, { status: "pending_internal_assessment" }, now);
  return [seen, advanceOfframp(seen, { status: "ongoing_checks", status_message }, now)];
}

const LATE =
  "The deposit arrived too late for the quote's rate. It is credited to the user's balance when " +
  "the quote ends.";

async function describeShortage(
  tx: Transaction,
  { deposit_in_time_percent }: FundingRules,
  quote: Quote,
): Promise<string> {
  const { token_amount } = await withoutAbandoned(tx, quote);
  const missing = token_amount - countedFor(quote);
  if (missing <= 0n) return LATE;
  const text = `${minorToText(missing, TOKEN_DIGITS)} ${quote.deposit_token}`;
  const most_by = quote.expires_at.toISOString();
  return (
    `The deposit is short by ${text}. Send the rest to the same address: at least ` +
    `${deposit_in_time_percent} % of the total by ${most_by}, all of it by ` +
    `${restUntil(quote).toISOString()}.`
  );
}
