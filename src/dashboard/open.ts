import type { Module, ModuleCore } from "../platform/module.ts";
import { addNamesRoute } from "./names-routes.ts";
import { addDashboardShell } from "./shell.ts";

/** The page that members see and steer everything with, and the reads that only it needs. */
export function openDashboardModule(core: ModuleCore): Module {
  return {
    routes: (addRoute) => addNamesRoute(addRoute, core),
    pages: (server) => addDashboardShell(server, core),
  };
}
