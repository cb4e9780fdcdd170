import { CHAINS, TOKENS } from "./chains.ts";
import type { Catalogue, ChainTokens } from "./lookups.ts";
import { MINIMUMS } from "./minimums.ts";
import { parseOverride } from "./override.ts";
import { CURRENCY_RAILS, type DepositRail, ONRAMP_RAILS, RAILS, type Rail } from "./rails.ts";
import { REQUIREMENTS } from "./requirements.ts";

export * from "./describe-requirements.ts";
export * from "./lookups.ts";

/**
 * The shipped tables, overridden by the operator's file (JSON text): `rails` replaces the rails of
 * a currency (an empty list withdraws it), `requirements` and `minimums` replace one currency and
 * rail each, `network_fees` that of a chain, `blocked_countries` replaces the list. Throws one
 * sentence about the first error, so that the process stops instead of using half a table.
 */
export function loadCatalogue(override_json_text = "{}"): Catalogue {
  const override = parseOverride(override_json_text);
  const rails = { ...CURRENCY_RAILS, ...override.rails };
  const requirements = mergeByCurrency(REQUIREMENTS, override.requirements);
  const minimums = mergeByCurrency(MINIMUMS, override.minimums);
  assertServed(rails, "requirements", override.requirements);
  assertServed(rails, "minimums", override.minimums);
  for (const [currency, offered] of Object.entries(rails)) {
    const missing = offered.find((rail) => !requirements[currency]?.[rail]);
    if (missing) {
      throw new Error(
        `The catalogue override offers ${missing} for ${currency} in rails, ` +
          `but requirements.${currency}.${missing} is missing.`,
      );
    }
  }
  return deepFreeze({
    ...override,
    ...{ rails: sortRails(rails), requirements, minimums },
    ...{ networks: {}, tokens: ALL_TOKENS, onramp_rails: ONRAMP_RAILS },
  });
}

const ALL_TOKENS = Object.fromEntries(
  CHAINS.map((chain) => [chain, TOKENS]),
) as unknown as ChainTokens;

/** What the adapters of an installation can do. */
export type Served = Pick<Catalogue, "tokens" | "networks"> & {
  pays(currency: string, rail: Rail): boolean;
  receives(currency: string, rail: DepositRail): boolean;
};

/** The catalogue without what no adapter serves: a currency without rails is not offered. */
export function narrowCatalogue(catalogue: Catalogue, served: Served): Catalogue {
  const narrow = <Name extends string>(
    rails: Readonly<Record<string, readonly Name[]>>,
    isServed: (currency: string, rail: Name) => boolean,
  ) =>
    Object.fromEntries(
      Object.entries(rails)
        .map(([code, all]) => [code, all.filter((rail) => isServed(code, rail))] as const)
        .filter(([, left]) => left.length > 0),
    );
  return deepFreeze({
    ...catalogue,
    rails: narrow(catalogue.rails, served.pays),
    onramp_rails: narrow(catalogue.onramp_rails, served.receives),
    tokens: served.tokens,
    networks: served.networks,
  });
}

type ByCurrency<T> = Readonly<Record<string, Readonly<Partial<Record<Rail, T>>>>>;

function mergeByCurrency<T>(shipped: ByCurrency<T>, override: ByCurrency<T>): ByCurrency<T> {
  const merged: Record<string, Readonly<Partial<Record<Rail, T>>>> = { ...shipped };
  for (const [currency, rows] of Object.entries(override)) {
    merged[currency] = { ...merged[currency], ...rows };
  }
  return merged;
}

// A row for a rail that is not offered would never be read: most likely a typo.
function assertServed(
  rails: Catalogue["rails"],
  table: "requirements" | "minimums",
  override: ByCurrency<unknown>,
): void {
  for (const [currency, rows] of Object.entries(override)) {
    for (const rail of Object.keys(rows)) {
      if (rails[currency]?.includes(rail as Rail)) continue;
      throw new Error(
        `The catalogue override has ${table}.${currency}.${rail}, ` +
          `but ${rail} is not offered for ${currency}; add it to rails.${currency}.`,
      );
    }
  }
}

function sortRails(rails: Catalogue["rails"]): Catalogue["rails"] {
  const served = Object.entries(rails).filter(([, offered]) => offered.length > 0);
  served.sort(([a], [b]) => (a < b ? -1 : 1));
  const in_order = (offered: readonly Rail[]) => RAILS.filter((rail) => offered.includes(rail));
  return Object.fromEntries(served.map(([currency, offered]) => [currency, in_order(offered)]));
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const part of Object.values(value)) deepFreeze(part);
  return value;
}
