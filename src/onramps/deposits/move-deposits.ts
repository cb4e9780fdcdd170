import { randomBytes } from "node:crypto";
import { isChain, isToken } from "../../catalogue/chains.ts";
import { type NewEntry, walletOn } from "../../ledger/model.ts";
import {
  fiatDepositMatched,
  fiatDepositReleased,
  fiatReturnBooked,
  fiatReturnRefused,
  fiatReturnStarted,
} from "../../ledger/onramp-postings.ts";
import { postEntries } from "../../ledger/post-entries.ts";
import type { BankPort } from "../../partners/bank/port.ts";
import {
  type ChainPort,
  isSamePayment,
  type OwnerAnswer,
  type Payment,
  sendIfDone,
} from "../../partners/chain/port.ts";
import { returnKey } from "../../partners/chain/send-keys.ts";
import type { Session, Transaction } from "../../platform/db/database.ts";
import { LOCK_WAIT_MAX_MS } from "../../platform/db/lock-wait.ts";
import { isLockConflict } from "../../platform/db/outages.ts";
import { MINUTE_MS, SECOND_MS } from "../../platform/durations.ts";
import { KEY_BYTES } from "../../platform/encryption/cipher.ts";
import { createSubjectKeys, type Keyring } from "../../platform/encryption/keyring.ts";
import { newId } from "../../platform/ids.ts";
import { oneByOne } from "../../platform/tasks/one-by-one.ts";
import type { TaskSet } from "../../platform/tasks/task-set.ts";
import type { Task } from "../../platform/tasks/tasks.ts";
import { type FundDeps, type Funding, fundOnramp } from "../fund-onramp.ts";
import { giveBackOnramp } from "../give-back-onramp.ts";
import { DEPOSIT_MOVES, openAmount } from "../model.ts";
import {
  type DepositFacts,
  type FiatDepositRow,
  findDeposit,
  findLastPart,
  findLineFreeze,
  insertFiatDeposits,
  lockDeposits,
  openDeposits,
  updateDeposits,
} from "./store.ts";

export type DepositMoveDeps = FundDeps & { bank: BankPort; chain: ChainPort };

/** The bank, or the chain. */
const ASKED_AGAIN_AFTER_MS = MINUTE_MS;

const LOCKED_AGAIN_AFTER_MS = 5 * SECOND_MS;

/** Accounts whose onramps were locked, and until when their deposits are not tried. */
type LockedAccounts = Map<string, number>;

/**
 * Moves deposits in progress to their next resting state. The onramp's account and the operator's
 * account are written in two transactions: first the onramp's, which can be repeated because the
 * onramp stores its deposit, then the operator's.
 */
export async function moveDeposits(
  deps: DepositMoveDeps,
  set: TaskSet,
  locked: LockedAccounts = new Map(),
): Promise<void> {
  const brief = { ...deps, lock_wait_max_ms: LOCK_WAIT_MAX_MS };
  await oneByOne(deps.database, set, (task) => moveDeposit(brief, set, task, locked));
}

async function moveDeposit(
  deps: DepositMoveDeps,
  set: TaskSet,
  task: Task,
  locked: LockedAccounts,
): Promise<void> {
  const deposit = await findDeposit(deps.database, task.account_id, task.record_id);
  const step = deposit ? await nextUnlockedStep(deps, deposit, locked, set.now) : null;
  await deps.database.transaction(async (tx) => {
    const tasks = await set.lock(tx, [task]);
    if (tasks.length === 0) return;
    if (step === "later" || step === "locked") {
      const again_ms = step === "later" ? ASKED_AGAIN_AFTER_MS : LOCKED_AGAIN_AFTER_MS;
      return set.postpone(tx, tasks, new Date(set.now.getTime() + again_ms));
    }
    const status = deposit && step ? await recordStep(tx, deps, deposit, step, set.now) : null;
    if (status === "returning") set.postpone(tx, tasks, set.now);
    else set.finish(tx, tasks);
  });
}

/** The same at once and without a task, for the sandbox. */
export async function moveDepositToRest(
  deps: DepositMoveDeps,
  { account_id, id }: { account_id: string; id: string },
  now: Date,
): Promise<void> {
  for (;;) {
    const deposit = await findDeposit(deps.database, account_id, id);
    const step = deposit ? await nextStep(deps, deposit, now) : null;
    if (!deposit || step === null || step === "later") return;
    await deps.database.transaction((tx) => recordStep(tx, deps, deposit, step, now));
  }
}

/** The same, unless somebody holds locks of the onramp's account: others must not wait for them. */
async function nextUnlockedStep(
  deps: DepositMoveDeps,
  deposit: FiatDepositRow,
  locked: LockedAccounts,
  now: Date,
): Promise<Step | "later" | "locked" | null> {
  const account_id = deposit.onramp_account_id;
  if (account_id === null) return nextStep(deps, deposit, now);
  if (now.getTime() < (locked.get(account_id) ?? 0)) return "locked";
  try {
    const step = await nextStep(deps, deposit, now);
    locked.delete(account_id);
    return step;
  } catch (error) {
    if (!isLockConflict(error)) throw error;
    locked.set(account_id, now.getTime() + LOCKED_AGAIN_AFTER_MS);
    return "locked";
  }
}

/** Does the part of another account or of the bank, and returns what it means for the deposit. */
async function nextStep(
  deps: DepositMoveDeps,
  deposit: FiatDepositRow,
  now: Date,
): Promise<Step | "later" | null> {
  if (deposit.status === "matching") return funded(deposit, await fundOnramp(deps, deposit, now));
  if (deposit.status === "releasing") {
    return released(deposit, await giveBackOnramp(deps, deposit, now));
  }
  if (deposit.status !== "returning") return null;
  // Frozen after the decision: it waits, also to learn what became of a request before.
  if (await findLineFreeze(deps.database, deposit)) return "later";
  if (isToken(deposit.currency)) return returnTokens(deps, deposit);
  // The key names the deposit and the attempt: repeated calls make the bank return it once.
  const answer = await deps.bank.returnCredit({
    key: returnKey(deposit),
    bank_account: deposit.bank_account,
    bank_reference: deposit.bank_reference,
    amount: openAmount(deposit),
    currency: deposit.currency,
  });
  return answer === "pending" ? "later" : returned(deposit, answer);
}

/**
 * Whether a deposit that is being returned wants this payment. It is held if it is of a user who is
 * frozen now.
 */
export async function askReturn(
  session: Session,
  { keyring, operator_id }: Pick<DepositMoveDeps, "keyring"> & { operator_id: string },
  key: string,
  id: string,
  payment: Payment,
): Promise<OwnerAnswer> {
  const row = await findDeposit(session, operator_id, id);
  if (row?.status !== "returning" || returnKey(row) !== key) return "not_wanted";
  const wanted = await openReturn(session, keyring, row);
  if (!wanted || !isSamePayment(wanted, payment)) return "not_wanted";
  return (await findLineFreeze(session, row)) ? "held" : "wanted";
}

/** To the address that sent them, once per attempt. */
async function returnTokens(
  { database, keyring, chain }: DepositMoveDeps,
  row: FiatDepositRow,
): Promise<Step | "later"> {
  const payment = await openReturn(database, keyring, row);
  if (!payment) return returned(row, "refused");
  const sent = await sendIfDone(chain, { key: returnKey(row), ...payment });
  if (sent === null) return "later";
  return returned(row, "tx_id" in sent ? "booked" : "refused");
}

/** Null where the tokens cannot go back: nobody is known to have sent them. */
async function openReturn(
  session: Session,
  keyring: Keyring,
  row: FiatDepositRow,
): Promise<Payment | null> {
  const [deposit] = await openDeposits(session, keyring, [row]);
  const chain = row.bank_account.slice(walletOn("").length);
  const address = deposit!.details.payer_name;
  if (address === "" || !isChain(chain) || !isToken(row.currency)) return null;
  return { chain, token: row.currency, amount: openAmount(row), address };
}

/** The changed fields, the ledger entries, and any excess to list as a deposit of its own. */
type Step = { changes: Partial<DepositFacts>; entries: NewEntry[]; excess?: bigint };

/** Writes a step unless another process has moved the deposit; returns its current status. */
async function recordStep(
  tx: Transaction,
  { keyring }: DepositMoveDeps,
  seen: DepositFacts,
  { changes, entries, excess = 0n }: Step,
  now: Date,
): Promise<DepositFacts["status"]> {
  const [row] = await lockDeposits(tx, seen.account_id, [seen.id]);
  if (row!.status !== seen.status) return row!.status;
  if (excess > 0n) await insertExcess(tx, keyring, row!, excess, now);
  const changed = changeDeposit(row!, changes, now);
  updateDeposits(tx, [changed]);
  postEntries(tx, entries, now);
  return changed.status;
}

/** The excess is a deposit of its own: it can be returned, or pay another onramp. */
async function insertExcess(
  tx: Transaction,
  keyring: Keyring,
  row: FiatDepositRow,
  amount: bigint,
  now: Date,
): Promise<void> {
  const [[deposit], account_keys, last_part] = await Promise.all([
    openDeposits(tx, keyring, [row]),
    keyring.openAccounts(tx, [row]),
    findLastPart(tx, row),
  ]);
  const { account_id } = row;
  const [id, key] = [newId(now), randomBytes(KEY_BYTES)];
  const written = await insertFiatDeposits(
    tx,
    [
      {
        ...deposit!,
        id,
        key,
        amount,
        part: last_part + 1,
        status: "unmatched",
        reason: "excess",
        is_posted: true,
        matched_by: null,
        onramp_account_id: null,
        onramp_id: null,
      },
    ],
    now,
  );
  // Another part of the same line was written concurrently: the task is tried again.
  if (!written.has(id)) throw new Error("what was left of a deposit could not be written");
  createSubjectKeys(tx, account_keys, [{ account_id, subject_id: id, key }], now);
}

/** The deposit after a transition. */
export function changeDeposit<Deposit extends DepositFacts>(
  deposit: Deposit,
  changes: Partial<DepositFacts>,
  now: Date,
): Deposit {
  const status = changes.status ?? deposit.status;
  if (status !== deposit.status && !DEPOSIT_MOVES[deposit.status].includes(status)) {
    throw new Error(`a deposit cannot go from ${deposit.status} to ${status}`);
  }
  return { ...deposit, ...changes, updated_at: now };
}

function funded(deposit: DepositFacts, funding: Funding): Step {
  if ("refused" in funding) {
    // The onramp that it names stays on the row: it helps the operator.
    const reason = funding.refused;
    return { changes: { status: "unmatched", reason, matched_by: null }, entries: [] };
  }
  const { taken } = funding;
  return {
    changes: { status: "matched", reason: null, matched_amount: taken },
    entries: [fiatDepositMatched({ ...deposit, amount: taken })],
    excess: openAmount(deposit) - taken,
  };
}

/** The operator returns it to the payer; if the coins were sent, it stays with its onramp. */
function released(deposit: DepositFacts, is_given_back: boolean): Step {
  if (!is_given_back) {
    return { changes: { status: "matched", reason: "coins_left" }, entries: [] };
  }
  const money = { ...deposit, amount: openAmount(deposit) };
  const returns = deposit.returns + 1;
  // A check held the onramp for too long: the operator decides what happens to its deposit.
  if (deposit.reason === "held") {
    const changes = { status: "unmatched", matched_by: null, returns } as const;
    return { changes, entries: [fiatDepositReleased(money)] };
  }
  return {
    changes: { status: "returning", returns },
    entries: [fiatDepositReleased(money), fiatReturnStarted({ ...money, returns })],
  };
}

function returned(deposit: DepositFacts, answer: "booked" | "refused"): Step {
  const money = { ...deposit, amount: openAmount(deposit) };
  if (answer === "booked") {
    return { changes: { status: "returned", reason: null }, entries: [fiatReturnBooked(money)] };
  }
  return {
    changes: { status: "unmatched", reason: "return_refused" },
    entries: [fiatReturnRefused(money)],
  };
}
