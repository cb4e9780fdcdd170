import type { Static } from "typebox";
import type { Catalogue } from "../catalogue/catalogue.ts";
import {
  CHAINS,
  type Chain,
  isChain,
  isToken,
  TOKEN_DIGITS,
  TOKENS,
  type Token,
} from "../catalogue/chains.ts";
import { minorDigits } from "../catalogue/currencies.ts";
import type { Rail } from "../catalogue/rails.ts";
import { isBlank } from "../catalogue/text.ts";
import type { Problem } from "../platform/errors.ts";
import { minorToNumber } from "../platform/money.ts";
import { type ObjectProblems, Problems } from "../platform/problems.ts";
import {
  calculatePayout,
  checkPayoutCurrency,
  chooseRail,
  type Given,
} from "./calculate-payout.ts";
import type { Prices } from "./prices.ts";
import { readAmount, readCode } from "./read-values.ts";
import type { QuoteRateAnswer } from "./schemas.ts";

type Asked = {
  token: Token;
  chain: Chain;
  currency: string;
  rail: Rail;
  given: Given;
};

type Result = { answer: Static<typeof QuoteRateAnswer> } | { problems: readonly Problem[] };

/** The body of POST /users/:user_id/quote/rate, checked; and, once there are prices, priced. */
export function checkQuoteRate(
  catalogue: Catalogue,
  body: unknown,
  found: readonly Problem[],
): { problems: readonly Problem[]; calculate: (prices: Prices) => Result } {
  const problems = new Problems(found).within("quote");
  const quote = (body as { quote?: Record<string, unknown> } | undefined)?.quote ?? {};
  const token = readCode(problems, "deposit_token", quote.deposit_token);
  if (token !== undefined && !isToken(token)) {
    problems.report("deposit_token", "record_invalid", `Send one of ${TOKENS.join(", ")}.`);
  }
  const chain = readCode(problems, "deposit_token_chain", quote.deposit_token_chain);
  if (chain !== undefined && !isChain(chain)) {
    problems.report("deposit_token_chain", "record_invalid", `Send one of ${CHAINS.join(", ")}.`);
  }
  const currency = readCode(problems, "fiat_currency", quote.fiat_currency);
  const is_paid_out = checkPayoutCurrency(problems, catalogue, "fiat_currency", currency);
  const rail = is_paid_out ? chooseRail(problems, catalogue, currency, quote.rails) : undefined;
  const given = readGiven(problems, quote, is_paid_out ? currency : undefined);
  const asked = { token, chain, currency, rail, given } as Asked;
  return {
    problems: problems.list,
    calculate: (prices) => calculate(problems, { catalogue, prices }, asked),
  };
}

/** Exactly one of the two amounts. */
function readGiven(
  problems: ObjectProblems,
  quote: Record<string, unknown>,
  currency: string | undefined,
): Given | undefined {
  const has_fiat = !isBlank(quote.fiat_amount);
  const has_token = !isBlank(quote.deposit_token_amount);
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
  const payout = calculatePayout(problems, deps, route, given);
  if (!payout) return { problems: problems.list };
  return {
    answer: {
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
