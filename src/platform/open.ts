import { TRIM_ATTEMPTS_TASK, trimAttemptsTask } from "./attempts/tasks.ts";
import { TRIM_COMMANDS_TASK, trimCommandsTask } from "./commands/tasks.ts";
import type { Module, ModuleCore } from "./module.ts";
import { addSecurityTxt } from "./pages/security-txt.ts";
import { TRIM_REQUESTS_TASK, trimRequestsTask } from "./request-log/tasks.ts";
import { rejectedMetrics, rejectedNotices } from "./sealing/rejected-entries.ts";
import { signingKey } from "./sealing/seal.ts";
import { signingSeed } from "./sealing/signing-seed.ts";
import { type OnSealed, SEAL_TASK, sealTask } from "./sealing/tasks.ts";
import { taskMetrics } from "./tasks/task-metrics.ts";

export function openPlatformModule(
  { config, database, clock, log }: ModuleCore,
  onSealed?: OnSealed,
): Module {
  const { security_contacts, public_url } = config;
  return {
    pages: (server) => addSecurityTxt(server, { security_contacts, public_url, clock }),
    tasks: [
      sealTask(database, signingKey(signingSeed(config)), log, onSealed),
      trimCommandsTask(database, clock),
      trimAttemptsTask(database, clock),
      trimRequestsTask({ database, clock, days: config.request_log_days }),
    ],
    recurring: [SEAL_TASK, TRIM_COMMANDS_TASK, TRIM_ATTEMPTS_TASK, TRIM_REQUESTS_TASK],
    metrics: [taskMetrics, rejectedMetrics],
    notices: rejectedNotices,
  };
}
