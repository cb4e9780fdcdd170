import type { Catalogue } from "../catalogue/catalogue.ts";
import type { Clock } from "../platform/clock.ts";
import { notFound, Refusal } from "../platform/errors.ts";
import type { AddRoute } from "../platform/http/route.ts";
import type { ModuleCore } from "../platform/module.ts";
import type { Checked } from "../platform/problems.ts";
import { findUser } from "../users/store.ts";
import { checkConversion } from "./calculate-conversion.ts";
import { checkQuoteRate } from "./calculate-quote-rate.ts";
import type { PriceBook, Prices } from "./price-book.ts";
import { ConversionAnswer, ConversionBody, QuoteRateAnswer, QuoteRateBody } from "./schemas.ts";

type RateDeps = Pick<ModuleCore, "database" | "clock"> & {
  catalogue: Catalogue;
  prices: PriceBook;
};

const TAG = "Quotes";
const ERRORS = ["currency_not_supported", "rails_not_available", "below_currency_limit"] as const;
const RETRY_AFTER_SECONDS = 60;

/** The two calculators: they price, and store only the response of an Idempotency-Key. */
export function addRateRoutes(addRoute: AddRoute, deps: RateDeps): void {
  const { database, catalogue, clock, prices } = deps;

  addRoute({
    method: "POST",
    path: "/users/:user_id/quote/rate",
    operation: "calculateQuoteRate",
    stores_nothing: true,
    summary: "Price one payout",
    description:
      "Returns the rate, fees and token amount of a quote created now. Stores nothing and locks " +
      "no rate.",
    tag: TAG,
    body: QuoteRateBody,
    body_example: {
      quote: {
        deposit_token: "usdc",
        deposit_token_chain: "polygon",
        fiat_currency: "eur",
        rails: "local",
        fiat_amount: 1000,
      },
    },
    answer: QuoteRateAnswer,
    errors: ERRORS,
    handle: async ({ caller, params, body, problems }) => {
      const key = { account_id: caller.account_id, user_id: params.user_id };
      const user = await findUser(database, key);
      const found = user ? problems : [...problems, notFound("user_id")];
      return answer(checkQuoteRate(catalogue, body.quote, found), prices, clock);
    },
  });

  addRoute({
    method: "POST",
    path: "/conversions",
    operation: "calculateConversion",
    stores_nothing: true,
    summary: "Convert an amount",
    description:
      "Converts a token to a payout currency on its first rail, or usd or eur to a token. " +
      "Stores nothing.",
    tag: TAG,
    body: ConversionBody,
    body_example: {
      conversion: {
        input_currency: "usdc",
        input_amount: 1000,
        output_currency: "eur",
        mode: "sending",
      },
    },
    answer: ConversionAnswer,
    errors: ERRORS,
    handle: ({ body, problems }) =>
      answer(checkConversion(catalogue, body.conversion, problems), prices, clock),
  });
}

type Calculate = (prices: Prices) => Checked<unknown>;

async function answer(checked: Checked<Calculate>, book: PriceBook, clock: Clock): Promise<string> {
  if ("problems" in checked) throw Refusal.of(checked.problems);
  const prices = await book.currentPrices(clock.now());
  if ("stale" in prices) {
    const message = "Current rates are not available; try again later.";
    throw new Refusal("unavailable", message, RETRY_AFTER_SECONDS);
  }
  const result = checked.value(prices);
  if ("problems" in result) throw Refusal.of(result.problems);
  return JSON.stringify(result.value);
}
