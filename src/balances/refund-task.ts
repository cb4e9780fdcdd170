import { recordAudit } from "../accounts/audit.ts";
import { refundFailed, refundSent } from "../ledger/balance-postings.ts";
import { postEntries } from "../ledger/post-entries.ts";
import {
  type ChainPort,
  isSamePayment,
  type OwnerAnswer,
  type Payment,
  SEND_ASKED_AGAIN_AFTER_MS,
  sendIfDone,
} from "../partners/chain/port.ts";
import { refundKey } from "../partners/chain/send-keys.ts";
import type { Database, Session, Transaction } from "../platform/db/database.ts";
import { HOUR_MS } from "../platform/durations.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import { oneByOne } from "../platform/tasks/one-by-one.ts";
import type { TaskHandler } from "../platform/tasks/run-set.ts";
import type { TaskSet } from "../platform/tasks/task-set.ts";
import type { Task } from "../platform/tasks/tasks.ts";
import type { Transfer } from "../travel/model.ts";
import { recordTravel, type TravelDeps } from "../travel/record-travel.ts";
import { holdProblems, isScreeningOpen, type ScreenUsers } from "../users/clearance.ts";
import { findKycs } from "../users/kyc-store.ts";
import type { Kyc } from "../users/model.ts";
import { BARRED, isBarred } from "./destinations.ts";
import { SEND_REFUND_TASK } from "./refund-balances.ts";
import {
  existsKycChange,
  findRefund,
  findRefundOwner,
  lockRefund,
  openAddress,
  type Refund,
  type StoredRefund,
  updateRefund,
} from "./refund-store.ts";

const HELD_LOOKED_AT_AGAIN_AFTER_MS = HOUR_MS;

type RefundDeps = {
  database: Database;
  chain: ChainPort;
  keyring: Keyring;
  screenUsers: ScreenUsers;
  travel: TravelDeps;
};

/**
 * Sends refunds in three steps: mark it as being sent, send under a key derived from its id, record
 * the transaction. An interrupted refund is sent again under the same key, which sends only once.
 * On a real chain that takes a while: the task asks again until the transaction is final. If the
 * chain refuses it for good, the amount is owed to the user again.
 */
export function sendRefundTask(deps: RefundDeps): TaskHandler {
  return {
    kind: SEND_REFUND_TASK,
    set_max: 20,
    handle: (set) => oneByOne(deps.database, set, (task) => sendRefund(deps, set, task)),
  };
}

async function sendRefund(deps: RefundDeps, set: TaskSet, task: Task): Promise<void> {
  const { database, chain } = deps;
  const { account_id, record_id } = task;
  const owner = await findRefundOwner(database, account_id, record_id);
  if (owner) await deps.screenUsers([owner]);
  const refund = await database.transaction((tx) => beginRefund(tx, deps, set, task));
  if (refund === "held") return postpone(database, set, task, HELD_LOOKED_AT_AGAIN_AFTER_MS);
  if (refund === "barred") return fail(database, set, task);
  const key = refundKey({ account_id, id: record_id });
  // Of a user who is held nothing leaves, but what has left is looked up.
  const sent =
    refund &&
    (refund.is_held
      ? await chain.findSend(refund.chain, key)
      : await sendIfDone(chain, { ...refund, amount: sentAmount(refund), key }));
  if (refund && !sent) {
    const pause_ms = refund.is_held ? HELD_LOOKED_AT_AGAIN_AFTER_MS : SEND_ASKED_AGAIN_AFTER_MS;
    return postpone(database, set, task, pause_ms);
  }
  await database.transaction(async (tx) => {
    const tasks = await set.lock(tx, [task]);
    if (tasks.length === 0) return;
    if (refund && sent) recordOutcome(tx, refund, sent, set.now);
    set.finish(tx, tasks);
  });
}

/** With the address to which it goes. */
type Begun = Omit<StoredRefund, "address"> & Pick<Refund, "address"> & { is_held: boolean };

/** The first step; null where there is nothing to send. */
async function beginRefund(
  tx: Transaction,
  { keyring, travel }: RefundDeps,
  set: TaskSet,
  task: Task,
): Promise<Begun | "held" | "barred" | null> {
  const { account_id, record_id } = task;
  if ((await set.lock(tx, [task])).length === 0) return null;
  const row = await lockRefund(tx, account_id, record_id);
  if (!row || row.status === "sent" || row.status === "failed") return null;
  const { user_id } = row;
  const kyc = (await findKycs(tx, [{ account_id, user_id }])).get(account_id, user_id);
  const is_barred = kyc !== undefined && (await isBarredSince(tx, kyc, row));
  if (kyc && row.status === "pending") {
    if (isHeld(kyc, row)) return "held";
    if (is_barred) return "barred";
  }
  // One that may have left already is only looked up.
  const is_held = kyc !== undefined && (isHeld(kyc, row) || is_barred);
  const keys = await keyring.openUserKeys(tx, [{ account_id, user_id }]);
  const address = openAddress("refunds", row, keys.get(account_id, user_id)!);
  if (row.status === "pending") {
    await recordTravel(tx, travel, transferOf({ ...row, address }), set.now);
    updateRefund(tx, { ...row, status: "sending", updated_at: set.now });
  }
  return { ...row, address, is_held };
}

/**
 * Whether a refund that is being sent wants this payment. It is held if its user was frozen or
 * suspended since.
 */
export async function askRefund(
  session: Session,
  { keyring }: Pick<RefundDeps, "keyring">,
  { account_id, id }: { account_id: string; id: string },
  payment: Payment,
): Promise<OwnerAnswer> {
  const row = await findRefund(session, account_id, id);
  if (row?.status !== "sending") return "not_wanted";
  const user = { account_id, user_id: row.user_id };
  const key = (await keyring.openUserKeys(session, [user])).get(account_id, row.user_id);
  if (!key) return "not_wanted";
  const wanted = { ...row, amount: sentAmount(row), address: openAddress("refunds", row, key) };
  if (!isSamePayment(wanted, payment)) return "not_wanted";
  const kyc = (await findKycs(session, [user])).get(account_id, row.user_id);
  if (kyc === undefined) return "wanted";
  return isHeld(kyc, row) || (await isBarredSince(session, kyc, row)) ? "held" : "wanted";
}

/** What was requested while the user's screening was open has been approved in spite of it. */
function isHeld(kyc: Kyc, { created_at }: Pick<Refund, "created_at">): boolean {
  const held_at = kyc.screening?.held_at ?? null;
  const is_approved = isScreeningOpen(kyc) && held_at !== null && created_at > held_at;
  const { screening: _, ...rest } = kyc;
  return holdProblems(is_approved ? rest : kyc, "").length > 0;
}

/**
 * Whether the user was suspended or refused after this refund was requested. What is requested
 * later has the approval that such a user needs.
 */
async function isBarredSince(
  tx: Session,
  { general }: Kyc,
  refund: Pick<Refund, "account_id" | "user_id" | "created_at">,
): Promise<boolean> {
  return isBarred(general.status) && existsKycChange(tx, refund, BARRED, refund.created_at);
}

const NOW_BARRED = "The user was suspended or has failed identification since it was requested.";

/** The amount is owed again: two members, one of them the operator's, may let it go. */
async function fail(database: Database, set: TaskSet, task: Task): Promise<void> {
  await database.transaction(async (tx) => {
    const tasks = await set.lock(tx, [task]);
    const row = await lockRefund(tx, task.account_id, task.record_id);
    if (tasks.length === 0 || row?.status !== "pending") return;
    recordOutcome(tx, row, { refused: NOW_BARRED }, set.now);
    set.finish(tx, tasks);
  });
}

function transferOf(refund: Refund): Transfer {
  const { account_id, user_id, id, token, chain, address } = refund;
  const transfer = { account_id, user_id, kind: "refund", record_id: id, token, chain } as const;
  return { ...transfer, amount: sentAmount(refund), address, price_version_id: null };
}

/** The rest after the chain's network fee. */
function sentAmount({ amount, network_fee }: Pick<Refund, "amount" | "network_fee">): bigint {
  return amount - network_fee;
}

async function postpone(
  database: Database,
  set: TaskSet,
  task: Task,
  pause_ms: number,
): Promise<void> {
  await database.transaction(async (tx) => {
    const tasks = await set.lock(tx, [task]);
    set.postpone(tx, tasks, new Date(set.now.getTime() + pause_ms));
  });
}

function recordOutcome(
  tx: Transaction,
  refund: Omit<StoredRefund, "address">,
  outcome: { tx_id: string } | { refused: string },
  now: Date,
): void {
  if ("tx_id" in outcome) {
    updateRefund(tx, { ...refund, status: "sent", tx_id: outcome.tx_id, updated_at: now });
    postEntries(tx, [refundSent(refund)], now);
    return;
  }
  updateRefund(tx, { ...refund, status: "failed", updated_at: now });
  postEntries(tx, [refundFailed(refund)], now);
  const { account_id, id } = refund;
  const act = { account_id, actor: "worker" as const, action: "refund.fail" as const };
  recordAudit(
    tx,
    { ...act, record: `refund:${id}`, reason: outcome.refused.slice(0, 500), detail: {} },
    now,
  );
}
