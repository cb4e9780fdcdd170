import type { Rail } from "./rails.ts";

/** Decimal text in the currency itself, or in usd, which the caller converts. */
export type MinimumAmount = { amount: string } | { usd_equivalent: string };

export type MinimumsTable = Readonly<
  Record<string, Readonly<Partial<Record<Rail, MinimumAmount>>>>
>;

/** The minimum of every currency and rail that is not in the table. */
export const DEFAULT_MINIMUM: MinimumAmount = { usd_equivalent: "1" };

/** The minimum destination_amount; an amount equal to it is accepted. */
export const MINIMUMS: MinimumsTable = {
  usd: { local: { amount: "1" }, swift: { amount: "30" }, wire: { amount: "1" } },
  eur: { local: { amount: "1" }, swift: { amount: "30" } },
  gbp: { local: { amount: "20" }, swift: { amount: "20" } },
  aed: { swift: { amount: "100" } },
  aud: { swift: { amount: "40" } },
  cad: { swift: { amount: "40" } },
  chf: { swift: { amount: "40" } },
  cny: { swift: { amount: "200" } },
  hkd: { swift: { amount: "100" } },
  idr: { swift: { amount: "500000" } },
  inr: { swift: { amount: "2000" } },
  jpy: { swift: { amount: "3000" } },
  kes: { local: { amount: "4000" } },
  krw: { swift: { amount: "40000" } },
  mxn: { local: { amount: "400" } },
  myr: { swift: { amount: "150" } },
  ngn: { local: { amount: "1" } },
  nzd: { swift: { amount: "50" } },
  php: { swift: { amount: "2000" } },
  sek: { swift: { amount: "250" } },
  sgd: { swift: { amount: "40" } },
  thb: { swift: { amount: "1000" } },
};
