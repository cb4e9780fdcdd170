import type { FileStore } from "../partners/files/file-store.ts";
import type { Module, ModuleCore } from "../platform/module.ts";
import { addExportRoutes } from "./exports/routes.ts";
import { exportTasks } from "./exports/write-exports.ts";
import { addLedgerRoutes } from "./ledger-routes.ts";
import { addHistoryRoutes } from "./routes.ts";
import { SUM_LEDGER_TASK, sumLedgerTask } from "./sum-ledger.ts";

export function openReportsModule(core: ModuleCore, needs: { files: FileStore }): Module {
  const deps = { ...core, ...needs };
  return {
    routes: (addRoute) => {
      addHistoryRoutes(addRoute, core);
      addLedgerRoutes(addRoute, core);
      addExportRoutes(addRoute, deps);
    },
    tasks: [...exportTasks(deps), sumLedgerTask(core.database)],
    recurring: [SUM_LEDGER_TASK],
  };
}
