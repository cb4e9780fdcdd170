import { controlledChangeTask } from "../approvals/controlled-change.ts";
import type { Module, ModuleCore } from "../platform/module.ts";
import type { PriceVersions } from "../prices/price-book.ts";
import { limitChange } from "./change-limits.ts";
import { type LimitDeps, openLimitDeps } from "./load-limits.ts";
import { addLimitRoutes } from "./routes.ts";

/** How much may leave; later modules check it where they commit money. */
export function openLimitsModule(
  core: ModuleCore,
  { prices }: { prices: PriceVersions },
): Module & { limits: LimitDeps } {
  const limits = openLimitDeps(prices, () => core.clock.now());
  return {
    limits,
    routes: (addRoute) => addLimitRoutes(addRoute, { ...core, limits }),
    tasks: [controlledChangeTask(core, limitChange)],
  };
}
