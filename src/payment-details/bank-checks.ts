import { ibanCountryOf } from "../catalogue/bank-countries.ts";
import { checkIdentifier } from "../catalogue/bank-identifiers.ts";
import { type Catalogue, isBlockedCountry } from "../catalogue/catalogue.ts";
import { countryName } from "../catalogue/countries.ts";
import { type Draft as DraftOf, report } from "../catalogue/draft.ts";
import type { FieldRule } from "../catalogue/field-rules.ts";
import { ACCOUNT_IDENTIFIERS, type FieldName } from "../catalogue/payment-detail-fields.ts";
import { isBlank } from "../catalogue/text.ts";

type Draft = DraftOf<FieldName>;

/**
 * Money sent to a bank in a country outside the scheme is returned weeks later, and an IBAN and a
 * BIC of different countries belong to different banks. Where any country is accepted, the blocked
 * ones are not. An IBAN sent as the account number is judged as well: banks pay it as an IBAN.
 */
export function checkBankCountries(
  draft: Draft,
  catalogue: Catalogue,
  accepted: readonly string[] | null,
): void {
  const { iban, account_number, swift_bic } = draft.values;
  const iban_country = (iban ?? readIban(account_number))?.slice(0, 2) ?? null;
  const bic_country = swift_bic?.slice(4, 6) ?? null;
  const iban_field = isBlank(draft.input.iban) ? "account_number" : "iban";
  for (const [name, country] of [
    [iban_field, iban_country],
    ["swift_bic", bic_country],
  ] as const) {
    if (country === null || accepted?.includes(country)) continue;
    if (accepted === null) {
      if (!isBlockedCountry(catalogue, country)) continue;
      const message = `Payouts to banks in ${countryName(country)} are not supported.`;
      report(draft, name, "country_not_supported", message);
      continue;
    }
    const { currency, rails } = draft.values;
    const message =
      `The bank is in ${countryName(country)}, where ${currency} is not paid by ${rails}; ` +
      "see bank_countries of GET /payment_detail_requirements.";
    report(draft, name, "record_invalid", message);
  }
  if (iban_country === null || bic_country === null) return;
  if (ibanCountryOf(bic_country) === iban_country) return;
  const message =
    `The BIC is of ${countryName(bic_country)} and the IBAN of ${countryName(iban_country)}; ` +
    "send the BIC of the bank that issued the IBAN.";
  report(draft, "swift_bic", "record_invalid", message);
}

function readIban(account_number: string | null): string | null {
  const checked = checkIdentifier("iban", account_number ?? "");
  return "value" in checked ? checked.value : null;
}

/** Fields that identify the account; a sort code identifies a part of it. */
const ACCOUNT_FIELDS = [...ACCOUNT_IDENTIFIERS, "sort_code"] as const;

/**
 * A record that names two accounts must be refused, since it is unclear which one is paid.
 * Additional identifiers must be part of a required one, or contain it.
 */
export function checkSameAccount(draft: Draft, applied: readonly FieldRule[]): void {
  const isApplied = (name: FieldName) => applied.some((rule) => rule.name === name);
  const needed = ACCOUNT_FIELDS.filter(isApplied).flatMap((name) => identifierIn(draft, name));
  if (needed.length === 0) return;
  for (const name of ACCOUNT_FIELDS) {
    if (isApplied(name)) continue;
    const [value] = identifierIn(draft, name);
    if (value === undefined) continue;
    const is_same = needed.every((other) => other.includes(value) || value.includes(other));
    if (is_same) continue;
    const message =
      "This value does not match the account in the other fields; correct it or leave it out.";
    report(draft, name, "record_invalid", message);
  }
}

/** A British account number is meant with its sort code, as an IBAN contains them. */
function identifierIn(draft: Draft, name: (typeof ACCOUNT_FIELDS)[number]): string[] {
  const { sort_code, account_number } = draft.values;
  const value = draft.values[name];
  if (value === null) return [];
  const is_pair = sort_code !== null && account_number !== null;
  return [is_pair && name === "account_number" ? sort_code + account_number : value];
}
