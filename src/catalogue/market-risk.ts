import { parseAmount } from "../platform/money.ts";
import { CURRENCIES } from "./currencies.ts";
import { operatorFile } from "./operator-file.ts";

/** What the operator charges and accepts for the risk that rates change. */
export type MarketRisk = {
  /** By which the quoted rate is worse for the customer than the source's, by currency. */
  spreadOf(currency: string): number;
  /** In cents. Above it, the currency is not quoted; null without a maximum. */
  exposureMaxOf(currency: string): bigint | null;
};

const SPREAD_MAX = 1_000;
const KEYS = ["spread_basis_points", "exposure_max_usd"];
const DEFAULT = "default";
const FILE = operatorFile("The market risk file");

/** From the operator's file (JSON text); without one there is no spread and no maximum. */
export function loadMarketRisk(json_text = "{}"): MarketRisk {
  const file = FILE.parse(json_text, KEYS);
  const spreads = byCurrency(file, "spread_basis_points", asSpread);
  const maximums = byCurrency(file, "exposure_max_usd", asUsd);
  return {
    spreadOf: (currency) => spreads.get(currency) ?? spreads.get(DEFAULT) ?? 0,
    exposureMaxOf: (currency) => maximums.get(currency) ?? maximums.get(DEFAULT) ?? null,
  };
}

function byCurrency<Value>(
  file: Record<string, unknown>,
  name: string,
  read: (value: unknown, path: string) => Value,
): Map<string, Value> {
  const rows = Object.entries(FILE.asObject(file[name] ?? {}, name)).map(([currency, value]) => {
    const path = `${name}.${currency}`;
    if (currency !== DEFAULT && !CURRENCIES.has(currency)) {
      throw FILE.wrong(path, `must be a lowercase ISO 4217 code or ${DEFAULT}`);
    }
    return [currency, read(value, path)] as const;
  });
  return new Map(rows);
}

function asSpread(value: unknown, path: string): number {
  const number = value as number;
  if (Number.isInteger(number) && number >= 0 && number <= SPREAD_MAX) return number;
  throw FILE.wrong(path, `must be a whole number from 0 to ${SPREAD_MAX}`);
}

/** Text, because a JSON number may differ from what the file says. */
function asUsd(value: unknown, path: string): bigint {
  const cents = typeof value === "string" ? parseAmount(value, 2) : null;
  if (cents && "value" in cents) return cents.value;
  throw FILE.wrong(path, 'must be an amount as text, such as "250000"');
}
