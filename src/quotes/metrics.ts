import { ageSeconds, type MetricSource } from "../platform/metrics/model.ts";
import { findLastPriceVersion, listRateChecks } from "./price-store.ts";

export const rateMetrics: MetricSource = {
  gauges: [
    {
      name: "sliproad_rate_age_seconds",
      help: "Age of the rates that quotes are priced with; absent where rates have no time.",
    },
    {
      name: "sliproad_rates_held",
      help: "Rates that moved too far to be taken without a person's confirmation.",
    },
  ],
  read: async (session, { now }) => {
    const [version, checks] = await Promise.all([
      findLastPriceVersion(session),
      listRateChecks(session),
    ]);
    const held = checks.filter(({ held_rate }) => held_rate !== null).length;
    const age = version?.as_of
      ? [{ name: "sliproad_rate_age_seconds", value: ageSeconds(version.as_of, now) }]
      : [];
    return [...age, { name: "sliproad_rates_held", value: held }];
  },
};
