import type { Module, ModuleCore } from "../platform/module.ts";
import { addRetentionRoutes } from "./routes.ts";
import { DELETE_BANK_DETAILS_TASK, DELETE_DOCUMENTS_TASK, retentionTasks } from "./tasks.ts";

export function openRetentionModule(core: ModuleCore): Module {
  const { retention_years } = core.config;
  const deps = { ...core, retention_years };
  return {
    routes: (addRoute) => addRetentionRoutes(addRoute, deps),
    tasks: retentionTasks(deps),
    recurring: [DELETE_DOCUMENTS_TASK, DELETE_BANK_DETAILS_TASK],
  };
}
