import type { PAYOUT_CURRENCIES } from "./currencies.ts";

/** In display order. */
export const RAILS = ["local", "swift", "wire"] as const;
export type Rail = (typeof RAILS)[number];

/** The rail of a payment detail without one. */
export const DEFAULT_RAIL: Rail = "local";

/** US domestic wire; no other country's scheme has this name. */
export const WIRE_CURRENCY = "usd";

export type PayoutCurrency = (typeof PAYOUT_CURRENCIES)[number];

/** The rails that receive fiat for an onramp. */
export const DEPOSIT_RAILS = ["ach_push", "wire", "local"] as const;
export type DepositRail = (typeof DEPOSIT_RAILS)[number];

/** The currencies that onramps accept, with their rails. */
export const ONRAMP_RAILS: Readonly<Record<string, readonly DepositRail[]>> = {
  usd: ["ach_push", "wire"],
  eur: ["local"],
};

/** The rails of each payout currency by default. */
export const CURRENCY_RAILS: Readonly<Record<PayoutCurrency, readonly Rail[]>> = {
  ...offer(["local", "swift", "wire"], ["usd"]),
  ...offer(["local", "swift"], ["dzd", "eur", "gbp", "mad", "tnd"]),
  ...offer(
    ["local"],
    [
      ...(["ars", "bob", "brl", "clp", "cop", "crc", "dop", "ghs", "gtq", "hnl", "kes"] as const),
      ...(["mxn", "mzn", "ngn", "pen", "pyg", "ugx", "uyu", "zar"] as const),
    ],
  ),
  ...offer(
    ["swift"],
    [
      ...(["aed", "aud", "cad", "chf", "cny", "czk", "dkk", "egp", "hkd", "idr", "ils"] as const),
      ...(["inr", "jpy", "krw", "myr", "nok", "nzd", "php", "pln", "ron", "sek", "sgd"] as const),
      ...(["thb", "try", "vnd", "xaf", "xof"] as const),
    ],
  ),
};

export function isRail(text: string): text is Rail {
  return (RAILS as readonly string[]).includes(text);
}

function offer<const Code extends PayoutCurrency>(
  rails: readonly Rail[],
  currencies: readonly Code[],
): Record<Code, readonly Rail[]> {
  return Object.fromEntries(currencies.map((code) => [code, rails])) as Record<
    Code,
    readonly Rail[]
  >;
}
