import type { BankAnswer } from "../../partners/bank/port.ts";
import { readOn } from "../../partners/read-on.ts";
import { limitLockWait } from "../../platform/db/lock-wait.ts";
import { isLockConflict, isOutage } from "../../platform/db/outages.ts";
import { SECOND_MS } from "../../platform/durations.ts";
import { describeError } from "../../platform/tasks/outage.ts";
import { CHUNK } from "../fund-offramps.ts";
import { applyAnswers, type BankDeps } from "./apply-bank-answers.ts";
import { keepAnswers } from "./keep-answers.ts";
import { listAccountsWithKept } from "./kept-answers-store.ts";
import { splitAnswers } from "./split-answers.ts";

/** Those of many accounts. */
const ANSWERS_PER_READ_MAX = 1_200;
const SETS_AT_ONCE = 2;
/** Of several accounts: all sets at once are not larger than one of a single account. */
const TOGETHER_MAX = CHUNK / SETS_AT_ONCE;
const CURSOR = "bank";
/** Others must not wait for the locks of one account. */
const LOCK_WAIT_MAX_MS = SECOND_MS;

/**
 * Reads the bank's new answers and applies each one once. Where those of an account cannot be
 * applied now, because somebody holds its locks for example, they are kept for it, and so are its
 * next ones as long as any are (`apply-kept-answers.ts`): those of others are applied, and nothing
 * is read again.
 */
export function bankReader(deps: BankDeps): () => Promise<void> {
  const list = async (cursor: string | null) => {
    const { answers, ...read } = await deps.bank.listAnswers(cursor, ANSWERS_PER_READ_MAX);
    return { items: answers, ...read };
  };
  return async () => {
    const behind: Behind = new Set();
    const take = async (answers: BankAnswer[], now: Date, keepCursor: () => void) => {
      await takeAnswers(deps, answers, behind, now);
      if (answers.some(({ account_id }) => behind.has(account_id))) keepCursor();
    };
    await readOn(deps.database, CURSOR, list, take, deps.clock);
  };
}

/** Accounts whose answers could not be kept either: they are read again next time. */
type Behind = Set<string>;

/** Those of several accounts at once, and of an account in their order. */
async function takeAnswers(
  deps: BankDeps,
  answers: readonly BankAnswer[],
  behind: Behind,
  now: Date,
): Promise<void> {
  const { database } = deps;
  // Their order is kept: an earlier answer of the account waits.
  const free = answers.filter(({ account_id }) => !behind.has(account_id));
  if (free.length === 0) return;
  // Read after the cursor: whoever moved it has committed what is kept from before.
  const of_page = database.by_account ? null : await listAccountsWithKept(database, free);
  const waiting = groupAccounts(free, of_page, database.by_account ? 0 : TOGETHER_MAX);
  const takeGroup = async (group: BankAnswer[]) => {
    const kept = of_page ?? (await listAccountsWithKept(database, group));
    if (kept.has(group[0]!.account_id)) await keep(deps, group, behind, null, now);
    else await applyGroup(deps, group, behind, now);
  };
  const takeNext = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      try {
        await takeGroup(next);
      } catch (error) {
        // Where accounts are on several servers, others' answers are applied while one is lost.
        if (!isOutage(error) || !database.by_account) throw error;
        behind.add(next[0]!.account_id);
      }
    }
  };
  // All end before the page is read again because one of them failed.
  const ended = await Promise.allSettled(Array.from({ length: SETS_AT_ONCE }, takeNext));
  const failed = ended.find((one) => one.status === "rejected");
  if (failed) throw failed.reason;
}

/**
 * Answers that are applied one part after the other: those of an account, or of several with few
 * answers, which together have at most `answers_max`. Alone is an account with anything but
 * bookings, since giving money back locks more than they do, and one of which some are kept.
 */
function groupAccounts(
  answers: readonly BankAnswer[],
  kept: ReadonlySet<string> | null,
  answers_max: number,
): BankAnswer[][] {
  const alone: BankAnswer[][] = [];
  const together: BankAnswer[][] = [];
  for (const [account_id, own] of Map.groupBy(answers, (answer) => answer.account_id)) {
    const last = together.at(-1);
    const is_plain = own.every(({ kind }) => kind === "booked") && !kept?.has(account_id);
    if (!is_plain || own.length >= answers_max) alone.push(own);
    else if (last && last.length + own.length <= answers_max) last.push(...own);
    else together.push([...own]);
  }
  return [...together, ...alone];
}

/** If answers of several accounts fail, each is tried alone: one does not stop the others. */
async function applyGroup(
  deps: BankDeps,
  group: readonly BankAnswer[],
  behind: Behind,
  now: Date,
): Promise<void> {
  const of_accounts = [...Map.groupBy(group, (answer) => answer.account_id).values()];
  try {
    await applyParts(deps, group, now);
  } catch (error) {
    if (isOutage(error)) throw error;
    if (of_accounts.length === 1) await keep(deps, group, behind, error, now);
    else for (const own of of_accounts) await applyGroup(deps, own, behind, now);
  }
}

/** `why` is null where earlier ones are kept. */
async function keep(
  deps: BankDeps,
  answers: readonly BankAnswer[],
  behind: Behind,
  why: unknown,
  now: Date,
): Promise<void> {
  const { account_id } = answers[0]!;
  try {
    const is_first = await keepAnswers(deps.database, account_id, answers, now);
    if (is_first && !isLockConflict(why)) warn(deps, account_id, why);
  } catch (error) {
    if (isOutage(error)) throw error;
    behind.add(account_id);
    if (!isLockConflict(error)) warn(deps, account_id, error);
  }
}

function warn({ log }: BankDeps, account_id: string, why: unknown): void {
  const error = describeError(why);
  log.warn({ account_id, error }, "the bank's answers of an account cannot be applied");
}

async function applyParts(
  deps: BankDeps,
  answers: readonly BankAnswer[],
  now: Date,
): Promise<void> {
  for (const part of await splitAnswers(deps.database, answers)) {
    await deps.database.transaction((tx) => {
      limitLockWait(tx, LOCK_WAIT_MAX_MS);
      return applyAnswers(tx, deps, part, now);
    });
  }
}
