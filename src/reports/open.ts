import type { Module, ModuleCore } from "../platform/module.ts";
import { addRecordPage } from "./page.ts";
import { addHistoryRoutes } from "./routes.ts";

export function openReportsModule(core: ModuleCore): Module {
  return {
    routes: (addRoute) => addHistoryRoutes(addRoute, core),
    pages: (server) => addRecordPage(server, core),
  };
}
