import type { Static } from "typebox";
import { type Catalogue, onrampRailsOf, tokensOf } from "../catalogue/catalogue.ts";
import { isToken, TOKEN_AMOUNT_MAX, TOKEN_DIGITS, type Token } from "../catalogue/chains.ts";
import { minorDigits } from "../catalogue/currencies.ts";
import { isBlank } from "../catalogue/text.ts";
import type { Problem } from "../platform/errors.ts";
import type { Sound } from "../platform/http/sound.ts";
import { minorToNumber, minorToText } from "../platform/money.ts";
import { type Checked, type ObjectProblems, Problems } from "../platform/problems.ts";
import { affordableOnramp, hasRate, priceOnramp } from "./fees-and-minimums.ts";
import { checkPayoutCurrency, chooseRail, previewPayout } from "./preview-payout.ts";
import type { Prices } from "./price-book.ts";
import { readAmount, readCode } from "./read-values.ts";
import type { ConversionAnswer, ConversionBody } from "./schemas.ts";

type Mode = "sending" | "receiving";
type Asked = { input: string; output: string; mode: Mode; amount: bigint };
type Amounts = { rate: string; fee_minor: bigint; fiat_minor: bigint; token_amount: bigint };
type Result = Checked<Static<typeof ConversionAnswer>>;
type Input = Sound<Static<typeof ConversionBody>>["conversion"];

/** Checks the body of POST /conversions; once there are prices, calculates the answer. */
export function checkConversion(
  catalogue: Catalogue,
  given: Input = {},
  found: readonly Problem[],
): Checked<(prices: Prices) => Result> {
  const all = new Problems(found);
  const problems = all.within("conversion");
  const input = readCode(problems, "input_currency", given.input_currency);
  const output = readCode(problems, "output_currency", given.output_currency);
  checkPair(problems, catalogue, input, output);
  const amount = readGiven(problems, given, { input, output });
  const { mode } = given;
  const is_whole = input && output && mode && amount !== undefined;
  const asked = is_whole ? { input, output, mode, amount } : null;
  return all.checked(
    asked &&
      ((prices: Prices): Result => {
        const amounts = isToken(asked.input)
          ? calculateOfframp(problems, { catalogue, prices }, asked)
          : calculateOnramp(problems, prices, asked);
        return amounts ? { value: render(asked, amounts) } : { problems: problems.list };
      }),
  );
}

/** From a token to a payout currency, or from an onramp currency to a token. */
function checkPair(
  problems: ObjectProblems,
  catalogue: Catalogue,
  input: string | undefined,
  output: string | undefined,
): void {
  if (input === undefined) return;
  const tokens = tokensOf(catalogue);
  const isOffered = (code: string) => tokens.some((token) => token === code);
  if (isOffered(input)) {
    checkPayoutCurrency(problems, catalogue, "output_currency", output);
  } else if (onrampRailsOf(catalogue, input).length === 0) {
    const known = [...tokens, ...Object.keys(catalogue.onramp_rails)];
    const message = `Send one of ${known.join(", ")}.`;
    problems.report("input_currency", "currency_not_supported", message);
  } else if (output !== undefined && !isOffered(output)) {
    const message = `${input} can only be converted to ${tokens.join(", ")}.`;
    problems.report("output_currency", "currency_not_supported", message);
  }
}

function readGiven(
  problems: ObjectProblems,
  given: NonNullable<Input>,
  { input, output }: { input: string | undefined; output: string | undefined },
): bigint | undefined {
  if (problems.isAtFault("mode")) return undefined;
  const is_sending = given.mode === "sending";
  const [name, other] = is_sending
    ? (["input_amount", "output_amount"] as const)
    : (["output_amount", "input_amount"] as const);
  if (!isBlank(given[other])) {
    problems.report(
      other,
      "record_invalid",
      `Omit this field: with mode ${given.mode} Sliproad calculates it from ${name}.`,
    );
  }
  if (isBlank(given[name])) {
    problems.report(name, "parameter_missing", `Send ${name}.`);
    return undefined;
  }
  return readAmount(problems, name, given[name], is_sending ? input : output);
}

function calculateOfframp(
  problems: ObjectProblems,
  deps: { catalogue: Catalogue; prices: Prices },
  { input, output, mode, amount }: Asked,
): Amounts | undefined {
  const rail = chooseRail(problems, deps.catalogue, output, null)!;
  const route = { token: input as Token, currency: output, rail, currency_name: "output_currency" };
  return previewPayout(
    problems,
    deps,
    route,
    mode === "sending"
      ? { name: "input_amount", token_amount: amount }
      : { name: "output_amount", fiat_minor: amount },
  );
}

function calculateOnramp(
  problems: ObjectProblems,
  prices: Prices,
  { input: currency, output, mode, amount }: Asked,
): Amounts | undefined {
  const token = output as Token;
  if (!hasRate(prices, token, currency)) {
    const message = "There is currently no rate for this currency; try again later.";
    problems.report("input_currency", "currency_not_supported", message);
    return undefined;
  }
  const is_sending = mode === "sending";
  const token_amount = is_sending ? affordableOnramp({ token, currency }, amount, prices) : amount;
  const name = is_sending ? "input_amount" : "output_amount";
  if (token_amount === 0n) {
    problems.report(name, "record_invalid", "The amount is too small: it converts to zero.");
    return undefined;
  }
  if (token_amount > TOKEN_AMOUNT_MAX) {
    const maximum = minorToText(TOKEN_AMOUNT_MAX, TOKEN_DIGITS);
    const message = `The amount is too large; send at most ${maximum} ${token}.`;
    problems.report(name, "record_invalid", message);
    return undefined;
  }
  const price = priceOnramp({ token, currency, token_amount }, prices);
  const { rate, fee_minor, deposit_minor } = price;
  return { rate, fee_minor, token_amount, fiat_minor: is_sending ? amount : deposit_minor };
}

function render({ input, output, mode }: Asked, amounts: Amounts): Static<typeof ConversionAnswer> {
  const is_offramp = isToken(input);
  const [token, fiat] = is_offramp ? [input, output] : [output, input];
  const digits = minorDigits(fiat)!;
  const token_amount = minorToNumber(amounts.token_amount, TOKEN_DIGITS);
  const fiat_amount = minorToNumber(amounts.fiat_minor, digits);
  return {
    conversion: {
      input_currency: input,
      input_amount: is_offramp ? token_amount : fiat_amount,
      output_currency: output,
      output_amount: is_offramp ? fiat_amount : token_amount,
      mode,
      exchange_rate: { [`${token}_${fiat}`]: Number(amounts.rate) },
      fees: minorToNumber(amounts.fee_minor, digits),
    },
  };
}
