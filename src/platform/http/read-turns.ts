import { Refusal } from "../errors.ts";

/** Runs a read of an account when it is its turn. */
export type ReadTurns = <Result>(
  account_id: string,
  read: () => Promise<Result>,
) => Promise<Result>;

type Turns = { running: number; waiting: Set<() => void> };

const WAIT_MAX_MS = 10_000;
const RETRY_AFTER_SECONDS = 2;

/**
 * The reads of one account use at most half of the database's connections: with all of them, slow
 * reads of one caller, such as a sum over a large ledger, would make everybody else wait.
 */
export function createReadTurns(connections: number, wait_max_ms = WAIT_MAX_MS): ReadTurns {
  const at_once_max = Math.max(1, Math.floor(connections / 2));
  const by_account = new Map<string, Turns>();
  return async (account_id, read) => {
    const turns = by_account.get(account_id) ?? { running: 0, waiting: new Set() };
    by_account.set(account_id, turns);
    if (turns.running < at_once_max) turns.running += 1;
    else await nextTurn(turns, wait_max_ms);
    try {
      return await read();
    } finally {
      const [next] = turns.waiting;
      // It takes over this turn.
      if (next) next();
      else turns.running -= 1;
      if (turns.running === 0) by_account.delete(account_id);
    }
  };
}

function nextTurn({ waiting }: Turns, wait_max_ms: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const go = () => {
      waiting.delete(go);
      clearTimeout(timer);
      resolve();
    };
    const timer = setTimeout(() => {
      waiting.delete(go);
      reject(new Refusal("unavailable", undefined, RETRY_AFTER_SECONDS));
    }, wait_max_ms);
    waiting.add(go);
  });
}
