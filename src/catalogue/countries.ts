import { iso31661 } from "iso-3166";

const COUNTRIES: ReadonlySet<string> = new Set(iso31661.map((country) => country.alpha2));

/** Whether an upper-case code is an assigned ISO 3166-1 alpha-2 code (XK is not one). */
export function isCountry(alpha2: string): boolean {
  return COUNTRIES.has(alpha2);
}

/** The common name; for an unknown code, the code itself. */
export function countryName(alpha2: string): string {
  return iso31661.find((country) => country.alpha2 === alpha2)?.name ?? alpha2;
}

/**
 * Countries whose payers and payees are not served, unless the operator's file replaces the list.
 */
export const BLOCKED_COUNTRIES: readonly string[] = [
  ...["AF", "BY", "BA", "BI", "CF", "CU", "KP", "CD", "ET", "GT", "GN", "GW", "HT", "IR", "IQ"],
  ...["LB", "LY", "ML", "MM", "NI", "NE", "RU", "SO", "SS", "SD", "SY", "TN", "VE", "YE", "ZW"],
];
