import type { KeyObject } from "node:crypto";
import type { Database } from "../db/database.ts";
import { recurringTask } from "../tasks/recurring-task.ts";
import type { TaskHandler } from "../tasks/run-set.ts";
import type { TaskLog } from "../tasks/task-log.ts";
import { type Block, type Rejected, sealAll } from "./seal.ts";

export const SEAL_TASK = "seal-logs";
const EVERY_MS = 2_000;
/** So that a flood of forged entries does not fill the log. */
const NAMED_MAX = 10;

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
    const heads = await sealAll(database, key, now, (rejected) => logRejected(log, rejected));
    logHeads(log, heads);
    const last = heads.at(-1);
    if (last) await onSealed(last);
  });
}

/** An alarm: somebody wrote to the database beside the service. */
export function logRejected(log: TaskLog, { entry_ids, ...chain }: Rejected): void {
  const named = { ...chain, entries: entry_ids.length, entry_ids: entry_ids.slice(0, NAMED_MAX) };
  log.error(named, "entries that this service did not write were not sealed; run sliproad verify");
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
