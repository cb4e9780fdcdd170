import type { BankPort, Instruction } from "../../partners/bank/port.ts";
import { HELD_ASKED_AGAIN_AFTER_MS, type Leaving } from "../../partners/leaving.ts";
import { beneficiaryOf } from "../../payment-details/payee.ts";
import { findPaymentDetails, toPaymentDetails } from "../../payment-details/store.ts";
import type { Database, Transaction } from "../../platform/db/database.ts";
import { HOUR_MS, MINUTE_MS, SECOND_MS } from "../../platform/durations.ts";
import { newId } from "../../platform/ids.ts";
import type { TaskSet } from "../../platform/tasks/task-set.ts";
import { enqueueTasks, type Task } from "../../platform/tasks/tasks.ts";
import { isBeingScreened } from "../../users/clearance.ts";
import type { Gate } from "../gates.ts";
import type { Offramp } from "../model.ts";
import { hasRateMoved, RATE_HAS_MOVED } from "../rate-promise.ts";
import { advanceOfframp, type ChangedOfframp, recordChanges } from "../record-changes.ts";
import type { KeyedOfframp, OfframpLinks } from "../store.ts";
import { READ_BANK_TASK } from "../task-kinds.ts";
import { bounced, lapseLater } from "./apply-bank-answers.ts";
import {
  findClosedGate,
  type GateLookup,
  lockForGates,
  type OfframpAssessDeps,
} from "./assess-offramps.ts";
import { findCanaryWaits } from "./canary.ts";
import type { Payout } from "./model.ts";
import { listPayouts, lockCurrentPayouts, PAYOUTS, updatePayouts, updateSent } from "./store.ts";

export type SendDeps = OfframpAssessDeps & {
  database: Database;
  bank: BankPort;
  leaving: Leaving;
  /** In cents: the maximum that a bank gets until it has booked a payout of the rail. */
  canary_usd?: bigint | undefined;
};

const HELD_LOOKED_AT_AGAIN_AFTER_MS = HOUR_MS;
const NEW_RAIL_LOOKED_AT_AGAIN_AFTER_MS = MINUTE_MS;
const UNSCREENED_LOOKED_AT_AGAIN_AFTER_MS = 5 * SECOND_MS;

/**
 * Sends recorded payouts to the bank, in three steps: mark what is about to be submitted, call the
 * bank, mark what was sent. A crash after the first step leaves `submitting`: the bank may have
 * received it, so it is submitted again under the same id, which the bank pays once.
 */
export async function sendPayouts(
  deps: SendDeps,
  set: TaskSet,
  tasks: readonly Task[],
  just_seen: readonly OfframpLinks[],
): Promise<void> {
  const { database, bank, leaving } = deps;
  if (await leaving.findHold()) return waitForRelease(database, set, tasks);
  const { instructions, submitted, held, new_rails, unscreened } = await database.transaction(
    async (tx) => markSubmitting(tx, deps, await set.lock(tx, tasks), just_seen, set.now),
  );
  if (instructions.length > 0) await bank.submit(instructions);
  await database.transaction(async (tx) => {
    const locked = await set.lock(tx, tasks);
    const now = set.now;
    updateSent(tx, submitted, now);
    for (const account_id of new Set(submitted.map((payout) => payout.account_id))) {
      enqueueTasks(tx, READ_BANK_TASK, [{ account_id, id: newId(now) }], now);
    }
    const postpone = (waiting: Marked["held"], pause_ms: number) =>
      set.postpone(
        tx,
        locked.filter((task) => waiting.has(task.record_id)),
        new Date(now.getTime() + pause_ms),
      );
    postpone(held, HELD_LOOKED_AT_AGAIN_AFTER_MS);
    postpone(new_rails, NEW_RAIL_LOOKED_AT_AGAIN_AFTER_MS);
    postpone(unscreened, UNSCREENED_LOOKED_AT_AGAIN_AFTER_MS);
    const waiting = new Set([...held, ...new_rails, ...unscreened]);
    set.finish(
      tx,
      locked.filter(({ record_id }) => !waiting.has(record_id)),
    );
  });
}

/** Nothing leaves: no payout is marked as submitted either. */
async function waitForRelease(
  database: Database,
  set: TaskSet,
  tasks: readonly Task[],
): Promise<void> {
  const again_at = new Date(set.now.getTime() + HELD_ASKED_AGAIN_AFTER_MS);
  await database.transaction(async (tx) => set.postpone(tx, await set.lock(tx, tasks), again_at));
}

/**
 * What is sent to the bank now, and the ids of offramps that wait: for a gate to open, for a
 * smaller payout that proves their rail, or until their user is screened again.
 */
type Marked = {
  instructions: Instruction[];
  submitted: Payout[];
  held: ReadonlySet<string>;
  new_rails: ReadonlySet<string>;
  unscreened: ReadonlySet<string>;
};

async function markSubmitting(
  tx: Transaction,
  deps: SendDeps,
  tasks: readonly Task[],
  just_seen: readonly OfframpLinks[],
  now: Date,
): Promise<Marked> {
  const keys = tasks.map((task) => ({ account_id: task.account_id, id: task.record_id }));
  const { offramps, gates } = await lockForGates(tx, deps, keys, just_seen);
  const sending = offramps.filter(({ offramp }) => offramp.status === "sending_fiat");
  const payouts = new Map(
    (
      await lockCurrentPayouts(
        tx,
        sending.map(({ offramp }) => offramp),
      )
    ).map((payout) => [payout.offramp_id, payout]),
  );
  const submitting: { offramp: Offramp; payout: Payout }[] = [];
  const changes: ChangedOfframp[] = [];
  const held = new Set<string>();
  const unscreened = new Set<string>();
  const changed: Payout[] = [];
  const recorded = sending.filter(({ offramp }) => payouts.get(offramp.id)?.status === "recorded");
  const waits = await findCanaryWaits(
    tx,
    deps,
    recorded.map(({ offramp }) => offramp),
  );
  const moved = await findMoved(tx, deps, recorded, { gates, waits }, now);
  for (const entry of sending) {
    const payout = payouts.get(entry.offramp.id);
    if (!payout || !["recorded", "submitting"].includes(payout.status)) continue;
    const status_message = waits.get(entry.offramp.id);
    if (status_message !== undefined) {
      const is_told = entry.offramp.status_message === status_message;
      const rate_until = new Date(now.getTime() + deps.rate_hold_ms);
      if (!is_told) changes.push(advanceOfframp(entry, { status_message, rate_until }, now));
      continue;
    }
    const closed = moved.get(entry.offramp.id) ?? findClosedGate(deps.policy, entry.offramp, gates);
    const kyc = gates.kycs.get(entry.offramp.account_id, entry.offramp.user_id);
    // Anybody can make a verdict out of date, by tokens from a new wallet: that must not end it.
    const is_unscreened = kyc !== undefined && isBeingScreened(kyc);
    if (closed === null) {
      submitting.push({ offramp: entry.offramp, payout });
      changed.push({ ...payout, status: "submitting", updated_at: now });
      // It said what the payout waited for.
      const has_waited = payout.status === "recorded" && entry.offramp.status_message !== null;
      const gone = { status_message: null, rate_until: null };
      if (has_waited) changes.push(advanceOfframp(entry, gone, now));
    } else if (payout.status === "recorded" && (!is_unscreened || moved.has(entry.offramp.id))) {
      // A gate closed after the attempt was recorded. Nothing was sent yet, so nothing is sent.
      changed.push({ ...payout, status: "rejected", updated_at: now });
      const change = bounced(closed.message, deps.reroute_ms, now);
      changes.push(advanceOfframp(entry, change, now));
    } else {
      // The bank may or may not have received it, so it is neither sent again nor canceled. It
      // continues with the bank's answer, or when the gate opens.
      (is_unscreened ? unscreened : held).add(entry.offramp.id);
      const { message: status_message } = closed;
      const is_changed = entry.offramp.status_message !== status_message;
      if (is_changed) changes.push(advanceOfframp(entry, { status_message }, now));
    }
  }
  updatePayouts(tx, changed);
  recordChanges(tx, deps.renderer, changes, now);
  lapseLater(tx, changes, now);
  const instructions = await toInstructions(tx, deps, submitting);
  const submitted = submitting.map(({ payout }) => payout);
  return { instructions, submitted, held, new_rails: new Set(waits.keys()), unscreened };
}

/**
 * Those whose rail was new and is not any more, but whose rate has moved too far meanwhile. Any
 * payout proves a rail, the caller's too: who decides when it goes would have an option on the
 * rate.
 */
async function findMoved(
  tx: Transaction,
  deps: SendDeps,
  recorded: readonly KeyedOfframp[],
  { gates, waits }: { gates: GateLookup; waits: ReadonlyMap<string, string> },
  now: Date,
): Promise<ReadonlyMap<string, Gate>> {
  const proven = recorded
    .map(({ offramp }) => offramp)
    .filter(({ id, rate_until }) => rate_until !== null && !waits.has(id));
  if (proven.length === 0) return new Map();
  const [rows, current] = await Promise.all([
    listPayouts(tx, proven),
    deps.prices.currentPrices(now, tx),
  ]);
  const payouts = Map.groupBy(PAYOUTS.assertVouched(tx, rows), ({ offramp_id }) => offramp_id);
  const rates = "stale" in current ? null : current.rates;
  const moved = proven.filter((offramp) => {
    const { account_id, id, quote_id } = offramp;
    const quote = gates.quotes.get(account_id, quote_id)!;
    return hasRateMoved(deps, offramp, { payouts: payouts.get(id) ?? [], quote, rates }, now);
  });
  return new Map(moved.map(({ id }) => [id, { message: RATE_HAS_MOVED, by: "caller" }]));
}

async function toInstructions(
  tx: Transaction,
  { keyring, catalogue }: SendDeps,
  submitting: readonly { offramp: Offramp; payout: Payout }[],
): Promise<Instruction[]> {
  const details = submitting.map(({ offramp }) => ({
    account_id: offramp.account_id,
    id: offramp.payment_detail_id,
  }));
  const users = submitting.map(({ offramp }) => offramp);
  const [rows, keys] = await Promise.all([
    findPaymentDetails(tx, details),
    keyring.openUserKeys(tx, users),
  ]);
  const accounts = new Map(toPaymentDetails(rows, keys).map((row) => [row.id, row.fields]));
  return submitting.map(({ offramp, payout }) => {
    const fields = accounts.get(offramp.payment_detail_id)!;
    return {
      account_id: offramp.account_id,
      end_to_end_id: payout.end_to_end_id,
      amount: offramp.destination_amount,
      currency: offramp.destination_currency,
      rail: offramp.rails,
      beneficiary: beneficiaryOf(catalogue, { fields, rail: offramp.rails }),
      // Only EUR routes carry the caller's message.
      reference: offramp.destination_currency === "eur" ? offramp.details.reference : null,
      recorded_at: offramp.created_at,
    };
  });
}
