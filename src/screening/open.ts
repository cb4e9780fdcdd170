import type { ScreeningPort } from "../partners/screening/port.ts";
import type { Module, ModuleCore } from "../platform/module.ts";
import type { ScreenUsers } from "../users/clearance.ts";
import { screeningMetrics } from "./metrics.ts";
import { addScreeningPages } from "./page-routes.ts";
import { addScreeningRoutes } from "./routes.ts";
import { screenUsers } from "./screen-users.ts";
import {
  RELOAD_EVERY_MS,
  RESCREEN_TASK,
  recordLists,
  rescreenTask,
  screenUserTask,
} from "./tasks.ts";

type ScreeningModule = Module & { screenUsers: ScreenUsers };

export async function openScreeningModule(
  core: ModuleCore,
  { screening }: { screening: ScreeningPort },
): Promise<ScreeningModule> {
  const deps = { ...core, screening };
  await recordLists(deps, core.clock.now());
  // Every process compares with its own copy; the worker's task alone records which one is in use.
  const reloading = screening.lists() && setInterval(() => screening.reload(), RELOAD_EVERY_MS);
  reloading?.unref();
  return {
    screenUsers: (users) => screenUsers(deps, users),
    routes: (addRoute) => addScreeningRoutes(addRoute, deps),
    pages: (server) => addScreeningPages(server, deps),
    tasks: [rescreenTask(deps), screenUserTask(deps)],
    recurring: [RESCREEN_TASK],
    metrics: [screeningMetrics],
    close: async () => {
      if (reloading) clearInterval(reloading);
    },
  };
}
