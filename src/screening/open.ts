import type { ScreeningPort } from "../partners/screening/port.ts";
import { createFairTurns } from "../platform/commands/fair-turns.ts";
import type { Module, ModuleCore } from "../platform/module.ts";
import type { ScreenUsers, ScreenWritten } from "../users/clearance.ts";
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

/** Each uses a connection, and the thread that answers requests. */
const SCREENED_AT_ONCE_MAX = 4;

type ScreeningModule = Module & { screenUsers: ScreenUsers; screenWritten: ScreenWritten };

export async function openScreeningModule(
  core: ModuleCore,
  { screening }: { screening: ScreeningPort },
): Promise<ScreeningModule> {
  const deps = { ...core, screening };
  const inTurn = createFairTurns(SCREENED_AT_ONCE_MAX);
  await recordLists(deps, core.clock.now());
  // Every process compares with its own copy; the worker's task alone records which one is in use.
  const reloading = screening.lists() && setInterval(() => screening.reload(), RELOAD_EVERY_MS);
  reloading?.unref();
  const screenNow: ScreenUsers = async (users) => {
    const [first] = users;
    if (first) await inTurn(first.account_id, () => screenUsers(deps, users));
  };
  return {
    screenUsers: screenNow,
    screenWritten: async (user) => {
      await screenNow([user]).catch((error: Error) => {
        core.log.warn({ ...user, err: error }, "a user is screened later, and on hold until then");
      });
    },
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
