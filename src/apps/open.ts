import type { GuardedSender } from "../partners/outbound-http/guarded-sender.ts";
import type { Module, ModuleCore } from "../platform/module.ts";
import { addOauth } from "./oauth/routes.ts";
import { SWEEP_OAUTH_TASK, sweepOauthTask } from "./oauth/tasks.ts";
import { addAppRoutes } from "./routes.ts";

export function openAppsModule(core: ModuleCore, { sender }: { sender: GuardedSender }): Module {
  const app_rules = { mode: core.mode, refuseUrl: sender.refuse };
  const deps = { ...core, app_rules };
  return {
    routes: (addRoute, server) => {
      addOauth(server, addRoute, core);
      addAppRoutes(addRoute, deps);
    },
    tasks: [sweepOauthTask(core.database, core.clock)],
    recurring: [SWEEP_OAUTH_TASK],
  };
}
