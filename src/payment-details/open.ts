import type { Catalogue } from "../catalogue/catalogue.ts";
import type { ScreeningPort } from "../partners/screening/port.ts";
import type { Module, ModuleCore } from "../platform/module.ts";
import type { ScreenWritten } from "../users/clearance.ts";
import { INDEX_PAYEES_TASK, indexPayeesTask } from "./index-payees.ts";
import { addPaymentDetailRoutes } from "./routes.ts";

export function openPaymentDetailsModule(
  core: ModuleCore,
  needs: { catalogue: Catalogue; screening: ScreeningPort; screenWritten: ScreenWritten },
): Module {
  const { kyc_enforcement } = core.config;
  const deps = { ...core, ...needs, kyc_enforcement };
  return {
    routes: (addRoute) => addPaymentDetailRoutes(addRoute, deps),
    tasks: [indexPayeesTask(deps)],
    recurring: [INDEX_PAYEES_TASK],
  };
}
