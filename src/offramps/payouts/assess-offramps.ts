import { listOwnReviews, type OwnReviews } from "../../accounts/store.ts";
import type { Catalogue } from "../../catalogue/catalogue.ts";
import { listNamedAccounts } from "../../invoices/payments/named-accounts.ts";
import { findPayables, type Payable } from "../../invoices/payments/payments.ts";
import { payoutInstructed } from "../../ledger/offramp-postings.ts";
import { postEntries } from "../../ledger/post-entries.ts";
import {
  type PaymentDetail,
  type PaymentDetailStatus,
  payableStatus,
} from "../../payment-details/model.ts";
import { lockPaymentDetails, toPaymentDetails } from "../../payment-details/store.ts";
import { AccountMap } from "../../platform/account-map.ts";
import type { Transaction } from "../../platform/db/database.ts";
import { HOUR_MS, SECOND_MS } from "../../platform/durations.ts";
import type { Keyring } from "../../platform/encryption/keyring.ts";
import { enqueueTasks } from "../../platform/tasks/tasks.ts";
import type { CurrentPrices } from "../../prices/price-book.ts";
import type { Kyc } from "../../users/model.ts";
import { lockKycs } from "../../users/store.ts";
import { closedGate, type Gate, type GatePolicy } from "../gates.ts";
import { endedInvoiceProblems, invoiceKeys, namedPayeeProblem } from "../invoice-problems.ts";
import type { Offramp } from "../model.ts";
import { type Quote, restUntil } from "../quotes/model.ts";
import { findQuotes, lockPendingApproval } from "../quotes/store.ts";
import { judgeWaiting, type RateRules } from "../rate-promise.ts";
import { advanceOfframp, type ChangedOfframp, recordChanges } from "../record-changes.ts";
import type { OfframpRenderer } from "../render.ts";
import { findOfframpLinks, type KeyedOfframp, lockOfframps, toOfframps } from "../store.ts";
import { FAIL_LAPSED_TASK, SEND_PAYOUT_TASK } from "../task-kinds.ts";
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
  keys: readonly { account_id: string; id: string }[],
  now: Date,
): Promise<Map<string, Date>> {
  const entries = await lockForGates(tx, deps, keys);
  const judge = await loadJudge(tx, deps, entries, now);
  const waiting = new Map<string, Date>();
  const lapsed: Offramp[] = [];
  const changes: ChangedOfframp[] = [];
  const instructed: Offramp[] = [];
  for (const entry of entries.offramps) {
    const { offramp } = entry;
    const may_go = ["pending_internal_assessment", "ongoing_checks"].includes(offramp.status);
    if (!may_go || !offramp.funded_at) continue;
    const judged = judge(offramp);
    if (judged.decision === "pay") {
      const change = advanceOfframp(entry, instruction(offramp), now);
      changes.push(change);
      instructed.push(change.offramp);
    } else if (judged.decision === "wait") {
      const { change } = judged;
      const { rate_until, rate_paused_at } = change;
      const lapses_at = rate_paused_at ? Number.POSITIVE_INFINITY : rate_until!.getTime();
      const next_ms = Math.min(now.getTime() + ASSESSED_AGAIN_AFTER_MS, lapses_at);
      waiting.set(offramp.id, new Date(Math.max(next_ms, now.getTime() + SECOND_MS)));
      if (isChanged(offramp, change)) changes.push(advanceOfframp(entry, change, now));
    } else {
      lapsed.push(offramp);
    }
  }
  enqueueTasks(tx, FAIL_LAPSED_TASK, lapsed, now);
  recordChanges(tx, deps.renderer, changes, now);
  recordInstructions(tx, instructed, now);
  postEntries(tx, instructed.map(payoutInstructed), now);
  return waiting;
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
  { offramps, gates }: Awaited<ReturnType<typeof lockForGates>>,
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
 * reads what the gates depend on.
 */
export async function lockForGates(
  tx: Transaction,
  deps: GateDeps,
  keys: readonly { account_id: string; id: string }[],
): Promise<{ offramps: KeyedOfframp[]; gates: GateLookup }> {
  // Read without a lock first, only to learn which users and payment details to lock.
  const seen = await findOfframpLinks(tx, keys);
  const users = seen.map(({ account_id, user_id }) => ({ account_id, user_id }));
  const details = seen.map(({ account_id, payment_detail_id }) => ({
    account_id,
    id: payment_detail_id,
  }));
  const quotes = seen.map(({ account_id, quote_id }) => ({ account_id, id: quote_id }));
  const account_ids = [...new Set(seen.map(({ account_id }) => account_id))];
  const [kycs, detail_rows, , quote_rows, rows, subject_keys, own_reviews] = await Promise.all([
    lockKycs(tx, users),
    lockPaymentDetails(tx, details),
    lockPendingApproval(tx, quotes),
    findQuotes(tx, quotes),
    lockOfframps(tx, keys),
    deps.keyring.openUserKeys(tx, seen),
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
  const of_quote = AccountMap.of(quote_rows, (quote) => quote);
  const invoices = await findPayables(tx, invoiceKeys(rows));
  const paying = rows.filter((row) => row.invoice_id !== null);
  const opened = paying.length > 0 ? toPaymentDetails(detail_rows, subject_keys) : [];
  const misdirected = await findMisdirected(tx, deps, paying, opened);
  const gates = { kycs, detail_statuses, quotes: of_quote, invoices, misdirected, own_reviews };
  return { offramps: toOfframps(rows, subject_keys), gates };
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
