import { setTimeout as sleep } from "node:timers/promises";
import type { Database } from "../db/database.ts";
import { insertFence } from "./store.ts";
import type { Command } from "./use-case.ts";

const PAUSE_MS = 100;

/**
 * What became of a transaction whose COMMIT went unanswered? One of its commands is asked for by
 * laying down a row with its id: that waits for the transaction if it still runs. Where the row of
 * the command itself stands, the transaction was committed. Otherwise the new row takes its place
 * for good, so that a COMMIT that is still on its way somewhere fails when it arrives.
 */
export async function findOutcome(
  database: Database,
  command: Command<unknown>,
  limit_ms: number,
  real_now: Date,
): Promise<"committed" | "undone" | "unknown"> {
  const deadline_ms = performance.now() + limit_ms;
  const timer = new AbortController();
  // A question may itself hang; the deadline is kept whatever becomes of it.
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
      // Also in the first case this writes: its commit waits for the replica, and thus confirms
      // that an earlier commit which did not wait has arrived there too.
      return await database.transaction((tx) => insertFence(tx, command, left_ms, real_now), {
        answer_max_ms: left_ms,
      });
    } catch {
      await sleep(PAUSE_MS);
    }
  }
}
