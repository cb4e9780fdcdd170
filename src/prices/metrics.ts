import { ageSeconds, type MetricSource } from "../platform/metrics/model.ts";
import { findLastPriceVersion, listRateChecks } from "./store.ts";

export const rateMetrics: MetricSource = {
  gauges: [
    {
      name: "sliproad_rate_age_seconds",
      help: "Age of the rates used for quotes; absent if rates have no time.",
    },
    {
      name: "sliproad_rates_held",
      help: "Rates that changed too much and wait for an operator's confirmation.",
    },
    {
      name: "sliproad_currencies_stopped",
      help: "Currencies that are not quoted because the exposure is above its maximum.",
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
    const { offramps = [], onramps = [] } = version?.stopped ?? {};
    return [
      ...age,
      { name: "sliproad_rates_held", value: held },
      { name: "sliproad_currencies_stopped", value: offramps.length + onramps.length },
    ];
  },
};
