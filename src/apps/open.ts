import type { Module, ModuleCore } from "../platform/module.ts";
import { addOauth } from "./oauth/routes.ts";
import { SWEEP_OAUTH_TASK, sweepOauthTask } from "./oauth/tasks.ts";

export function openAppsModule(core: ModuleCore): Module {
  return {
    routes: (addRoute, server) => addOauth(server, addRoute, core),
    tasks: [sweepOauthTask(core.database, core.clock)],
    recurring: [SWEEP_OAUTH_TASK],
  };
}
