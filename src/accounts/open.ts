import type { Module, ModuleCore } from "../platform/module.ts";
import type { DashboardDeps } from "./load-dashboard.ts";
import { addAccountPages } from "./routes.ts";

/** What the dashboard shows of later modules is asked of them. */
export function openAccountsModule(
  core: ModuleCore,
  later: Pick<DashboardDeps, "existsPendingProposal" | "listApps">,
): Module {
  return { pages: (server) => addAccountPages(server, { ...core, ...later }) };
}
