import type { Catalogue } from "../catalogue/catalogue.ts";
import type { Module, ModuleCore } from "../platform/module.ts";
import { INDEX_PAYEES_TASK, indexPayeesTask } from "./index-payees.ts";
import { addPaymentDetailRoutes } from "./routes.ts";

export function openPaymentDetailsModule(
  core: ModuleCore,
  { catalogue }: { catalogue: Catalogue },
): Module {
  const { kyc_enforcement } = core.config;
  const deps = { ...core, catalogue, kyc_enforcement };
  return {
    routes: (addRoute) => addPaymentDetailRoutes(addRoute, deps),
    tasks: [indexPayeesTask(deps)],
    recurring: [INDEX_PAYEES_TASK],
  };
}
