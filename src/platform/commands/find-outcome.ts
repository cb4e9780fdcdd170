import { setTimeout as sleep } from "node:timers/promises";
import type { Database } from "../db/database.ts";
import { insertFence } from "./store.ts";
import type { Command } from "./use-case.ts";

const PAUSE_MS = 100;

/**
 * Finds out whether a transaction committed whose COMMIT got no answer. It inserts a row with the
 * id of one of its commands, which waits for the transaction if it still runs. If the command's own
 * row exists, the transaction was committed. Otherwise the new row blocks that id permanently, so
 * that a delayed COMMIT fails when it arrives.
 */
export async function findOutcome(
  database: Database,
  command: Command<unknown>,
  limit_ms: number,
  real_now: Date,
): Promise<"committed" | "undone" | "unknown"> {
  const deadline_ms = performance.now() + limit_ms;
  const timer = new AbortController();
  // The query itself may hang; the deadline applies anyway.
  const deadline = sleep(limit_ms, "unknown" as const, { signal: timer.signal });
  deadline.catch(() => {});
  try {
    return await Promise.race([keepAsking(database, command, deadline_ms, real_now), deadline]);
  } finally {
    timer.abort();
  }
}

async function keepAsking(
  database: Database,
  command: Command<unknown>,
  deadline_ms: number,
  real_now: Date,
): Promise<"committed" | "undone" | "unknown"> {
  for (;;) {
    const left_ms = Math.ceil(deadline_ms - performance.now());
    if (left_ms <= 0) return "unknown";
    try {
      // This writes even if the row exists: its commit waits for the replica, which confirms that
      // an earlier commit that did not wait has reached the replica too.
      return await database.transaction((tx) => insertFence(tx, command, left_ms, real_now), {
        answer_max_ms: left_ms,
      });
    } catch {
      await sleep(PAUSE_MS);
    }
  }
}
