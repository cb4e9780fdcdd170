import { Refusal } from "../errors.ts";
import { LruMap } from "../lru-map.ts";
import { Turns } from "../turns.ts";
import { thenRest } from "./then-rest.ts";

/** Runs work of an account when it is its turn; that of other accounts runs beside it. */
type AccountTurns = <Result>(account_id: string, work: () => Promise<Result>) => Promise<Result>;

const READ_WAIT_MAX_MS = 10_000;
/** In characters; a page of 100 usual records has a third of it. */
const LARGE_ANSWER = 256 * 1024;
/** How long after such an answer the account reads one after the other. */
const LARGE_MS = 1_000;
const ACCOUNTS_MAX = 10_000;
const SENT_AT_ONCE_MAX = 10;
/** They arrive at the pace of their senders. */
const RECEIVED_AT_ONCE_MAX = 32;
/** By applicants, who each have a link of their own. */
const SHOWN_AT_ONCE_MAX = 30;
const FILE_WAIT_MAX_MS = 30_000;

export function createAccountTurns(at_once_max: number, wait_max_ms: number): AccountTurns {
  const by_account = new Map<string, Turns>();
  return async (account_id, work) => {
    const turns = by_account.get(account_id) ?? new Turns(at_once_max, wait_max_ms);
    by_account.set(account_id, turns);
    try {
      return await turns.run(work);
    } finally {
      if (turns.is_idle) by_account.delete(account_id);
    }
  };
}

/** Runs work when it is its turn, unless the caller is gone by then. */
type RestingTurns = <Result>(
  account_id: string,
  work: () => Promise<Result>,
  isGone?: () => boolean,
) => Promise<Result>;

/**
 * For work that takes the thread that answers everybody for long: one piece at a time of each
 * account, with time for the others in between.
 */
export function createRestingTurns(wait_max_ms: number): RestingTurns {
  const oneByOne = createAccountTurns(1, wait_max_ms);
  return (account_id, work, isGone) =>
    new Promise((resolve, reject) => {
      oneByOne(account_id, async () => {
        // Whoever sends many requests and hangs up would occupy the service for minutes. Nobody
        // reads this refusal.
        if (isGone?.()) throw new Refusal("bad_request");
        await thenRest(work().then(resolve));
      }).catch(reject);
    });
}

export type ReadTurns = <Answer>(
  account_id: string,
  read: () => Promise<Answer>,
  isGone: () => boolean,
) => Promise<Answer>;

/**
 * Large answers take the thread that answers everybody tens of milliseconds: while an account gets
 * such answers, it reads one after the other.
 */
export function createReadTurns(): ReadTurns {
  const oneByOne = createRestingTurns(READ_WAIT_MAX_MS);
  const large_until = new LruMap<string, number>(ACCOUNTS_MAX);
  return (account_id, read, isGone) => {
    const readNoting = async () => {
      const answer = await read();
      if (typeof answer === "string" && answer.length > LARGE_ANSWER) {
        large_until.set(account_id, performance.now() + LARGE_MS);
      }
      return answer;
    };
    const is_large = (large_until.get(account_id) ?? 0) > performance.now();
    return is_large ? oneByOne(account_id, readNoting, isGone) : readNoting();
  };
}

/**
 * Files are encrypted and decrypted by the thread that answers everybody: a few hundred at a time
 * would keep it busy for all others.
 */
export const FILE_TURNS = {
  send: createAccountTurns(SENT_AT_ONCE_MAX, FILE_WAIT_MAX_MS),
  show: createAccountTurns(SHOWN_AT_ONCE_MAX, FILE_WAIT_MAX_MS),
  receive: createAccountTurns(RECEIVED_AT_ONCE_MAX, FILE_WAIT_MAX_MS),
} as const;
