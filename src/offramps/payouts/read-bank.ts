import type { BankAnswer } from "../../partners/bank/port.ts";
import { listAccountsWithKept } from "../../partners/kept-messages/kept-store.ts";
import {
  beginReading,
  type Reading,
  takeMessages,
} from "../../partners/kept-messages/take-messages.ts";
import { readOn } from "../../partners/read-on.ts";
import { LOCK_WAIT_MAX_MS } from "../../platform/db/lock-wait.ts";
import { isOutage } from "../../platform/db/outages.ts";
import { SECOND_MS } from "../../platform/durations.ts";
import { CHUNK } from "../fund-offramps.ts";
import type { BankDeps } from "./apply-bank-answers.ts";
import { applyInParts, KEPT_ANSWERS } from "./apply-kept-answers.ts";

/** Those of many accounts. */
const ANSWERS_PER_READ_MAX = 1_200;
const SETS_AT_ONCE = 2;
/** Of several accounts: all sets at once are not larger than one of a single account. */
const TOGETHER_MAX = CHUNK / SETS_AT_ONCE;
const CURSOR = "bank";
/** Others must not wait for the locks of one account, and not again for one that was locked. */
const FIRST_LOCK_WAIT_MAX_MS = SECOND_MS;

/**
 * Reads the bank's new answers and applies each one once. What cannot be applied now is kept
 * (`partners/kept-messages/take-messages.ts`): the others are applied, and nothing is read again.
 */
export function bankReader(deps: BankDeps): () => Promise<void> {
  const list = async (cursor: string | null) => {
    const { answers, ...read } = await deps.bank.listAnswers(cursor, ANSWERS_PER_READ_MAX);
    return { items: answers, ...read };
  };
  return async () => {
    const reading = beginReading(deps.database, deps.log, KEPT_ANSWERS);
    const take = async (answers: BankAnswer[], now: Date, keepCursor: () => void) => {
      await takeAnswers(deps, reading, answers, now);
      if (answers.some(({ account_id }) => reading.behind.has(account_id))) keepCursor();
    };
    await readOn(deps.database, CURSOR, list, take, deps.clock);
  };
}

/** Those of several accounts at once, and of an account in their order. */
async function takeAnswers(
  deps: BankDeps,
  reading: Reading<BankAnswer>,
  answers: readonly BankAnswer[],
  now: Date,
): Promise<void> {
  const { database } = deps;
  const { kind } = KEPT_ANSWERS;
  // Their order is kept: an earlier answer of the account waits.
  const free = answers.filter(({ account_id }) => !reading.behind.has(account_id));
  if (free.length === 0) return;
  // Read after the cursor: whoever moved it has committed what is kept from before.
  const of_page = database.by_account ? null : await listAccountsWithKept(database, kind, free);
  const isAlone = (account_id: string) =>
    of_page?.has(account_id) || reading.failing.has(account_id);
  const waiting = groupAccounts(free, isAlone, database.by_account ? 0 : TOGETHER_MAX);
  const takeGroup = async (group: BankAnswer[]) => {
    const kept = of_page ?? (await listAccountsWithKept(database, kind, group));
    await applyGroup(deps, reading, group, kept, now);
  };
  const takeNext = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      try {
        await takeGroup(next);
      } catch (error) {
        // Where accounts are on several servers, others' answers are applied while one is lost.
        if (!isOutage(error) || !database.by_account) throw error;
        reading.behind.add(next[0]!.account_id);
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
  isAlone: (account_id: string) => boolean | undefined,
  answers_max: number,
): BankAnswer[][] {
  const alone: BankAnswer[][] = [];
  const together: BankAnswer[][] = [];
  for (const [account_id, own] of Map.groupBy(answers, (answer) => answer.account_id)) {
    const last = together.at(-1);
    const is_plain = own.every(({ kind }) => kind === "booked") && !isAlone(account_id);
    if (!is_plain || own.length >= answers_max) alone.push(own);
    else if (last && last.length + own.length <= answers_max) last.push(...own);
    else together.push([...own]);
  }
  return [...together, ...alone];
}

/** If answers of several accounts fail, each is tried alone: one does not stop the others. */
async function applyGroup(
  deps: BankDeps,
  reading: Reading<BankAnswer>,
  group: readonly BankAnswer[],
  kept: ReadonlySet<string>,
  now: Date,
): Promise<void> {
  const of_accounts = [...Map.groupBy(group, (answer) => answer.account_id)];
  if (of_accounts.length > 1) {
    try {
      return await applyInParts(deps, group, FIRST_LOCK_WAIT_MAX_MS, now);
    } catch (error) {
      if (isOutage(error)) throw error;
    }
  }
  for (const [account_id, own] of of_accounts) {
    const has_kept = kept.has(account_id);
    const wait_max_ms = has_kept ? LOCK_WAIT_MAX_MS : FIRST_LOCK_WAIT_MAX_MS;
    const apply = (some: BankAnswer[]) => applyInParts(deps, some, wait_max_ms, now);
    await takeMessages(reading, account_id, own, has_kept, apply, now);
  }
}
