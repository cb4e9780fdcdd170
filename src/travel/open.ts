import type { LimitDeps } from "../limits/load-limits.ts";
import type { Module, ModuleCore } from "../platform/module.ts";
import type { TravelDeps } from "./record-travel.ts";
import { addTravelRoutes } from "./routes.ts";

type TravelModule = Module & {
  /** What records the transfers of later modules. */
  travel: TravelDeps;
};

export function openTravelModule(core: ModuleCore, needs: { limits: LimitDeps }): TravelModule {
  return {
    travel: openTravelDeps(core, needs.limits),
    routes: (addRoute) => addTravelRoutes(addRoute, core),
  };
}

export function openTravelDeps(
  { config, keyring }: Pick<ModuleCore, "config" | "keyring">,
  limits: LimitDeps,
): TravelDeps {
  const { travel_rule_above_usd, vasp_name, vasp_lei, vasp_country } = config;
  const vasp = { name: vasp_name, lei: vasp_lei, country: vasp_country };
  return { keyring, limits, travel_rule_above_usd, vasp };
}
