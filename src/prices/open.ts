import { readFileSync } from "node:fs";
import type { ApprovalRules } from "../approvals/with-approval.ts";
import type { Catalogue } from "../catalogue/catalogue.ts";
import { type FeeSchedule, loadFees } from "../catalogue/fees.ts";
import { openRateSource } from "../partners/rates/open-rate-source.ts";
import type { Config } from "../platform/config/config.ts";
import { MINUTE_MS } from "../platform/durations.ts";
import type { Module, ModuleCore } from "../platform/module.ts";
import { StartupError } from "../platform/startup-error.ts";
import { approvalRules } from "./approval-rules.ts";
import { addFeeRoutes } from "./fee-routes.ts";
import { rateMetrics } from "./metrics.ts";
import { openPriceBook, type PriceBook } from "./prices.ts";
import { addRateRoutes } from "./rate-routes.ts";
import { REFRESH_RATES_TASK, refreshRatesTask } from "./tasks.ts";

type PricesModule = Module & { prices: PriceBook; approvals: ApprovalRules };

export async function openPricesModule(
  core: ModuleCore,
  { catalogue }: { catalogue: Catalogue },
): Promise<PricesModule> {
  const { config, database, clock, log } = core;
  const source = openRateSource(config);
  const fees = readFees(config);
  const max_age_ms = config.rates_max_age_minutes * MINUTE_MS;
  const book_deps = { database, catalogue, source, fees, max_age_ms, log };
  const prices = await openPriceBook(book_deps, clock.now());
  return {
    prices,
    approvals: approvalRules(core, prices),
    routes: (addRoute) => {
      addRateRoutes(addRoute, { database, catalogue, clock, prices });
      addFeeRoutes(addRoute, { catalogue, fees });
    },
    tasks: [refreshRatesTask(database, prices)],
    recurring: [REFRESH_RATES_TASK],
    metrics: [rateMetrics],
  };
}

function readFees(config: Config): FeeSchedule {
  if (config.fees_file === undefined) return loadFees();
  try {
    return loadFees(readFileSync(config.fees_file, "utf8"));
  } catch (error) {
    throw new StartupError(`SLIPROAD_FEES_FILE: ${(error as Error).message}`);
  }
}
