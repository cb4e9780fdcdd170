import { deleteExpiredOutbox } from "../../partners/mail/sandbox-store.ts";
import { MINUTE_MS } from "../../platform/durations.ts";
import type { ModuleCore } from "../../platform/module.ts";
import { realTime } from "../../platform/tasks/real-time.ts";
import { recurringTask } from "../../platform/tasks/recurring-task.ts";
import type { TaskHandler } from "../../platform/tasks/run-set.ts";
import { deleteExpiredChallenges } from "../passkeys/store.ts";
import { deleteExpiredLinks } from "./password-store.ts";

export const TRIM_SIGN_IN_TASK = "trim-sign-in";
const EVERY_MS = 10 * MINUTE_MS;

/** Deletes links and challenges that have expired, and the sandbox's mail that contains links. */
export function trimSignInTask({
  database,
  clock,
}: Pick<ModuleCore, "database" | "clock">): TaskHandler {
  return recurringTask(database, TRIM_SIGN_IN_TASK, EVERY_MS, async () => {
    const now = realTime(clock);
    await deleteExpiredLinks(database, now);
    await deleteExpiredChallenges(database, now);
    await deleteExpiredOutbox(database, now);
  });
}
