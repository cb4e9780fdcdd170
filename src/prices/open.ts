import type { ApprovalRules } from "../approvals/with-approval.ts";
import type { Catalogue } from "../catalogue/catalogue.ts";
import type { FeeSchedule } from "../catalogue/fee-table.ts";
import { openRateSource, openTokenRateSource } from "../partners/rates/open-rate-source.ts";
import type { Module, ModuleCore } from "../platform/module.ts";
import { approvalRules } from "./approval-rules.ts";
import { addExposureRoutes } from "./exposure-routes.ts";
import { addFeeRoutes } from "./fee-routes.ts";
import { rateMetrics } from "./metrics.ts";
import { readFees, readMarketRisk } from "./operator-files.ts";
import { openPriceBook, type PriceBook } from "./price-book.ts";
import { addRateRoutes } from "./rate-routes.ts";
import {
  CHECK_EXPOSURE_TASK,
  checkExposureTask,
  REFRESH_RATES_TASK,
  refreshRatesTask,
} from "./tasks.ts";

type PricesModule = Module & {
  prices: PriceBook;
  approvals: ApprovalRules;
  fees: FeeSchedule;
};

export async function openPricesModule(
  core: ModuleCore,
  { catalogue }: { catalogue: Catalogue },
): Promise<PricesModule> {
  const { config, database, clock, log } = core;
  const source = openRateSource(config);
  const token_source = openTokenRateSource(config);
  const fees = readFees(config);
  const risk = readMarketRisk(config);
  const book_deps = { database, catalogue, source, token_source, fees, risk, log };
  const prices = await openPriceBook(book_deps, clock.now());
  return {
    prices,
    fees,
    approvals: approvalRules(core, prices),
    routes: (addRoute) => {
      addRateRoutes(addRoute, { database, catalogue, clock, prices });
      addFeeRoutes(addRoute, { catalogue, fees });
      addExposureRoutes(addRoute, { ...core, prices, risk });
    },
    tasks: [refreshRatesTask(database, prices), checkExposureTask({ database, prices, risk, log })],
    recurring: [REFRESH_RATES_TASK, CHECK_EXPOSURE_TASK],
    metrics: [rateMetrics],
  };
}
