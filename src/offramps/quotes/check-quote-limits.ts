import type { AccountControls } from "../../accounts/controls-store.ts";
import { type LimitDeps, type Limits, loadLimits } from "../../limits/load-limits.ts";
import type { Spend } from "../../limits/model.ts";
import { listQuoteParts, type QuotePart } from "../../limits/store.ts";
import type { Command } from "../../platform/commands/use-case.ts";
import type { Transaction } from "../../platform/db/database.ts";
import type { Problem } from "../../platform/errors.ts";
import type { LoadedQuotes } from "./load-quotes.ts";
import type { Quote } from "./model.ts";

/** The limits, and what each quote would pay. */
export type QuoteLimits = { limits: Limits; spends: ReadonlyMap<string, Spend> };

/** Reads nothing for accounts without limits, which are not among the locked ones. */
export async function loadQuoteLimits(
  tx: Transaction,
  deps: LimitDeps,
  controls: readonly AccountControls[],
  { quotes }: LoadedQuotes,
  commands: readonly Command<{ quote_id: string }>[],
): Promise<QuoteLimits> {
  const named = commands.flatMap(
    ({ account_id, input }) => quotes.get(account_id, input.quote_id) ?? [],
  );
  const account_ids = controls.map(({ account_id }) => account_id);
  const version_ids = named.map((quote) => quote.price_version_id);
  const spends = new Map<string, Spend>();
  const limits = await loadLimits(tx, deps, account_ids, {
    version_ids,
    spends: async (value) => {
      const by_quote = Map.groupBy(await listQuoteParts(tx, named), (part) => part.quote_id);
      for (const quote of named) {
        spends.set(quote.id, spendOf(value, quote, by_quote.get(quote.id) ?? []));
      }
      return [...spends.values()];
    },
  });
  return { limits, spends };
}

function spendOf(value: Limits["value"], quote: Quote, own: readonly QuotePart[]): Spend {
  const { account_id, user_id, price_version_id, deposit_token } = quote;
  const paid = { price_version_id, token: deposit_token, is_paid_out: true };
  const usdOf = (tokens: bigint) => value({ ...paid, tokens });
  const largest = own.map((part) => usdOf(part.largest)).reduce((a, b) => (a > b ? a : b), 0n);
  const parts = own.map(({ payee, tokens, count }) => ({
    payee: payee.toString("hex"),
    usd: usdOf(tokens),
    count,
  }));
  return { account_id, user_id, largest, parts };
}

/** A quote counts from its execution on; naming another transfer changes nothing. */
export function checkQuoteLimits({ limits, spends }: QuoteLimits, quote: Quote): Problem[] {
  const spend = spends.get(quote.id);
  if (!spend || quote.executed_at !== null) return [];
  return [
    ...limits.problems(spend, "quote"),
    ...limits.openQuoteProblems(quote.account_id, "quote"),
  ];
}

export function takeQuote({ limits, spends }: QuoteLimits, quote: Quote): void {
  const spend = spends.get(quote.id);
  if (spend && quote.executed_at === null) limits.take(spend);
}
