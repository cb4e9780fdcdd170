import { listOwnReviews } from "../accounts/store.ts";
import { onrampConverted, onrampDelivered, onrampRefused } from "../ledger/onramp-postings.ts";
import { postEntries } from "../ledger/post-entries.ts";
import {
  type ChainPort,
  isSamePayment,
  type OwnerAnswer,
  type Payment,
  SEND_ASKED_AGAIN_AFTER_MS,
  sendIfDone,
} from "../partners/chain/port.ts";
import { deliveryKey } from "../partners/chain/send-keys.ts";
import type { Session, Transaction } from "../platform/db/database.ts";
import { HOUR_MS } from "../platform/durations.ts";
import type { ModuleCore } from "../platform/module.ts";
import { oneByOne } from "../platform/tasks/one-by-one.ts";
import type { TaskSet } from "../platform/tasks/task-set.ts";
import { enqueueTasks, type Task } from "../platform/tasks/tasks.ts";
import type { Transfer } from "../travel/model.ts";
import { recordTravel, type TravelDeps } from "../travel/record-travel.ts";
import { clearanceProblems, holdProblems, type KycEnforcement } from "../users/clearance.ts";
import { findKycs, lockKycs } from "../users/kyc-store.ts";
import type { Kyc } from "../users/model.ts";
import { changeDeposit } from "./deposits/move-deposits.ts";
import { lockDeposits, updateDeposits } from "./deposits/store.ts";
import { isRateClose, type RateDeps } from "./fund-onramp.ts";
import type { Onramp } from "./model.ts";
import { changeOnramp, recordChanges } from "./record-changes.ts";
import { findOnramps, type KeyedOnramp, lockOnramps, openOnramps, updateOnramps } from "./store.ts";
import { MOVE_DEPOSIT_TASK } from "./task-kinds.ts";

export type OnrampDeliveryDeps = Pick<ModuleCore, "database" | "keyring" | "operator_id"> & {
  chain: ChainPort;
  travel: TravelDeps;
  kyc_enforcement: KycEnforcement;
  /** How long a gate may hold a paid onramp. */
  rate_hold_ms: number;
};

type DeliverDeps = OnrampDeliveryDeps & RateDeps;

const HELD_LOOKED_AT_AGAIN_AFTER_MS = HOUR_MS;

/**
 * Delivers paid onramps in three steps: check the gates and record the conversion; send the coins
 * under a key derived from the record's id; record the transaction. An interrupted delivery is sent
 * again under the same key, which sends only once. On a real chain the second step takes a while:
 * the task asks again until the transaction is final; the onramp is `sending_fiat` meanwhile.
 */
export async function deliverOnramps(deps: DeliverDeps, set: TaskSet): Promise<void> {
  await oneByOne(deps.database, set, (task) => deliverOnramp(deps, set, task));
}

async function deliverOnramp(deps: DeliverDeps, set: TaskSet, task: Task): Promise<void> {
  const { database, chain } = deps;
  const begun = await database.transaction((tx) => beginDelivery(tx, deps, set, task));
  if (begun === null) return;
  // Behind a closed gate nothing is sent, but a transfer sent before it closed is looked up.
  const { onramp, is_held, is_lapsed } = begun;
  if (is_lapsed) return releaseDeposit(deps, onramp, set.now);
  const sent = is_held
    ? await chain.findSend(onramp.crypto_rails, deliveryKey(onramp))
    : await sendCoins(chain, onramp);
  await database.transaction(async (tx) => {
    const tasks = await set.lock(tx, [task]);
    if (tasks.length === 0) return;
    if (sent === null) {
      const pause_ms = is_held ? HELD_LOOKED_AT_AGAIN_AFTER_MS : SEND_ASKED_AGAIN_AFTER_MS;
      return set.postpone(tx, tasks, new Date(set.now.getTime() + pause_ms));
    }
    const entry = await lockOnramp(tx, deps, task);
    if (entry?.onramp.delivery === "sending") recordSent(tx, entry, sent, set.now);
    set.finish(tx, tasks);
  });
}

/** The deposit of an onramp that was held for too long goes back to the operator's list. */
function releaseDeposit(
  { database, operator_id }: OnrampDeliveryDeps,
  { deposit_id }: Onramp,
  now: Date,
): Promise<void> {
  return database.transaction(async (tx) => {
    const [deposit] = await lockDeposits(tx, operator_id, [deposit_id!]);
    if (deposit?.status !== "matched") return;
    updateDeposits(tx, [changeDeposit(deposit, { status: "releasing", reason: "held" }, now)]);
    enqueueTasks(tx, MOVE_DEPOSIT_TASK, [deposit], now);
  });
}

/**
 * Sends once, however often it is called: the key is derived from the record's id. Null while the
 * coins are on their way.
 */
export function sendCoins(chain: ChainPort, onramp: Onramp): ReturnType<typeof sendIfDone> {
  return sendIfDone(chain, { key: deliveryKey(onramp), ...paymentOf(onramp) });
}

function paymentOf(onramp: Onramp): Payment {
  return {
    chain: onramp.crypto_rails,
    token: onramp.crypto_currency,
    amount: onramp.destination_amount,
    address: onramp.destination_address,
  };
}

/** The first step; null when there is nothing to send, or not now. */
async function beginDelivery(
  tx: Transaction,
  deps: DeliverDeps,
  set: TaskSet,
  task: Task,
): Promise<{ onramp: Onramp; is_held: boolean; is_lapsed?: boolean } | null> {
  const tasks = await set.lock(tx, [task]);
  if (tasks.length === 0) return null;
  const key = { account_id: task.account_id, id: task.record_id };
  // Read without a lock first, only to learn which user to lock before it.
  const [seen] = await findOnramps(tx, [key]);
  const user = seen && { account_id: seen.account_id, user_id: seen.user_id };
  const kycs = user && (await lockKycs(tx, [user]));
  const entry = await lockOnramp(tx, deps, task);
  const may_send = ["waiting", "sending"].includes(entry?.onramp.delivery ?? "");
  if (entry?.onramp.status !== "sending_fiat" || !may_send) {
    set.finish(tx, tasks);
    return null;
  }
  const { onramp } = entry;
  const closed = closedGate(deps.kyc_enforcement, kycs?.get(onramp.account_id, onramp.user_id));
  if (closed !== null) {
    if (onramp.status_message !== closed) {
      recordChanges(tx, [changeOnramp(entry, { status_message: closed }, set.now)], set.now);
    }
    if (onramp.delivery === "sending") return { onramp, is_held: true };
    const held_until = (onramp.paid_at ?? onramp.updated_at).getTime() + deps.rate_hold_ms;
    if (set.now.getTime() >= held_until) {
      set.finish(tx, tasks);
      return { onramp, is_held: true, is_lapsed: true };
    }
    set.postpone(tx, tasks, new Date(set.now.getTime() + HELD_LOOKED_AT_AGAIN_AFTER_MS));
    return null;
  }
  if (await hasHeldItself(tx, deps, onramp, set.now)) {
    set.finish(tx, tasks);
    return { onramp, is_held: true, is_lapsed: true };
  }
  if (onramp.delivery === "waiting") await recordConversion(tx, deps, entry, set.now);
  return { onramp, is_held: false };
}

/**
 * Whether a gate held an onramp of an account that reviews its own users, and the rate has moved:
 * whoever decides when a gate opens would have an option on the rate.
 */
async function hasHeldItself(
  tx: Transaction,
  deps: RateDeps,
  onramp: Onramp,
  now: Date,
): Promise<boolean> {
  const { account_id, delivery, status_message } = onramp;
  // The message says why it was held.
  if (delivery !== "waiting" || status_message === null) return false;
  const own = (await listOwnReviews(tx, [account_id])).get(account_id);
  return own?.kyc_review_by_account === true && !(await isRateClose(tx, deps, onramp, now));
}

/** Whether an onramp whose coins are being sent wants this payment, and now. */
export async function askDelivery(
  session: Session,
  { keyring, kyc_enforcement }: Pick<OnrampDeliveryDeps, "keyring" | "kyc_enforcement">,
  key: { account_id: string; id: string },
  payment: Payment,
): Promise<OwnerAnswer> {
  const [entry] = await openOnramps(session, keyring, await findOnramps(session, [key]));
  if (entry?.onramp.status !== "sending_fiat" || entry.onramp.delivery !== "sending") {
    return "not_wanted";
  }
  if (!isSamePayment(paymentOf(entry.onramp), payment)) return "not_wanted";
  const { account_id, user_id } = entry.onramp;
  const kycs = await findKycs(session, [{ account_id, user_id }]);
  return closedGate(kyc_enforcement, kycs.get(account_id, user_id)) === null ? "wanted" : "held";
}

function closedGate(enforcement: KycEnforcement, kyc: Kyc | undefined): string | null {
  const [hold] = kyc ? holdProblems(kyc, "") : [];
  if (hold) return hold.message;
  if (enforcement === "off") return null;
  if (!kyc) return "The user's data was erased.";
  return clearanceProblems(kyc, null, null, "")[0]?.message ?? null;
}

/**
 * The coins are let go: from here on they may be on the chain. Writes an event only if a message is
 * cleared: the visible status stays `sending_fiat`.
 */
export async function recordConversion(
  tx: Transaction,
  { travel }: Pick<OnrampDeliveryDeps, "travel">,
  entry: KeyedOnramp,
  now: Date,
): Promise<void> {
  await recordTravel(tx, travel, transferOf(entry.onramp), now);
  const change = { delivery: "sending", status_message: null } as const;
  if (entry.onramp.status_message === null) updateOnramps(tx, [{ ...entry.onramp, ...change }]);
  else recordChanges(tx, [changeOnramp(entry, change, now)], now);
  postEntries(tx, [onrampConverted(entry.onramp)], now);
}

function transferOf(onramp: Onramp): Transfer {
  const { account_id, user_id, id, price_version_id } = onramp;
  return {
    account_id,
    user_id,
    kind: "onramp",
    record_id: id,
    ...paymentOf(onramp),
    price_version_id,
  };
}

/** The last step: the coins were sent, or the chain refused them for good. */
export function recordSent(
  tx: Transaction,
  entry: KeyedOnramp,
  sent: Awaited<ReturnType<ChainPort["send"]>>,
  now: Date,
): void {
  const change: Partial<Onramp> =
    "refused" in sent
      ? {
          delivery: "refused",
          status_message: `The chain rejected the transfer (${sent.refused}); return the deposit.`,
        }
      : { status: "crypto_sent", status_message: null, delivery: "sent", tx_id: sent.tx_id };
  recordChanges(tx, [changeOnramp(entry, change, now)], now);
  const post = "refused" in sent ? onrampRefused : onrampDelivered;
  postEntries(tx, [post(entry.onramp)], now);
}

async function lockOnramp(
  tx: Transaction,
  { keyring }: OnrampDeliveryDeps,
  task: Task,
): Promise<KeyedOnramp | undefined> {
  const key = { account_id: task.account_id, id: task.record_id };
  const [entry] = await openOnramps(tx, keyring, await lockOnramps(tx, [key]));
  return entry;
}
