import { CHAINS, type Chain, type NetworkFees, TOKENS, type Token } from "./chains.ts";
import { DEFAULT_MINIMUM, type MinimumAmount, type MinimumsTable } from "./minimums.ts";
import type { DepositRail, Rail } from "./rails.ts";
import type { RailRequirement, RequirementsTable } from "./requirements.ts";
import { lowerAscii, textOf } from "./text.ts";

/** The tokens of each chain; a chain without any is not offered. */
export type ChainTokens = Readonly<Record<Chain, readonly Token[]>>;

/** The catalogue of one installation: the shipped tables and the operator's file. */
export type Catalogue = {
  readonly rails: Readonly<Record<string, readonly Rail[]>>;
  readonly requirements: RequirementsTable;
  readonly minimums: MinimumsTable;
  readonly blocked_countries: readonly string[];
  readonly network_fees: NetworkFees;
  /** The networks that the chains are, in live mode: a transfer of another one pays nothing. */
  readonly networks: Readonly<Partial<Record<Chain, string>>>;
  /** The tokens that users deposit. */
  readonly tokens: ChainTokens;
  /** The currencies that onramps accept, with their rails. */
  readonly onramp_rails: Readonly<Record<string, readonly DepositRail[]>>;
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

/** The chains on which deposits are offered, in display order. */
export function chainsOf({ tokens }: Pick<Catalogue, "tokens">): readonly Chain[] {
  return CHAINS.filter((chain) => tokens[chain].length > 0);
}

/** The tokens of the chain that was named; if it is not offered, those of any chain. */
export function tokensOn(catalogue: Pick<Catalogue, "tokens">, named: unknown): readonly Token[] {
  const chain = chainsOf(catalogue).find((known) => known === lowerAscii(textOf(named)));
  return chain ? catalogue.tokens[chain] : tokensOf(catalogue);
}

/** The tokens that some chain offers, in display order. */
export function tokensOf({ tokens }: Pick<Catalogue, "tokens">): readonly Token[] {
  return TOKENS.filter((token) => CHAINS.some((chain) => tokens[chain].includes(token)));
}

/** The rails on which an onramp accepts a currency; none if it does not. */
export function onrampRailsOf(catalogue: Catalogue, currency: string): readonly DepositRail[] {
  const { onramp_rails } = catalogue;
  return Object.hasOwn(onramp_rails, currency) ? onramp_rails[currency]! : [];
}
