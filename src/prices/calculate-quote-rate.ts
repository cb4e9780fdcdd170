import type { Static } from "typebox";
import { type Catalogue, chainsOf, tokensOn } from "../catalogue/catalogue.ts";
import { type Chain, TOKEN_DIGITS, type Token } from "../catalogue/chains.ts";
import { minorDigits } from "../catalogue/currencies.ts";
import type { Rail } from "../catalogue/rails.ts";
import { isBlank } from "../catalogue/text.ts";
import type { Problem } from "../platform/errors.ts";
import type { Sound } from "../platform/http/sound.ts";
import { minorToNumber } from "../platform/money.ts";
import { type Checked, type ObjectProblems, Problems } from "../platform/problems.ts";
import { checkPayoutCurrency, chooseRail, type Given, previewPayout } from "./preview-payout.ts";
import type { Prices } from "./price-book.ts";
import { readAmount, readCode } from "./read-values.ts";
import type { QuoteRateAnswer, QuoteRateBody } from "./schemas.ts";

type Asked = {
  token: Token;
  chain: Chain;
  currency: string;
  rail: Rail;
  given: Given;
};

type Result = Checked<Static<typeof QuoteRateAnswer>>;
type Input = Sound<Static<typeof QuoteRateBody>>["quote"];

/** Checks the body of POST /users/:user_id/quote/rate; once there are prices, prices it. */
export function checkQuoteRate(
  catalogue: Catalogue,
  quote: Input = {},
  found: readonly Problem[],
): Checked<(prices: Prices) => Result> {
  const all = new Problems(found);
  const problems = all.within("quote");
  const { deposit_token, deposit_token_chain } = quote;
  const readWord = <Word extends string>(name: string, value: unknown, words: readonly Word[]) => {
    const code = readCode(problems, name, value);
    const word = words.find((known) => known === code);
    if (code !== undefined && !word) {
      problems.report(name, "record_invalid", `Send one of ${words.join(", ")}.`);
    }
    return word;
  };
  const tokens = tokensOn(catalogue, deposit_token_chain);
  const token = readWord("deposit_token", deposit_token, tokens);
  const chain = readWord("deposit_token_chain", deposit_token_chain, chainsOf(catalogue));
  const currency = readCode(problems, "fiat_currency", quote.fiat_currency);
  const is_paid_out = checkPayoutCurrency(problems, catalogue, "fiat_currency", currency);
  const rail = is_paid_out ? chooseRail(problems, catalogue, currency, quote.rails) : undefined;
  const given = readGiven(problems, quote, is_paid_out ? currency : undefined);
  const is_whole = token && chain && currency && rail && given;
  const asked = is_whole ? { token, chain, currency, rail, given } : null;
  return all.checked(asked && ((prices) => calculate(problems, { catalogue, prices }, asked)));
}

/** Exactly one of the two amounts. */
function readGiven(
  problems: ObjectProblems,
  quote: NonNullable<Input>,
  currency: string | undefined,
): Given | undefined {
  const isGiven = (name: "fiat_amount" | "deposit_token_amount") =>
    !isBlank(quote[name]) || problems.isAtFault(name);
  const has_fiat = isGiven("fiat_amount");
  const has_token = isGiven("deposit_token_amount");
  if (has_fiat && has_token) {
    const message = "Send either fiat_amount or deposit_token_amount, not both.";
    problems.report("deposit_token_amount", "record_invalid", message);
    return undefined;
  }
  if (has_token) {
    const name = "deposit_token_amount";
    const token_amount = readAmount(problems, name, quote[name], "usdc");
    return token_amount === undefined ? undefined : { name, token_amount };
  }
  const name = "fiat_amount";
  if (!has_fiat) {
    problems.report(name, "parameter_missing", "Send fiat_amount or deposit_token_amount.");
    return undefined;
  }
  const fiat_minor = readAmount(problems, name, quote[name], currency);
  return fiat_minor === undefined ? undefined : { name, fiat_minor };
}

function calculate(
  problems: ObjectProblems,
  deps: { catalogue: Catalogue; prices: Prices },
  { token, chain, currency, rail, given }: Asked,
): Result {
  const route = { token, currency, rail, currency_name: "fiat_currency" };
  const payout = previewPayout(problems, deps, route, given);
  if (!payout) return { problems: problems.list };
  return {
    value: {
      quote: {
        deposit_token: token,
        deposit_token_chain: chain,
        deposit_token_amount: minorToNumber(payout.token_amount, TOKEN_DIGITS),
        fiat_amount: minorToNumber(payout.fiat_minor, minorDigits(currency)!),
        fiat_currency: currency,
        currency_pair: token + currency,
        fees: minorToNumber(payout.token_fee, TOKEN_DIGITS),
        rails: rail,
        rate: Number(payout.rate),
        expiry: null,
      },
    },
  };
}
