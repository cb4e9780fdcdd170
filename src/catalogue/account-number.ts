import { countrySpecs } from "ibantools";
import { checkIdentifier, type IdentifierCheck } from "./bank-identifiers.ts";
import { compact, upperAscii } from "./text.ts";

type NationalForm = { check: IdentifierCheck; account: readonly [from: number, to: number] };

const CFA_RIB: NationalForm = { check: "rib_cfa", account: [10, -2] };

/** Where the account's own number stands in a country's long form of it. */
const NATIONAL_FORMS: Readonly<Record<string, NationalForm>> = {
  MX: { check: "clabe", account: [6, 17] },
  AR: { check: "cbu", account: [8, 21] },
  MA: { check: "rib_ma", account: [6, 22] },
  TN: { check: "rib_tn", account: [5, 18] },
  DZ: { check: "rib_dz", account: [8, 18] },
  ...Object.fromEntries(
    ["CM", "CF", "CG", "GA", "GQ", "TD", "SN", "BF", "BJ", "CI", "GW", "ML", "NE", "TG"].map(
      (country) => [country, CFA_RIB],
    ),
  ),
};

/**
 * The number of an account at its bank, in one spelling: without the bank, the branch, check digits
 * and leading zeros, so that an IBAN, a RIB and the plain number of the same account are equal.
 * `country` is the bank's, where the identifier itself does not name one.
 */
export function accountNumberIn(identifier: string, country: string | null): string {
  const value = upperAscii(compact(identifier));
  const is_iban = "value" in checkIdentifier("iban", value);
  const number = is_iban
    ? withoutBank(value.slice(0, 2), value.slice(4))
    : withoutBank(country ?? "", value);
  return number.replace(/^0+(?=.)/, "");
}

function withoutBank(country: string, value: string): string {
  const national = Object.hasOwn(NATIONAL_FORMS, country) ? NATIONAL_FORMS[country] : undefined;
  if (national && "value" in checkIdentifier(national.check, value)) {
    return value.slice(...national.account);
  }
  const form = Object.hasOwn(countrySpecs, country) ? countrySpecs[country] : undefined;
  if (!form?.bban_regexp || !new RegExp(form.bban_regexp).test(value)) return value;
  // The positions of bank and branch in the IBAN registry, such as "4-9".
  const ends = [form.bank_identifier, form.branch_indentifier].flatMap((place) =>
    place ? [Number(place.split("-")[1]) + 1] : [],
  );
  return value.slice(Math.max(0, ...ends));
}
