import { type Chain, isToken, TOKEN_DIGITS, TOKENS, type Token } from "../catalogue/chains.ts";
import { DEPOSIT_RAILS, type DepositRail, ONRAMP_RAILS } from "../catalogue/rails.ts";
import { textOf } from "../catalogue/text.ts";
import type { BankPort } from "../partners/bank/port.ts";
import { checkAddress } from "../partners/chain/check-address.ts";
import type { ChainPort } from "../partners/chain/port.ts";
import type { Problem } from "../platform/errors.ts";
import { minorToText, parseAmount } from "../platform/money.ts";
import { createFindings, type Findings, isAbsent, readCode } from "../quotes/findings.ts";
import { TOKEN_AMOUNT_MAX } from "../quotes/model.ts";
import type { Prices } from "../quotes/prices.ts";
import { hasRate, priceOnramp } from "../quotes/pricing.ts";
import type { OnrampTerms } from "./create-onramps.ts";

export type TermsDeps = { bank: BankPort; chain: ChainPort };

type Wish = Record<string, unknown>;

/** What is asked of an onramp, checked and priced; the terms are null where that was refused. */
export function checkTerms(
  { bank, chain }: TermsDeps,
  prices: Prices | { stale: true },
  wish: Wish | undefined,
  found: readonly Problem[],
): { terms: OnrampTerms | null; problems: Problem[] } {
  const findings = createFindings("onramp", found);
  const given = wish ?? {};
  const crypto_currency = readToken(findings, given);
  const crypto_rails = readChain(findings, chain.chains, given);
  const destination_amount = readTokens(findings, given);
  const destination_address = readAddress(findings, crypto_rails, given);
  const fiat = readFiat(findings, bank, given);
  const refused = () => ({ terms: null, problems: findings.problems });
  if (!crypto_currency || !crypto_rails || !fiat || "stale" in prices) return refused();
  if (!destination_amount || !destination_address) return refused();
  if (!hasRate(prices, crypto_currency, fiat.fiat_currency)) {
    const message = `There is no rate for ${fiat.fiat_currency} at the moment; try again later.`;
    findings.report("fiat_currency", "currency_not_supported", message);
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
  return { terms: findings.problems.length > 0 ? null : terms, problems: findings.problems };
}

function readToken(findings: Findings, { crypto_currency }: Wish): Token | undefined {
  const code = readCode(findings, "crypto_currency", crypto_currency);
  if (code === undefined || isToken(code)) return code;
  const message = `Send one of ${TOKENS.join(", ")}.`;
  findings.report("crypto_currency", "currency_not_supported", message);
  return undefined;
}

function readChain(
  findings: Findings,
  chains: readonly Chain[],
  { crypto_rails }: Wish,
): Chain | undefined {
  const code = readCode(findings, "crypto_rails", crypto_rails);
  const chain = chains.find((known) => known === code);
  if (code !== undefined && !chain) {
    findings.report("crypto_rails", "rails_not_available", `Send one of ${chains.join(", ")}.`);
  }
  return chain;
}

function readTokens(findings: Findings, { destination_amount }: Wish): bigint | undefined {
  if (isAbsent(destination_amount)) {
    findings.report("destination_amount", "parameter_missing", "Send destination_amount.");
    return undefined;
  }
  const parsed = parseAmount(destination_amount, TOKEN_DIGITS);
  if ("reason" in parsed) {
    findings.report("destination_amount", "record_invalid", parsed.reason);
    return undefined;
  }
  if (parsed.minor <= TOKEN_AMOUNT_MAX) return parsed.minor;
  const message = `Send at most ${minorToText(TOKEN_AMOUNT_MAX, TOKEN_DIGITS)}.`;
  findings.report("destination_amount", "record_invalid", message);
  return undefined;
}

function readAddress(
  findings: Findings,
  chain: Chain | undefined,
  { destination_address }: Wish,
): string | undefined {
  const text = textOf(destination_address);
  if (text === "") {
    findings.report("destination_address", "parameter_missing", "Send destination_address.");
    return undefined;
  }
  if (!chain) return undefined;
  const checked = checkAddress(chain, text);
  // Kept as it was sent: callers compare it with their own.
  if ("address" in checked) return text;
  findings.report("destination_address", "record_invalid", checked.reason);
  return undefined;
}

function readFiat(findings: Findings, bank: BankPort, given: Wish) {
  const currency = readCode(findings, "fiat_currency", given.fiat_currency);
  const rail_text = readCode(findings, "fiat_rails", given.fiat_rails);
  if (currency === undefined) return undefined;
  const rails = Object.hasOwn(ONRAMP_RAILS, currency) ? ONRAMP_RAILS[currency] : undefined;
  if (!rails) {
    const message = `Send one of ${Object.keys(ONRAMP_RAILS).join(", ")}.`;
    findings.report("fiat_currency", "currency_not_supported", message);
    if (rail_text !== undefined && !DEPOSIT_RAILS.some((known) => known === rail_text)) {
      const known = `Send one of ${DEPOSIT_RAILS.join(", ")}.`;
      findings.report("fiat_rails", "rails_not_available", known);
    }
    return undefined;
  }
  if (rail_text === undefined) return undefined;
  const rail = rails.find((known): known is DepositRail => known === rail_text);
  const coordinates = rail && bank.coordinatesFor(currency, rail);
  if (!rail || !coordinates) {
    const message = `For ${currency} send ${rails.join(" or ")}.`;
    findings.report("fiat_rails", "rails_not_available", message);
    return undefined;
  }
  return { fiat_currency: currency, fiat_rails: rail, deposit_instructions: coordinates };
}
