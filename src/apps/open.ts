import type { GuardedSender } from "../partners/outbound-http/guarded-sender.ts";
import type { Module, ModuleCore } from "../platform/module.ts";
import { addOauth } from "./oauth/routes.ts";
import { SWEEP_OAUTH_TASK, sweepOauthTask } from "./oauth/tasks.ts";
import { addAppRoutes } from "./routes.ts";
import type { SkipDeliveries } from "./update-apps.ts";

export function openAppsModule(
  core: ModuleCore,
  { sender, skipDeliveries }: { sender: GuardedSender; skipDeliveries: SkipDeliveries },
): Module {
  const app_rules = { mode: core.mode, refuseUrl: sender.refuse };
  const deps = { ...core, app_rules, skipDeliveries };
  return {
    routes: (addRoute, server) => {
      addOauth(server, addRoute, core);
      addAppRoutes(addRoute, deps);
    },
    tasks: [sweepOauthTask(core.database, core.clock)],
    recurring: [SWEEP_OAUTH_TASK],
  };
}
