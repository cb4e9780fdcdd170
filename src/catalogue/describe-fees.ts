import { formatDecimal } from "../platform/money.ts";
import type { Fee, FeeSchedule } from "./fee-table.ts";
import { type Catalogue, minimumOf, payoutCurrencies, railsOf } from "./lookups.ts";
import type { DepositRail, Rail } from "./rails.ts";

type FeeParts = {
  basis_points: number;
  /** In usd, converted at the rates of the quote. */
  flat_usd: number;
};

export type OfframpFeeRow = FeeParts & {
  currency: string;
  rails: Rail;
  /** Null if the minimum is stated in usd. */
  minimum_amount: number | null;
  minimum_usd_equivalent: number | null;
};

type OnrampFeeRow = FeeParts & { currency: string; rails: DepositRail };

/** One row for each payout currency and rail. */
export function describeFees(catalogue: Catalogue, fees: FeeSchedule): OfframpFeeRow[] {
  return payoutCurrencies(catalogue).flatMap((currency) =>
    railsOf(catalogue, currency).map((rail) => {
      const minimum = minimumOf(catalogue, currency, rail);
      return {
        currency,
        rails: rail,
        ...partsOf(fees[rail]),
        minimum_amount: "amount" in minimum ? Number(minimum.amount) : null,
        minimum_usd_equivalent: "amount" in minimum ? null : Number(minimum.usd_equivalent),
      };
    }),
  );
}

/** One row for each onramp currency and rail. */
export function describeOnrampFees(
  { onramp_rails }: Pick<Catalogue, "onramp_rails">,
  fees: FeeSchedule,
): OnrampFeeRow[] {
  return Object.entries(onramp_rails).flatMap(([currency, rails]) =>
    rails.map((rail) => ({ currency, rails: rail, ...partsOf(fees.onramp) })),
  );
}

function partsOf({ basis_points, flat_usd }: Fee): FeeParts {
  return { basis_points, flat_usd: Number(formatDecimal(flat_usd)) };
}
