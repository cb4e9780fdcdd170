import type { Catalogue } from "../catalogue/catalogue.ts";
import type { Module, ModuleCore } from "../platform/module.ts";
import type { ScreenWritten } from "./clearance.ts";
import { addFreezeRoutes } from "./freeze-routes.ts";
import { addUserRoutes } from "./routes.ts";

export function openUsersModule(
  core: ModuleCore,
  needs: { catalogue: Catalogue; screenWritten: ScreenWritten },
): Module {
  return {
    routes: (addRoute) => {
      addUserRoutes(addRoute, { ...core, ...needs });
      addFreezeRoutes(addRoute, core);
    },
  };
}
