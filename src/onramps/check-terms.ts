import { type Catalogue, onrampRailsOf } from "../catalogue/catalogue.ts";
import {
  type Chain,
  TOKEN_AMOUNT_MAX,
  TOKEN_DIGITS,
  TOKENS,
  type Token,
} from "../catalogue/chains.ts";
import { DEPOSIT_RAILS, type DepositRail } from "../catalogue/rails.ts";
import { isBlank, textOf } from "../catalogue/text.ts";
import type { BankPort } from "../partners/bank/port.ts";
import { checkAddress } from "../partners/chain/check-address.ts";
import type { ChainPort } from "../partners/chain/port.ts";
import type { Problem } from "../platform/errors.ts";
import { minorToText, parseAmount } from "../platform/money.ts";
import { type ObjectProblems, Problems } from "../platform/problems.ts";
import { isQuoted, priceOnramp } from "../prices/fees-and-minimums.ts";
import type { Prices } from "../prices/price-book.ts";
import { readCode } from "../prices/read-values.ts";
import type { OnrampTerms } from "./create-onramps.ts";

type TermsDeps = { catalogue: Catalogue; bank: BankPort; chain: ChainPort };

type Requested = Record<string, unknown>;

type CheckedTerms = { terms: OnrampTerms | null; problems: readonly Problem[] };

/** Refuses terms whose coins would be lost: what the chain itself knows of the address. */
export async function checkPayee(
  chain: Pick<ChainPort, "findObjection">,
  checked: CheckedTerms,
): Promise<CheckedTerms> {
  if (!checked.terms) return checked;
  const { crypto_rails, destination_address } = checked.terms;
  const reason = await chain.findObjection(crypto_rails, destination_address);
  if (reason === null) return checked;
  const problems = new Problems(checked.problems).within("onramp");
  problems.report("destination_address", "record_invalid", reason);
  return { terms: null, problems: problems.list };
}

/** Checks and prices the request for an onramp; the terms are null where it is refused. */
export function checkTerms(
  { catalogue, bank, chain }: TermsDeps,
  prices: Prices | { stale: true },
  requested: Requested | undefined,
  found: readonly Problem[],
): CheckedTerms {
  const problems = new Problems(found).within("onramp");
  const given = requested ?? {};
  const crypto_rails = readChain(problems, chain.sending, given);
  const offered = chain.sending.filter((one) => !crypto_rails || one === crypto_rails);
  const tokens = TOKENS.filter((one) => offered.some((on) => catalogue.tokens[on].includes(one)));
  const crypto_currency = readToken(problems, tokens, given);
  const destination_amount = readTokens(problems, given);
  const destination_address = readAddress(problems, crypto_rails, given);
  const fiat = readFiat(problems, catalogue, bank, given);
  const refused = () => ({ terms: null, problems: problems.list });
  if (!crypto_currency || !crypto_rails || !fiat || "stale" in prices) return refused();
  if (!destination_amount || !destination_address) return refused();
  checkWorth(problems, catalogue, { crypto_currency, crypto_rails, destination_amount });
  if (!isQuoted(prices, "onramps", crypto_currency, fiat.fiat_currency)) {
    const message = `There is currently no rate for ${fiat.fiat_currency}; try again later.`;
    problems.report("fiat_currency", "currency_not_supported", message);
    return refused();
  }
  const currency = fiat.fiat_currency;
  const asked = { token: crypto_currency, currency, token_amount: destination_amount };
  const terms: OnrampTerms = {
    crypto_currency,
    crypto_rails,
    destination_amount,
    destination_address,
    ...fiat,
    ...priceOnramp(asked, prices),
    price_version_id: prices.version_id,
  };
  return { terms: problems.list.length > 0 ? null : terms, problems: problems.list };
}

function readToken(
  problems: ObjectProblems,
  tokens: readonly Token[],
  { crypto_currency }: Requested,
): Token | undefined {
  const code = readCode(problems, "crypto_currency", crypto_currency);
  const token = tokens.find((known) => known === code);
  if (code === undefined || token) return token;
  const message = `Send one of ${tokens.join(", ")}.`;
  problems.report("crypto_currency", "currency_not_supported", message);
  return undefined;
}

function readChain(
  problems: ObjectProblems,
  chains: readonly Chain[],
  { crypto_rails }: Requested,
): Chain | undefined {
  const code = readCode(problems, "crypto_rails", crypto_rails);
  const chain = chains.find((known) => known === code);
  if (code !== undefined && !chain) {
    problems.report("crypto_rails", "rails_not_available", `Send one of ${chains.join(", ")}.`);
  }
  return chain;
}

function readTokens(
  problems: ObjectProblems,
  { destination_amount }: Requested,
): bigint | undefined {
  if (isBlank(destination_amount)) {
    problems.report("destination_amount", "parameter_missing", "Send destination_amount.");
    return undefined;
  }
  const parsed = parseAmount(destination_amount, TOKEN_DIGITS);
  if ("reason" in parsed) {
    problems.report("destination_amount", "record_invalid", parsed.reason);
    return undefined;
  }
  if (parsed.value <= TOKEN_AMOUNT_MAX) return parsed.value;
  const message = `Send at most ${minorToText(TOKEN_AMOUNT_MAX, TOKEN_DIGITS)}.`;
  problems.report("destination_amount", "record_invalid", message);
  return undefined;
}

/** Its delivery costs the operator the network fee, which the onramp's own fee may not cover. */
function checkWorth(
  problems: ObjectProblems,
  { network_fees }: Catalogue,
  asked: Pick<OnrampTerms, "crypto_currency" | "crypto_rails" | "destination_amount">,
): void {
  const { crypto_currency, crypto_rails, destination_amount } = asked;
  const fee = network_fees[crypto_rails];
  if (destination_amount > fee) return;
  const shown = `${minorToText(fee, TOKEN_DIGITS)} ${crypto_currency}`;
  const message = `Send more than the network fee on ${crypto_rails}: ${shown}.`;
  problems.report("destination_amount", "below_currency_limit", message);
}

function readAddress(
  problems: ObjectProblems,
  chain: Chain | undefined,
  { destination_address }: Requested,
): string | undefined {
  const text = textOf(destination_address);
  if (text === "") {
    problems.report("destination_address", "parameter_missing", "Send destination_address.");
    return undefined;
  }
  if (!chain) return undefined;
  const checked = checkAddress(chain, text);
  // Kept as it was sent: callers compare it with their own value.
  if ("value" in checked) return text;
  problems.report("destination_address", "record_invalid", checked.reason);
  return undefined;
}

function readFiat(
  problems: ObjectProblems,
  catalogue: Catalogue,
  bank: BankPort,
  given: Requested,
) {
  const currency = readCode(problems, "fiat_currency", given.fiat_currency);
  const rail_text = readCode(problems, "fiat_rails", given.fiat_rails);
  if (currency === undefined) return undefined;
  const rails = onrampRailsOf(catalogue, currency);
  if (rails.length === 0) {
    const message = `Send one of ${Object.keys(catalogue.onramp_rails).join(", ")}.`;
    problems.report("fiat_currency", "currency_not_supported", message);
    if (rail_text !== undefined && !DEPOSIT_RAILS.some((known) => known === rail_text)) {
      const known = `Send one of ${DEPOSIT_RAILS.join(", ")}.`;
      problems.report("fiat_rails", "rails_not_available", known);
    }
    return undefined;
  }
  if (rail_text === undefined) return undefined;
  const rail = rails.find((known): known is DepositRail => known === rail_text);
  const coordinates = rail && bank.coordinatesFor(currency, rail);
  if (!rail || !coordinates) {
    const message = `For ${currency} send ${rails.join(" or ")}.`;
    problems.report("fiat_rails", "rails_not_available", message);
    return undefined;
  }
  return { fiat_currency: currency, fiat_rails: rail, deposit_instructions: coordinates };
}
