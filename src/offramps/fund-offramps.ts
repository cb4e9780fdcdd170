import { TOKEN_DIGITS } from "../catalogue/chains.ts";
import { offrampFunded } from "../ledger/offramp-postings.ts";
import { postEntries } from "../ledger/post-entries.ts";
import type { Transaction } from "../platform/db/database.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import { minorToText } from "../platform/money.ts";
import { enqueueTasks } from "../platform/tasks/tasks.ts";
import { claimUnfunded, TOLD_MAX } from "./claim-store.ts";
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
  const short = is_funded ? null : await describeShortage(tx, deps, quote);
  const rows = await claimUnfunded(tx, quote, short?.message ?? null, limit);
  const keys = await deps.keyring.openUserKeys(tx, [{ account_id, user_id }]);
  const offramps = toOfframps(rows, keys);
  const changes = offramps.flatMap((entry) =>
    short ? holdShort(entry, short, now) : [fundOne(entry, now)],
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

function holdShort(entry: KeyedOfframp, short: Shortage, now: Date): ChangedOfframp[] {
  const { status, sequence } = entry.offramp;
  // An offramp that already waits gets a message with the amount missing now.
  if (status === "ongoing_checks") {
    const status_message = sequence + 1 < TOLD_MAX ? short.message : short.last_message;
    return [advanceOfframp(entry, { status_message }, now)];
  }
  const seen = advanceOfframp(entry, { status: "pending_internal_assessment" }, now);
  const held = { status: "ongoing_checks", status_message: short.message } as const;
  return [seen, advanceOfframp(seen, held, now)];
}

/**
 * What the offramps of a short quote say. Each transfer changes all of them, and anybody can send
 * dust: after a while they say `last_message`, which no further transfer changes.
 */
type Shortage = { message: string; last_message: string };

const LATE =
  "The deposit arrived too late for the quote's rate. It is credited to the user's balance when " +
  "the quote ends.";

async function describeShortage(
  tx: Transaction,
  { deposit_in_time_percent }: FundingRules,
  quote: Quote,
): Promise<Shortage> {
  const { token_amount } = await withoutAbandoned(tx, quote);
  const missing = token_amount - countedFor(quote);
  if (missing <= 0n) return { message: LATE, last_message: LATE };
  const text = `${minorToText(missing, TOKEN_DIGITS)} ${quote.deposit_token}`;
  const most_by = quote.expires_at.toISOString();
  const send_the_rest =
    `Send the rest to the same address: at least ${deposit_in_time_percent} % of the total by ` +
    `${most_by}, all of it by ${restUntil(quote).toISOString()}.`;
  return {
    message: `The deposit is short by ${text}. ${send_the_rest}`,
    last_message: `The deposit is short, after many transfers. ${send_the_rest}`,
  };
}
