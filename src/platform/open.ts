import { TRIM_ATTEMPTS_TASK, trimAttemptsTask } from "./attempts/tasks.ts";
import { TRIM_COMMANDS_TASK, trimCommandsTask } from "./commands/tasks.ts";
import type { Module, ModuleCore } from "./module.ts";
import { signingKey } from "./sealing/seal.ts";
import { signingSeed } from "./sealing/signing-seed.ts";
import { SEAL_TASK, sealTask } from "./sealing/tasks.ts";
import { taskMetrics } from "./tasks/task-metrics.ts";

export function openPlatformModule({ config, database, clock, log }: ModuleCore): Module {
  return {
    tasks: [
      sealTask(database, signingKey(signingSeed(config)), log),
      trimCommandsTask(database, clock),
      trimAttemptsTask(database, clock),
    ],
    recurring: [SEAL_TASK, TRIM_COMMANDS_TASK, TRIM_ATTEMPTS_TASK],
    metrics: [taskMetrics],
  };
}
