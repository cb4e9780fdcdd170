import type { Module, ModuleCore } from "../platform/module.ts";
import type { DashboardDeps } from "./load-dashboard.ts";
import { addAccountPages } from "./routes.ts";

/** Later modules provide their part of the dashboard in `later`. */
export function openAccountsModule(
  core: ModuleCore,
  later: Pick<DashboardDeps, "existsPendingProposal" | "listApps">,
): Module {
  return { pages: (server) => addAccountPages(server, { ...core, ...later }) };
}
