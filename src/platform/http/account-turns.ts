import { Turns } from "../turns.ts";

/** Runs work of an account when it is its turn; that of other accounts runs beside it. */
export type AccountTurns = <Result>(
  account_id: string,
  work: () => Promise<Result>,
) => Promise<Result>;

const READ_WAIT_MAX_MS = 10_000;
const SENT_AT_ONCE_MAX = 10;
/** They arrive at the pace of their senders. */
const RECEIVED_AT_ONCE_MAX = 32;
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

/**
 * The reads of one account use at most half of the database's connections: with all of them, slow
 * reads of one caller, such as a sum over a large ledger, would make everybody else wait.
 */
export function createReadTurns(connections: number): AccountTurns {
  return createAccountTurns(Math.max(1, Math.floor(connections / 2)), READ_WAIT_MAX_MS);
}

/**
 * Files are encrypted and decrypted by the thread that answers everybody: a few hundred at a time
 * would keep it busy for all others.
 */
export const FILE_TURNS = {
  send: createAccountTurns(SENT_AT_ONCE_MAX, FILE_WAIT_MAX_MS),
  receive: createAccountTurns(RECEIVED_AT_ONCE_MAX, FILE_WAIT_MAX_MS),
} as const;
