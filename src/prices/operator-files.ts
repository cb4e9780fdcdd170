import { readFileSync } from "node:fs";
import { type FeeSchedule, loadFees } from "../catalogue/fee-table.ts";
import { loadMarketRisk, type MarketRisk } from "../catalogue/market-risk.ts";
import type { Config } from "../platform/config/config.ts";
import { StartupError } from "../platform/startup-error.ts";

export function readMarketRisk(config: Pick<Config, "market_risk_file">): MarketRisk {
  return readFile("SLIPROAD_MARKET_RISK_FILE", config.market_risk_file, loadMarketRisk);
}

export function readFees(config: Pick<Config, "fees_file">): FeeSchedule {
  return readFile("SLIPROAD_FEES_FILE", config.fees_file, loadFees);
}

/** Reads a file of the operator's; without one, `load` gives the defaults. */
function readFile<Value>(
  setting: string,
  path: string | undefined,
  load: (json_text?: string) => Value,
): Value {
  try {
    return load(path === undefined ? undefined : readFileSync(path, "utf8"));
  } catch (error) {
    throw new StartupError(`${setting}: ${(error as Error).message}`);
  }
}
