import type { Rail } from "../../catalogue/rails.ts";
import type { Transaction } from "../../platform/db/database.ts";
import { minorToText } from "../../platform/money.ts";
import { STORED_PRICES } from "../../prices/price-book.ts";
import { usdValue } from "../../prices/usd-value.ts";
import type { Offramp } from "../model.ts";
import { insertProvenRails, listProvenRails } from "./canary-store.ts";

const USD_DIGITS = 2;

type Route = { currency: string; rail: Rail };

/**
 * Those of the payouts that wait because their rail is new, with what their callers are told: until
 * a bank has booked one payout of a currency and rail, larger ones than the limit wait.
 */
export async function findCanaryWaits(
  tx: Transaction,
  canary_usd: bigint | undefined,
  offramps: readonly Offramp[],
): Promise<ReadonlyMap<string, string>> {
  if (canary_usd === undefined || offramps.length === 0) return new Map();
  const proven = new Set((await listProvenRails(tx)).map(nameOf));
  const unproven = offramps.filter((offramp) => !proven.has(nameOf(routeOf(offramp))));
  if (unproven.length === 0) return new Map();
  const toUsd = await usdValue(STORED_PRICES, tx);
  const waiting = unproven.filter(({ destination_amount: amount, destination_currency }) => {
    const usd = toUsd({ amount, currency: destination_currency });
    return usd === null || usd > canary_usd;
  });
  const limit = minorToText(canary_usd, USD_DIGITS);
  return new Map(
    waiting.map(({ id, destination_currency, rails }) => [
      id,
      `Payouts in ${destination_currency} by ${rails} are new here: this one is sent once the ` +
        `bank has confirmed one of at most ${limit} usd.`,
    ]),
  );
}

/** Remembers the rails of payouts that a bank has booked. */
export function recordProvenRails(tx: Transaction, booked: readonly Offramp[], now: Date): void {
  const routes = new Map(booked.map((offramp) => [nameOf(routeOf(offramp)), routeOf(offramp)]));
  if (routes.size > 0) insertProvenRails(tx, [...routes.values()], now);
}

function routeOf({ destination_currency, rails }: Offramp): Route {
  return { currency: destination_currency, rail: rails };
}

function nameOf({ currency, rail }: Route): string {
  return `${currency} ${rail}`;
}
