import { Turns } from "../turns.ts";

/** Runs a read of an account when it is its turn. */
export type ReadTurns = <Result>(
  account_id: string,
  read: () => Promise<Result>,
) => Promise<Result>;

const WAIT_MAX_MS = 10_000;

/**
 * The reads of one account use at most half of the database's connections: with all of them, slow
 * reads of one caller, such as a sum over a large ledger, would make everybody else wait.
 */
export function createReadTurns(connections: number, wait_max_ms = WAIT_MAX_MS): ReadTurns {
  const at_once_max = Math.max(1, Math.floor(connections / 2));
  const by_account = new Map<string, Turns>();
  return async (account_id, read) => {
    const turns = by_account.get(account_id) ?? new Turns(at_once_max, wait_max_ms);
    by_account.set(account_id, turns);
    try {
      return await turns.run(read);
    } finally {
      if (turns.is_idle) by_account.delete(account_id);
    }
  };
}
