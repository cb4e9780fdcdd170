import type { BankAnswer } from "../../partners/bank/port.ts";
import { readOn } from "../../partners/read-on.ts";
import { AccountMap } from "../../platform/account-map.ts";
import { limitLockWait } from "../../platform/db/lock-wait.ts";
import { isLockConflict, isOutage } from "../../platform/db/outages.ts";
import { SECOND_MS } from "../../platform/durations.ts";
import { describeError } from "../../platform/tasks/outage.ts";
import { splitByBytes } from "../../platform/tasks/split-by-bytes.ts";
import { CHUNK } from "../fund-offramps.ts";
import { findOfframpLinks } from "../store.ts";
import { applyAnswers, type BankDeps, offrampsOf } from "./apply-bank-answers.ts";
import { offrampIdOf } from "./model.ts";
import { findBankAnswers } from "./store.ts";

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
 * applied now, because somebody holds its locks for example, they are read again next time, and
 * those of others are applied.
 */
export function bankReader(deps: BankDeps): () => Promise<void> {
  let behind: Behind = new Map();
  const list = async (cursor: string | null) => {
    const { answers, ...read } = await deps.bank.listAnswers(cursor, ANSWERS_PER_READ_MAX);
    return { items: answers, ...read };
  };
  return async () => {
    // Read again, the answers of others are known.
    const were_behind = behind.size > 0;
    const now_behind: Behind = new Map();
    const take = async (read: BankAnswer[], now: Date, keepCursor: () => void) => {
      const answers = were_behind ? await withoutKnown(deps, read, now_behind) : read;
      await applyInGroups(deps, answers, { before: behind, now: now_behind }, now);
      if (answers.some(({ account_id }) => now_behind.has(account_id))) keepCursor();
    };
    await readOn(deps.database, CURSOR, list, take, deps.clock);
    for (const [account_id, error] of now_behind) {
      if (error === null || behind.get(account_id) === error) continue;
      deps.log.warn({ account_id, error }, "the bank's answers of an account cannot be applied");
    }
    behind = now_behind;
  };
}

/** Accounts whose answers could not be applied, and why; null for locks that somebody held. */
type Behind = Map<string, string | null>;

async function withoutKnown(
  deps: BankDeps,
  read: BankAnswer[],
  behind: Behind,
): Promise<BankAnswer[]> {
  const left: BankAnswer[] = [];
  for (const [account_id, answers] of Map.groupBy(read, (answer) => answer.account_id)) {
    try {
      const known = await findBankAnswers(deps.database, answers);
      left.push(...answers.filter(({ bank_reference }) => !known.has(account_id, bank_reference)));
    } catch (error) {
      if (!isOutage(error) || !mayBeOfOneServer(deps)) throw error;
      behind.set(account_id, describeError(error));
      left.push(...answers);
    }
  }
  return left;
}

/** Where accounts are on several servers, the others' answers are applied while one is lost. */
function mayBeOfOneServer({ database }: BankDeps): boolean {
  return database.by_account === true;
}

/** Those of several accounts at once, and of an account in their order. */
async function applyInGroups(
  deps: BankDeps,
  answers: readonly BankAnswer[],
  behind: { before: Behind; now: Behind },
  now: Date,
): Promise<void> {
  // Their order is kept: an earlier answer of the account waits.
  const free = answers.filter(({ account_id }) => !behind.now.has(account_id));
  const waiting = groupAccounts(free, behind.before, deps.database.by_account ? 0 : TOGETHER_MAX);
  const applyNext = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      await applyGroup(deps, next, behind.now, now);
    }
  };
  // All end before the page is read again because one of them failed.
  const ended = await Promise.allSettled(Array.from({ length: SETS_AT_ONCE }, applyNext));
  const failed = ended.find((one) => one.status === "rejected");
  if (failed) throw failed.reason;
}

/**
 * Answers that are applied one part after the other: those of an account, or of several with few
 * answers, which together have at most `answers_max`. Alone is an account with anything but
 * bookings, since giving money back locks more than they do, and one that was behind.
 */
function groupAccounts(
  answers: readonly BankAnswer[],
  behind: Behind,
  answers_max: number,
): BankAnswer[][] {
  const alone: BankAnswer[][] = [];
  const together: BankAnswer[][] = [];
  for (const [account_id, own] of Map.groupBy(answers, (answer) => answer.account_id)) {
    const last = together.at(-1);
    const is_plain = own.every(({ kind }) => kind === "booked") && !behind.has(account_id);
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
  const of_accounts = [...Map.groupBy(group, (answer) => answer.account_id)];
  try {
    await applyParts(deps, group, now);
  } catch (error) {
    if (isOutage(error) && !mayBeOfOneServer(deps)) throw error;
    const [[first]] = of_accounts as [[string, BankAnswer[]]];
    if (of_accounts.length === 1)
      behind.set(first, isLockConflict(error) ? null : describeError(error));
    else for (const [, own] of of_accounts) await applyGroup(deps, own, behind, now);
  }
}

async function applyParts(
  deps: BankDeps,
  answers: readonly BankAnswer[],
  now: Date,
): Promise<void> {
  for (const part of await split(deps, answers)) {
    await deps.database.transaction((tx) => {
      limitLockWait(tx, LOCK_WAIT_MAX_MS);
      return applyAnswers(tx, deps, part, now);
    });
  }
}

/** In their order, by number and by the size of the offramps' details. */
async function split(
  { database }: BankDeps,
  answers: readonly BankAnswer[],
): Promise<BankAnswer[][]> {
  const links = AccountMap.of(
    await findOfframpLinks(database, offrampsOf(answers)),
    (offramp) => offramp,
  );
  const bytesOf = ({ account_id, end_to_end_id }: BankAnswer) =>
    links.get(account_id, offrampIdOf(end_to_end_id) ?? "")?.bytes ?? 0;
  return splitByBytes(answers, bytesOf).flatMap((part) =>
    Array.from({ length: Math.ceil(part.length / CHUNK) }, (_, at) =>
      part.slice(at * CHUNK, (at + 1) * CHUNK),
    ),
  );
}
