import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import type { MetricSource } from "../../platform/metrics/model.ts";
import type { Module } from "../../platform/module.ts";
import { recurringTask } from "../../platform/tasks/recurring-task.ts";
import type { TaskLog } from "../../platform/tasks/task-log.ts";
import { listOpenHolds } from "./hold-store.ts";
import { createLeavingGate, type LeavingGate } from "./leaving-gate.ts";
import { openRestoreFile } from "./restore-file.ts";

type HoldDeps = {
  database: Database;
  clock: Clock;
  /** Of the file outside the database; undefined: restores are not noticed. */
  restore_check_file: string | undefined;
  installation_id: string;
  isSaidHeld(): Promise<boolean>;
};

const CHECK_TASK = "check-restored";
const CHECKED_EVERY_MS = 5_000;

type OpenedHold = { gate: LeavingGate; openModule(log: TaskLog): Module };

/** Opens what decides whether money may leave. An old copy of the database is noticed here. */
export async function openHold(deps: HoldDeps): Promise<OpenedHold> {
  const { database, clock, restore_check_file: path, isSaidHeld } = deps;
  const file = path === undefined ? null : openRestoreFile(path, deps.installation_id);
  const gate = createLeavingGate({ database, clock, file, isSaidHeld });
  const noticed = await gate.checkRestored();
  const warn = (log: TaskLog, reason: string | null) => {
    if (reason !== null) log.error({ reason }, "payouts are on hold");
  };
  return {
    gate,
    openModule: (log) => {
      warn(log, noticed);
      return {
        tasks: [
          recurringTask(database, CHECK_TASK, CHECKED_EVERY_MS, async () =>
            warn(log, await gate.checkRestored()),
          ),
        ],
        recurring: [CHECK_TASK],
        metrics: [HOLD_METRICS],
        notices: async (session) =>
          (await listOpenHolds(session)).length > 0 || (await isSaidHeld())
            ? ["Payouts are on hold; see sliproad payouts status."]
            : [],
      };
    },
  };
}

const HOLD_METRICS: MetricSource = {
  gauges: [
    {
      name: "sliproad_payouts_held",
      help: "1 while payouts are on hold, by reason: operator or restore.",
      label: "kind",
    },
  ],
  read: async (session) => {
    const open = await listOpenHolds(session);
    return (["operator", "restore"] as const).map((kind) => ({
      name: "sliproad_payouts_held",
      label: kind,
      value: open.some((hold) => hold.kind === kind) ? 1 : 0,
    }));
  },
};
