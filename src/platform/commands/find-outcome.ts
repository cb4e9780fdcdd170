import { setTimeout as sleep } from "node:timers/promises";
import type { Database } from "../db/database.ts";
import type { Command } from "./use-case.ts";

const FIND_OUT_MAX_MS = 10_000;
const PAUSE_MS = 200;

/**
 * What became of a transaction whose COMMIT went unanswered? Inserting its command's key again
 * waits for that transaction if it still runs, and then conflicts exactly when it committed.
 */
export async function wasCommitted(
  database: Database,
  command: Command<unknown> | undefined,
  now: Date,
): Promise<"yes" | "no" | "unknown"> {
  if (!command) return "no";
  const deadline_ms = performance.now() + FIND_OUT_MAX_MS;
  while (performance.now() < deadline_ms) {
    try {
      return (await conflicts(database, command, now, deadline_ms)) ? "yes" : "no";
    } catch {
      await sleep(PAUSE_MS);
    }
  }
  return "unknown";
}

class Undo extends Error {}

async function conflicts(
  database: Database,
  command: Command<unknown>,
  now: Date,
  deadline_ms: number,
): Promise<boolean> {
  let conflict = false;
  const wait_ms = Math.max(1, Math.ceil(deadline_ms - performance.now()));
  try {
    await database.transaction(async (tx) => {
      await tx.query("select set_config('lock_timeout', $1, true)", [`${wait_ms}ms`]);
      const inserted = await tx.query(
        `insert into commands (account_id, id, created_at) values ($1, $2, $3)
         on conflict do nothing returning id`,
        [command.account_id, command.id, now],
      );
      conflict = inserted.length === 0;
      throw new Undo();
    });
  } catch (error) {
    if (!(error instanceof Undo)) throw error;
  }
  return conflict;
}
