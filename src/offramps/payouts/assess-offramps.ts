import { listOwnReviews, type OwnReviews } from "../../accounts/store.ts";
import type { Catalogue } from "../../catalogue/catalogue.ts";
import { findLastEvents } from "../../events/last-events.ts";
import { listNamedAccounts } from "../../invoices/payments/named-accounts.ts";
import { findPayables, type Payable } from "../../invoices/payments/payments.ts";
import type { NewEntry } from "../../ledger/model.ts";
import { offrampFunded, payoutFunded, payoutInstructed } from "../../ledger/offramp-postings.ts";
import { postEntries } from "../../ledger/post-entries.ts";
import {
  type PaymentDetail,
  type PaymentDetailStatus,
  payableStatus,
} from "../../payment-details/model.ts";
import { lockShownDetails, toPaymentDetails } from "../../payment-details/store.ts";
import { AccountMap } from "../../platform/account-map.ts";
import type { Transaction } from "../../platform/db/database.ts";
import type { RecordKey } from "../../platform/db/rows.ts";
import { HOUR_MS, SECOND_MS } from "../../platform/durations.ts";
import type { Keyring } from "../../platform/encryption/keyring.ts";
import { enqueueTasks, enqueueTasksAt } from "../../platform/tasks/tasks.ts";
import type { CurrentPrices } from "../../prices/price-book.ts";
import { lockKycs } from "../../users/kyc-store.ts";
import type { Kyc } from "../../users/model.ts";
import { assertAsLast } from "../assert-offramps.ts";
import { listUnfunded } from "../claim-store.ts";
import { fundOne, isUnfunded } from "../fund-offramps.ts";
import { closedGate, type Gate, type GatePolicy } from "../gates.ts";
import { endedInvoiceProblems, invoiceKeys, namedPayeeProblem } from "../invoice-problems.ts";
import type { Offramp } from "../model.ts";
import { type Quote, restUntil } from "../quotes/model.ts";
import { findQuotes, lockPendingApproval, QUOTES } from "../quotes/store.ts";
import { judgeWaiting, type RateRules } from "../rate-promise.ts";
import { advanceOfframp, type ChangedOfframp, recordChanges } from "../record-changes.ts";
import type { OfframpRenderer } from "../render.ts";
import {
  findOfframpLinks,
  type KeyedOfframp,
  lockOfframps,
  type OfframpLinks,
  toOfframps,
} from "../store.ts";
import { ASSESS_OFFRAMP_TASK, FAIL_LAPSED_TASK, SEND_PAYOUT_TASK } from "../task-kinds.ts";
import { newPayout } from "./model.ts";
import { insertPayouts } from "./store.ts";

export type OfframpAssessDeps = GateDeps &
  RateRules & { renderer: OfframpRenderer; policy: GatePolicy; prices: CurrentPrices };

/** Whatever opens a gate also enqueues an assessment; this covers changes without one. */
const ASSESSED_AGAIN_AFTER_MS = HOUR_MS;

type GateDeps = { keyring: Keyring; catalogue: Catalogue };

export type GateLookup = {
  kycs: AccountMap<Kyc>;
  detail_statuses: AccountMap<PaymentDetailStatus>;
  quotes: AccountMap<Quote>;
  invoices: AccountMap<Payable>;
  /** Why an offramp does not pay an account that its invoice names, by offramp. */
  misdirected: AccountMap<string>;
  /** By account. */
  own_reviews: ReadonlyMap<string, OwnReviews>;
};

/**
 * Moves funded offramps with every gate open on to the bank. The others wait, with a message for
 * the caller; returned with the time of their next assessment. Those whose rate is no longer kept
 * are handed to `fail-lapsed-offramps.ts`. Gates are read under locks, so a concurrent revocation
 * is either seen here or committed afterwards.
 */
export async function assessOfframps(
  tx: Transaction,
  deps: OfframpAssessDeps,
  keys: readonly RecordKey[],
  now: Date,
  just_seen?: readonly OfframpLinks[],
): Promise<Map<string, Date>> {
  const locked = await lockForGates(tx, deps, keys, just_seen);
  const judge = await loadJudge(tx, deps, locked, now);
  const assessed = locked.offramps.filter(isAssessed).map((entry) => assessOne(entry, judge, now));
  const entries = instructedOf(assessed).map(payoutInstructed);
  recordAssessed(tx, deps, { before: [], entries }, assessed, now);
  return waitingOf(assessed);
}

/** The same for the next offramps of a funded quote, which are funded in the same transaction. */
export async function fundAndAssess(
  tx: Transaction,
  deps: OfframpAssessDeps,
  quote: RecordKey,
  now: Date,
  limit: number,
): Promise<boolean> {
  const seen = await listUnfunded(tx, quote, limit);
  const { offramps, gates } = await lockForGates(tx, deps, seen, seen);
  // Others may have changed before they were locked.
  const unfunded = offramps.filter(({ offramp }) => isUnfunded(offramp));
  const funded = unfunded.map((entry) => fundOne(entry, now));
  const judge = await loadJudge(tx, deps, { offramps: funded, gates }, now);
  const assessed = funded.map((entry) => assessOne(entry, judge, now));
  const instructed = instructedOf(assessed);
  const instructed_ids = new Set(instructed.map(({ id }) => id));
  const entries = funded
    .map(({ offramp }) => offramp)
    .filter(({ id }) => !instructed_ids.has(id))
    .map(offrampFunded)
    .concat(instructed.map(payoutFunded));
  recordAssessed(tx, deps, { before: funded, entries }, assessed, now);
  const waiting = waitingOf(assessed);
  const later = funded.flatMap(({ offramp: { account_id, id } }) => {
    const due_at = waiting.get(id);
    return due_at ? [{ account_id, id, due_at }] : [];
  });
  enqueueTasksAt(tx, ASSESS_OFFRAMP_TASK, later, now);
  // Not those that were listed: of an erased user none is opened, and they would be listed again.
  return offramps.length > 0;
}

type Assessed =
  | { instructed: ChangedOfframp }
  | { lapsed: Offramp }
  | { id: string; again_at: Date; change: ChangedOfframp | null };

type Judge = Awaited<ReturnType<typeof loadJudge>>;

function isAssessed({ offramp }: KeyedOfframp): boolean {
  const may_go = ["pending_internal_assessment", "ongoing_checks"].includes(offramp.status);
  return may_go && offramp.funded_at !== null;
}

function assessOne(entry: KeyedOfframp, judge: Judge, now: Date): Assessed {
  const { offramp } = entry;
  const judged = judge(offramp);
  if (judged.decision === "pay") {
    return { instructed: advanceOfframp(entry, instruction(offramp), now) };
  }
  if (judged.decision === "fail") return { lapsed: offramp };
  const { change } = judged;
  const { rate_until, rate_paused_at } = change;
  const lapses_at = rate_paused_at ? Number.POSITIVE_INFINITY : rate_until!.getTime();
  const next_ms = Math.min(now.getTime() + ASSESSED_AGAIN_AFTER_MS, lapses_at);
  const again_at = new Date(Math.max(next_ms, now.getTime() + SECOND_MS));
  const changed = isChanged(offramp, change) ? advanceOfframp(entry, change, now) : null;
  return { id: offramp.id, again_at, change: changed };
}

function waitingOf(assessed: readonly Assessed[]): Map<string, Date> {
  return new Map(assessed.flatMap((one) => ("again_at" in one ? [[one.id, one.again_at]] : [])));
}

function instructedOf(assessed: readonly Assessed[]): Offramp[] {
  return assessed.flatMap((one) => ("instructed" in one ? [one.instructed.offramp] : []));
}

/** Writes what was decided, after what the same transaction did to the offramps before. */
function recordAssessed(
  tx: Transaction,
  { renderer }: OfframpAssessDeps,
  { before, entries }: { before: readonly ChangedOfframp[]; entries: readonly NewEntry[] },
  assessed: readonly Assessed[],
  now: Date,
): void {
  const instructions = assessed.flatMap((one) => ("instructed" in one ? [one.instructed] : []));
  const waiting = assessed.flatMap((one) => ("change" in one && one.change ? [one.change] : []));
  const lapsed = assessed.flatMap((one) => ("lapsed" in one ? [one.lapsed] : []));
  enqueueTasks(tx, FAIL_LAPSED_TASK, lapsed, now);
  recordChanges(tx, renderer, [...before, ...instructions, ...waiting], now);
  recordInstructions(tx, instructedOf(assessed), now);
  postEntries(tx, entries, now);
}

function isChanged(offramp: Offramp, change: Partial<Offramp>): boolean {
  return Object.entries(change).some(([name, value]) => {
    const before = offramp[name as keyof Offramp];
    return before instanceof Date && value instanceof Date
      ? before.getTime() !== value.getTime()
      : before !== value;
  });
}

/** Judges whether a funded offramp is paid, waits or fails. Rates are read only if one waited. */
export async function loadJudge(
  tx: Transaction,
  deps: OfframpAssessDeps,
  { offramps, gates }: { offramps: readonly KeyedOfframp[]; gates: GateLookup },
  now: Date,
): Promise<(offramp: Offramp) => ReturnType<typeof judgeWaiting>> {
  const held = offramps.map(({ offramp }) => offramp).filter((one) => one.rate_until !== null);
  const current = held.length > 0 ? await deps.prices.currentPrices(now, tx) : null;
  const rates = current === null || "stale" in current ? null : current.rates;
  return (offramp) =>
    judgeWaiting(
      deps,
      offramp,
      {
        gate: findClosedGate(deps.policy, offramp, gates),
        rest_until: restUntil(gates.quotes.get(offramp.account_id, offramp.quote_id)!),
        rate_now: rates?.get(offramp.deposit_token)?.get(offramp.destination_currency) ?? null,
      },
      now,
    );
}

/** The fields that change when an offramp's next payout attempt begins. */
export function instruction(offramp: Offramp): Partial<Offramp> {
  const no_wait = { rate_until: null, rate_paused_at: null };
  const attempt = offramp.attempt + 1;
  return { status: "sending_fiat", status_message: null, attempt, ...no_wait };
}

/** The first step of a payout: the attempt and its id are stored before the bank is called. */
export function recordInstructions(tx: Transaction, offramps: readonly Offramp[], now: Date): void {
  if (offramps.length === 0) return;
  insertPayouts(
    tx,
    offramps.map((offramp) => newPayout(offramp, now)),
  );
  enqueueTasks(tx, SEND_PAYOUT_TASK, offramps, now);
}

/**
 * Locks users, payment details, quotes that wait for approval and offramps, in this order, and
 * reads what the gates depend on. Fails if somebody changed one of them, or put it back to what it
 * was before its last event.
 */
export async function lockForGates(
  tx: Transaction,
  deps: GateDeps,
  keys: readonly RecordKey[],
  just_seen?: readonly OfframpLinks[],
): Promise<{ offramps: KeyedOfframp[]; gates: GateLookup }> {
  // Read without a lock first, only to learn which users and payment details to lock.
  const seen = just_seen ?? (await findOfframpLinks(tx, keys));
  const users = distinct(seen, ({ account_id, user_id }) => ({ account_id, user_id }));
  const details = distinct(seen, ({ account_id, payment_detail_id: id }) => ({ account_id, id }));
  const quotes = distinct(seen, ({ account_id, quote_id: id }) => ({ account_id, id }));
  const account_ids = [...new Set(seen.map(({ account_id }) => account_id))];
  const [kycs, detail_rows, , quote_rows, rows, last, subject_keys, own_reviews] =
    await Promise.all([
      lockKycs(tx, users),
      lockShownDetails(tx, details),
      lockPendingApproval(tx, quotes),
      findQuotes(tx, quotes),
      lockOfframps(tx, keys),
      findLastEvents(tx, keys),
      deps.keyring.openUserKeys(tx, users),
      listOwnReviews(tx, account_ids),
    ]);
  const detail_statuses = new AccountMap<PaymentDetailStatus>();
  for (const row of detail_rows) {
    detail_statuses.set(row.account_id, row.id, payableStatus(row));
  }
  // Re-routed between the read and the lock: its new payment detail is not locked, so try again.
  if (rows.some((row) => !detail_statuses.has(row.account_id, row.payment_detail_id))) {
    throw new Error("an offramp was re-routed meanwhile; it is assessed again");
  }
  const of_quote = AccountMap.of(QUOTES.assertVouched(tx, quote_rows), (quote) => quote);
  const invoices = await findPayables(tx, invoiceKeys(rows));
  const paying = rows.filter((row) => row.invoice_id !== null);
  const opened = paying.length > 0 ? toPaymentDetails(detail_rows, subject_keys) : [];
  const misdirected = await findMisdirected(tx, deps, paying, opened);
  const gates = { kycs, detail_statuses, quotes: of_quote, invoices, misdirected, own_reviews };
  const offramps = toOfframps(rows, subject_keys);
  assertAsLast(tx, last, offramps);
  return { offramps, gates };
}

/** Each key once: the offramps of a set have few users, and often one quote. */
function distinct<Key extends object>(
  seen: readonly OfframpLinks[],
  keyOf: (links: OfframpLinks) => Key,
): Key[] {
  const keys = seen.map(keyOf);
  return [...new Map(keys.map((key) => [Object.values(key).join(), key])).values()];
}

async function findMisdirected(
  tx: Transaction,
  { keyring, catalogue }: GateDeps,
  paying: readonly Pick<
    Offramp,
    "account_id" | "id" | "invoice_id" | "payment_detail_id" | "rails"
  >[],
  opened: readonly PaymentDetail[],
): Promise<AccountMap<string>> {
  const details = AccountMap.of(opened, (detail) => detail);
  const named = await listNamedAccounts(tx, keyring, invoiceKeys(paying));
  const misdirected = new AccountMap<string>();
  for (const offramp of paying) {
    const detail = details.get(offramp.account_id, offramp.payment_detail_id);
    const problem = detail
      ? namedPayeeProblem(catalogue, named, offramp, { fields: detail.fields, rail: offramp.rails })
      : "The user's data was erased.";
    if (problem) misdirected.set(offramp.account_id, offramp.id, problem);
  }
  return misdirected;
}

export function findClosedGate(
  policy: GatePolicy,
  offramp: Offramp,
  { kycs, detail_statuses, quotes, invoices, misdirected, own_reviews }: GateLookup,
): Gate | null {
  const { account_id } = offramp;
  const quote = quotes.get(account_id, offramp.quote_id);
  return closedGate(policy, offramp, {
    kyc: kycs.get(account_id, offramp.user_id),
    detail_status: detail_statuses.get(account_id, offramp.payment_detail_id),
    approval_status: quote?.approval_status ?? null,
    invoice_end:
      endedInvoiceProblems(invoices, offramp)[0]?.message ??
      misdirected.get(account_id, offramp.id) ??
      null,
    own_reviews: own_reviews.get(account_id),
  });
}
