import { loadSums, lockSums } from "../approvals/approval-sums.ts";
import type { ApprovalRules } from "../approvals/with-approval.ts";
import {
  type OnrampDeliveryDeps,
  recordConversion,
  recordSent,
  sendCoins,
} from "../onramps/deliver-onramps.ts";
import {
  changeDeposit,
  type DepositMoveDeps,
  moveDepositToRest,
} from "../onramps/deposits/move-deposits.ts";
import { type CreditDeps, recordCredits } from "../onramps/deposits/record-credits.ts";
import { findLine, lockDeposits, updateDeposits } from "../onramps/deposits/store.ts";
import { isRateClose } from "../onramps/fund-onramp.ts";
import {
  fundingProblem,
  isReturnable,
  ONRAMP_MOVES,
  type Onramp,
  type OnrampStatus,
} from "../onramps/model.ts";
import { changeOnramp, recordChanges } from "../onramps/record-changes.ts";
import { findOnramps, type KeyedOnramp, lockOnramps, openOnramps } from "../onramps/store.ts";
import { DELIVER_ONRAMP_TASK, MOVE_DEPOSIT_TASK } from "../onramps/task-kinds.ts";
import { sandboxBankAccount } from "../partners/bank/sandbox.ts";
import { insertSandboxCredit } from "../partners/bank/sandbox-store.ts";
import type { Clock } from "../platform/clock.ts";
import type { Transaction } from "../platform/db/database.ts";
import type { RecordKey } from "../platform/db/rows.ts";
import { newId } from "../platform/ids.ts";
import { enqueueTasks } from "../platform/tasks/tasks.ts";
import { findPath } from "./find-path.ts";
import { needsApproval, refuseWhileHeld } from "./force-controls.ts";

const TAKEN_OVER_AFTER_MS = 10_000;

export type OnrampForceDeps = CreditDeps &
  DepositMoveDeps &
  OnrampDeliveryDeps & { clock: Clock; approvals: ApprovalRules };

/**
 * Moves an onramp along the legal path to a state; each step moves its money. Undefined when there
 * is no such onramp, null when there is no path. Throws where a hold or a missing approval stops
 * it.
 */
export async function forceOnrampStatus(
  deps: OnrampForceDeps,
  key: RecordKey,
  target: OnrampStatus | null,
): Promise<Onramp | null | undefined> {
  const onramp = await findOnramp(deps, key);
  if (!onramp) return undefined;
  const path = target === null ? [] : findPath(ONRAMP_MOVES, onramp.status, target);
  if (!path) return null;
  for (const status of path) {
    const current = await findOnramp(deps, key);
    if (current) await takeStep(deps, current, status);
    // Another process may have moved it concurrently.
    if ((await findOnramp(deps, key))?.status !== status) return null;
  }
  return findOnramp(deps, key);
}

/** Does nothing if the coins were sent, or are about to be: then no path leads to `failed`. */
async function takeStep(
  deps: OnrampForceDeps,
  onramp: Onramp,
  status: OnrampStatus,
): Promise<void> {
  if (status === "sending_fiat") await payIn(deps, onramp);
  else if (status === "crypto_sent") await deliver(deps, onramp);
  else if (onramp.status === "initiated") await giveUp(deps, onramp);
  else if (isReturnable(onramp)) await payBack(deps, onramp);
}

/** Simulates a deposit of the exact amount, which the operator matches, however late. */
async function payIn(deps: OnrampForceDeps, onramp: Onramp): Promise<void> {
  const now = deps.clock.now();
  await refuseUnapproved(deps, onramp, now);
  const bank_reference = `SANDBOX-${newId(now)}`;
  const line_of = {
    bank_account: sandboxBankAccount(onramp.fiat_currency),
    bank_reference,
    amount: onramp.deposit_amount,
    currency: onramp.fiat_currency,
  };
  await insertSandboxCredit(deps.database, {
    ...line_of,
    text: "sandbox",
    payer_name: "Sandbox Payer (invented)",
    booked_at: now,
    created_by: onramp.account_id,
  });
  await recordCredits(deps, deps.clock);
  const line = await findLine(deps.database, deps.operator_id, line_of);
  await changeLocked(deps, line!.id, {
    status: "matching",
    matched_by: "match",
    onramp_account_id: onramp.account_id,
    onramp_id: onramp.id,
  });
  await moveDepositToRest({ ...deps, holds_delivery: true }, line!, now);
}

/**
 * A late deposit, or one whose rate has moved, is matched by the operator, which needs approval
 * above the approval amount. It counts as in `approved-settlements.ts`.
 */
function refuseUnapproved(deps: OnrampForceDeps, onramp: Onramp, now: Date): Promise<void> {
  const { database, approvals, operator_id: account_id } = deps;
  const { deposit_amount: amount, fiat_currency: currency } = onramp;
  const credit = { amount, currency, matched_amount: null, booked_at: now };
  const is_late = fundingProblem(onramp, credit, "code") === "late";
  return database.transaction(async (tx) => {
    const leaving = { amount: onramp.destination_amount, currency: onramp.crypto_currency };
    const counted = { account_id, amount: { amount, currency }, leaving };
    const request = { ...counted, counts_as: [onramp.id] };
    const controls = await lockSums(tx, approvals, [request]);
    if (!is_late && (await isRateClose(tx, deps, onramp, now))) return;
    const sums = await loadSums(tx, approvals, controls, [request]);
    if (sums.reasonFor(request) !== null) {
      throw needsApproval("Match its deposit with POST /deposits/:deposit_id/match.");
    }
    sums.take(request);
    sums.record(tx, now);
  });
}

async function payBack(deps: OnrampForceDeps, onramp: Onramp): Promise<void> {
  const key = { account_id: deps.operator_id, id: onramp.deposit_id! };
  // The operator's side of the match may still be in progress.
  await moveDepositToRest(deps, key, deps.clock.now());
  await changeLocked(deps, key.id, { status: "releasing" });
  await moveDepositToRest(deps, key, deps.clock.now());
}

function changeLocked(
  { database, operator_id, clock }: OnrampForceDeps,
  deposit_id: string,
  changes: Parameters<typeof changeDeposit>[1],
): Promise<void> {
  return database.transaction(async (tx) => {
    const now = clock.now();
    const [deposit] = await lockDeposits(tx, operator_id, [deposit_id]);
    updateDeposits(tx, [changeDeposit(deposit!, changes, now)]);
    // If this process ends before the next line, a worker takes over.
    const due_at = new Date(now.getTime() + TAKEN_OVER_AFTER_MS);
    enqueueTasks(tx, MOVE_DEPOSIT_TASK, [deposit!], now, due_at);
  });
}

async function deliver(deps: OnrampForceDeps, onramp: Onramp): Promise<void> {
  const now = deps.clock.now();
  let may_send = false;
  await deps.database.transaction(async (tx) => {
    await refuseWhileHeld(tx, onramp, "onramp.status");
    const entry = await lockOnramp(tx, deps, onramp);
    if (entry?.onramp.status !== "sending_fiat") return;
    const { delivery } = entry.onramp;
    if (delivery === "waiting") await recordConversion(tx, deps, entry, now);
    may_send = delivery === "waiting" || delivery === "sending";
  });
  if (!may_send) return;
  const sent = await sendCoins(deps.chain, onramp);
  if (sent === null) {
    // On a real chain it takes a while: the delivery's task records it.
    return deps.database.transaction(async (tx) => {
      enqueueTasks(tx, DELIVER_ONRAMP_TASK, [onramp], now);
    });
  }
  await changeOne(deps, onramp, (tx, entry) => {
    if (entry.onramp.delivery === "sending") recordSent(tx, entry, sent, now);
  });
}

function giveUp(deps: OnrampForceDeps, onramp: Onramp): Promise<void> {
  const now = deps.clock.now();
  const change = { status: "failed", status_message: "Failed on request in the sandbox." } as const;
  return changeOne(deps, onramp, (tx, entry) => {
    if (entry.onramp.status === "initiated") {
      recordChanges(tx, [changeOnramp(entry, change, now)], now);
    }
  });
}

function changeOne(
  deps: OnrampForceDeps,
  key: RecordKey,
  change: (tx: Transaction, entry: KeyedOnramp) => void | Promise<void>,
): Promise<void> {
  return deps.database.transaction(async (tx) => {
    const entry = await lockOnramp(tx, deps, key);
    if (entry) await change(tx, entry);
  });
}

async function lockOnramp(
  tx: Transaction,
  { keyring }: OnrampForceDeps,
  key: RecordKey,
): Promise<KeyedOnramp | undefined> {
  const [entry] = await openOnramps(tx, keyring, await lockOnramps(tx, [key]));
  return entry;
}

async function findOnramp(deps: OnrampForceDeps, key: RecordKey): Promise<Onramp | undefined> {
  const rows = await findOnramps(deps.database, [key]);
  const [entry] = await openOnramps(deps.database, deps.keyring, rows);
  return entry?.onramp;
}
