import type { KeyObject } from "node:crypto";
import type { Database } from "../db/database.ts";
import type { TaskHandler } from "../tasks/run-set.ts";
import type { TaskLog } from "../tasks/task-log.ts";
import { sealAll } from "./seal.ts";

export const SEAL_TASK = "seal-logs";
const EVERY_MS = 2_000;

/** Seals what was noted since the last time, and logs the new heads outside the database. */
export function sealTask(database: Database, key: KeyObject, log: TaskLog): TaskHandler {
  return {
    kind: SEAL_TASK,
    set_max: 1,
    handle: async (set) => {
      for (const head of await sealAll(database, key, set.now)) {
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
      await database.transaction(async (tx) => {
        const tasks = await set.lock(tx);
        set.repeat(tx, tasks, new Date(set.now.getTime() + EVERY_MS));
      });
    },
  };
}
