import { Refusal } from "../errors.ts";

type FairTurns = <Result>(account_id: string, work: () => Promise<Result>) => Promise<Result>;

/** Of one account; each keeps its request in memory. */
const WAITING_MAX = 1_000;
const RETRY_AFTER_SECONDS = 1;

/**
 * Runs so much work at once, and never all of it for one account. Accounts that wait take turns:
 * one that sends thousands of requests delays only itself.
 */
export function createFairTurns(at_once_max: number): FairTurns {
  const own_max = Math.max(1, at_once_max - 1);
  const running = new Map<string, number>();
  // In the order of their turns.
  const waiting = new Map<string, (() => void)[]>();
  let free = at_once_max;
  const mayBegin = (account_id: string) => free > 0 && (running.get(account_id) ?? 0) < own_max;
  const note = (account_id: string, change: 1 | -1) => {
    free -= change;
    const now = (running.get(account_id) ?? 0) + change;
    if (now === 0) running.delete(account_id);
    else running.set(account_id, now);
  };
  const beginNext = () => {
    for (const [account_id, line] of waiting) {
      if (free === 0) return;
      if (!mayBegin(account_id)) continue;
      const begin = line.shift()!;
      // Its next turn comes after those of the others.
      waiting.delete(account_id);
      if (line.length > 0) waiting.set(account_id, line);
      note(account_id, 1);
      begin();
    }
  };
  const awaitTurn = (account_id: string) => {
    const line = waiting.get(account_id) ?? [];
    if (line.length >= WAITING_MAX) {
      throw new Refusal("unavailable", undefined, RETRY_AFTER_SECONDS);
    }
    waiting.set(account_id, line);
    return new Promise<void>((begin) => line.push(begin));
  };
  return async (account_id, work) => {
    if (mayBegin(account_id) && !waiting.has(account_id)) note(account_id, 1);
    else await awaitTurn(account_id);
    try {
      return await work();
    } finally {
      note(account_id, -1);
      beginNext();
    }
  };
}
