import type { MarketRisk } from "../catalogue/market-risk.ts";
import type { Session } from "../platform/db/database.ts";
import { type Exposure, listExposures } from "./exposure-store.ts";
import type { PriceVersions } from "./price-book.ts";
import type { Stopped } from "./store.ts";
import { usdValue } from "./usd-value.ts";

export type ExposureDeps = { prices: PriceVersions; risk: MarketRisk };

type ValuedExposure = Exposure & {
  /** In cents, without sign; null if there is no rate. */
  usd: bigint | null;
  /** In cents; null without a maximum. */
  usd_max: bigint | null;
};

export async function readExposures(
  session: Session,
  { prices, risk }: ExposureDeps,
): Promise<ValuedExposure[]> {
  const [exposures, toUsd] = await Promise.all([listExposures(session), usdValue(prices, session)]);
  return exposures.map(({ currency, amount }) => ({
    currency,
    amount,
    usd: toUsd({ amount: amount < 0n ? -amount : amount, currency }),
    usd_max: risk.exposureMaxOf(currency),
  }));
}

/**
 * Which currencies are not quoted. Offramps stop where we have to buy too much of a currency,
 * onramps where we have too much of it: the other direction reduces the exposure.
 */
export function stoppedBy(exposures: readonly ValuedExposure[]): Stopped {
  const over = exposures.filter(
    ({ usd, usd_max }) => usd_max !== null && (usd === null || usd >= usd_max),
  );
  const codesOf = (list: readonly ValuedExposure[]) => list.map(({ currency }) => currency);
  return {
    offramps: codesOf(over.filter(({ amount }) => amount > 0n)),
    onramps: codesOf(over.filter(({ amount }) => amount < 0n)),
  };
}
