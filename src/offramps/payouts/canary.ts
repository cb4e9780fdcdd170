import type { Rail } from "../../catalogue/rails.ts";
import type { BankPort } from "../../partners/bank/port.ts";
import type { Transaction } from "../../platform/db/database.ts";
import { minorToText } from "../../platform/money.ts";
import { STORED_PRICES } from "../../prices/price-book.ts";
import { usdValue } from "../../prices/usd-value.ts";
import type { Offramp } from "../model.ts";
import {
  insertProvenRails,
  listProvenRails,
  lockUnansweredSums,
  type ProvenRail,
} from "./canary-store.ts";

const USD_DIGITS = 2;

type CanaryDeps = { canary_usd?: bigint | undefined; bank: BankPort };

/**
 * Those of the payouts that wait because their rail is new, with what their callers are told: until
 * a bank has booked a payout of a currency and rail, what it has and has not answered is together
 * no more than the limit. A bank account that takes over a rail is new as well.
 */
export async function findCanaryWaits(
  tx: Transaction,
  { canary_usd, bank }: CanaryDeps,
  offramps: readonly Offramp[],
): Promise<ReadonlyMap<string, string>> {
  if (canary_usd === undefined || offramps.length === 0) return new Map();
  const proven = new Set((await listProvenRails(tx)).map(nameOf));
  const isProven = (offramp: Offramp) => {
    const { currency, rail } = routeOf(offramp);
    const bank_account = bank.payingAccount({ currency, rail });
    // What no account pays is answered at once, so that nothing leaves.
    return bank_account === null || proven.has(nameOf({ bank_account, currency, rail }));
  };
  const unproven = offramps.filter((offramp) => !isProven(offramp));
  if (unproven.length === 0) return new Map();
  const toUsd = await usdValue(STORED_PRICES, tx);
  const at_bank = new Map<string, bigint>();
  const has = (route: Route) => at_bank.get(routeName(route)) ?? 0n;
  for (const { amount, ...route } of await lockUnansweredSums(tx, unproven.map(routeOf))) {
    const usd = toUsd({ amount, currency: route.currency });
    at_bank.set(routeName(route), usd ?? canary_usd);
  }
  const limit = minorToText(canary_usd, USD_DIGITS);
  const waiting = new Map<string, string>();
  for (const offramp of unproven) {
    const route = routeOf(offramp);
    const usd = toUsd({ amount: offramp.destination_amount, currency: route.currency });
    if (usd !== null && has(route) + usd <= canary_usd) {
      at_bank.set(routeName(route), has(route) + usd);
      continue;
    }
    waiting.set(
      offramp.id,
      `Payouts in ${route.currency} by ${route.rail} are new here: this one is sent once the ` +
        `bank has confirmed one of at most ${limit} usd.`,
    );
  }
  return waiting;
}

/** Remembers the rails of payouts that a bank has booked, and the account that paid them. */
export function recordProvenRails(
  tx: Transaction,
  booked: readonly (Offramp & { bank_account: string | null })[],
  now: Date,
): void {
  const rails = booked.flatMap(({ bank_account, ...offramp }) =>
    bank_account === null ? [] : [{ bank_account, ...routeOf(offramp) }],
  );
  const once = new Map(rails.map((rail) => [nameOf(rail), rail]));
  // In one order: two accounts may prove the same rails at once.
  const in_order = [...once].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, rail]) => rail);
  if (in_order.length > 0) insertProvenRails(tx, in_order, now);
}

type Route = { currency: string; rail: Rail };

function routeOf({ destination_currency, rails }: Offramp): Route {
  return { currency: destination_currency, rail: rails };
}

function routeName({ currency, rail }: Route): string {
  return `${currency} ${rail}`;
}

function nameOf({ bank_account, ...route }: ProvenRail): string {
  return `${bank_account} ${routeName(route)}`;
}
