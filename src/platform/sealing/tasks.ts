import type { KeyObject } from "node:crypto";
import type { Database } from "../db/database.ts";
import { recurringTask } from "../tasks/recurring-task.ts";
import type { TaskHandler } from "../tasks/run-set.ts";
import type { TaskLog } from "../tasks/task-log.ts";
import { type Block, sealAll } from "./seal.ts";

export const SEAL_TASK = "seal-logs";
const EVERY_MS = 2_000;

/** Called with the block that was sealed last. */
export type OnSealed = (block: Block) => Promise<void>;

/** Seals the entries recorded since the last run, and logs the new heads outside the database. */
export function sealTask(
  database: Database,
  key: KeyObject,
  log: TaskLog,
  onSealed: OnSealed = async () => {},
): TaskHandler {
  return recurringTask(database, SEAL_TASK, EVERY_MS, async ({ now }) => {
    const heads = await sealAll(database, key, now);
    logHeads(log, heads);
    const last = heads.at(-1);
    if (last) await onSealed(last);
  });
}

/**
 * The heads are logged outside the database too: an attacker who rewrites it cannot rewrite the
 * log.
 */
export function logHeads(log: TaskLog, heads: readonly Block[]): void {
  for (const head of heads) {
    log.info(
      {
        account_id: head.account_id,
        log: head.log,
        number: String(head.number),
        hash: head.hash.toString("hex"),
        signature: head.signature.toString("base64"),
      },
      "sealed",
    );
  }
}
