import type { NetworkFees } from "./chains.ts";
import { DEFAULT_MINIMUM, type MinimumAmount, type MinimumsTable } from "./minimums.ts";
import type { Rail } from "./rails.ts";
import type { RailRequirement, RequirementsTable } from "./requirements.ts";

/** The catalogue of one installation: the shipped tables and the operator's file. */
export type Catalogue = {
  readonly rails: Readonly<Record<string, readonly Rail[]>>;
  readonly requirements: RequirementsTable;
  readonly minimums: MinimumsTable;
  readonly blocked_countries: readonly string[];
  readonly network_fees: NetworkFees;
};

/** The rails of a currency; empty for a currency that is not supported. */
export function railsOf(catalogue: Catalogue, currency: string): readonly Rail[] {
  return Object.hasOwn(catalogue.rails, currency) ? catalogue.rails[currency]! : [];
}

/** Undefined if the rail is not offered, even if a table still contains its fields. */
export function requirementOf(
  catalogue: Catalogue,
  currency: string,
  rail: Rail,
): RailRequirement | undefined {
  if (!railsOf(catalogue, currency).includes(rail)) return undefined;
  return catalogue.requirements[currency]?.[rail];
}

export function minimumOf(catalogue: Catalogue, currency: string, rail: Rail): MinimumAmount {
  const minimums = Object.hasOwn(catalogue.minimums, currency) ? catalogue.minimums[currency] : {};
  return minimums?.[rail] ?? DEFAULT_MINIMUM;
}

/** The payout currencies, in alphabetical order. */
export function payoutCurrencies(catalogue: Catalogue): string[] {
  return Object.keys(catalogue.rails);
}

export function isBlockedCountry(catalogue: Catalogue, alpha2: string): boolean {
  return catalogue.blocked_countries.includes(alpha2);
}
