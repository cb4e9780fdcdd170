import { type Catalogue, isBlockedCountry } from "../catalogue/catalogue.ts";
import {
  checkCountry,
  checkPastDate,
  checkWord,
  type Draft,
  FIRST_BIRTH_DATE,
  readDraft,
  report,
} from "../catalogue/draft.ts";
import type { BeneficiaryType } from "../catalogue/payment-detail-fields.ts";
import { findPostalCountry, findState } from "../catalogue/postal.ts";
import { upperAscii } from "../catalogue/text.ts";
import type { Problem } from "../platform/errors.ts";
import { PHONE } from "../users/model.ts";
import {
  DOCUMENT_TYPES,
  FIELD_LIMITS,
  FIELDS,
  type IdentityFieldName,
  PERSON_FIELDS,
  type Values,
} from "./fields.ts";
import { ADULT_YEARS } from "./model.ts";
import {
  checkOwners,
  findOwnerContradiction,
  HAS_OWNERS,
  isOwnerAsked,
  isOwnerField,
  OWNER_NAMES,
} from "./owners.ts";

/** Letters of any script, with the punctuation and joiners that occur in names. */
const NAME = /^['’‘]?[\p{L}\p{M}](?:[\p{L}\p{M} .,/'’‘·・‐‑–-]|\u200c|\u200d)*$/u;
/** Enough to fix a request; the response must not grow with the number of mistakes. */
const UNKNOWN_NAMED_MAX = 20;
const ONE_CHARACTER = /^(.)\1{2,}$/iu;
const COUNTRY_FIELDS = ["country", "nationality", "controller_nationality"] as const;
const NAME_FIELDS = [
  ...(["first_name", "last_name"] as const),
  ...(["controller_first_name", "controller_last_name"] as const),
  ...OWNER_NAMES,
];

/**
 * All format problems of the given values at once, and the values in their stored form. `standing`
 * holds the other known values: a postcode depends on its country. A name equal to the one in the
 * `record` is always valid, because the account already has it.
 */
export function checkIdentity(
  catalogue: Catalogue,
  type: BeneficiaryType,
  given: Record<string, unknown>,
  { standing, record }: { standing: Partial<Values>; record: Partial<Values> },
  today: string,
): { values: Partial<Values>; problems: Problem[] } {
  const known: readonly string[] = FIELDS[type].map(({ name }) => name);
  const unknown = Object.keys(given).filter((name) => !known.includes(name));
  unknown.splice(UNKNOWN_NAMED_MAX);
  const already = unknown.map((name) => unknownField(name, known));
  const draft = readDraft("identity", FIELD_LIMITS, given, already);
  for (const name of COUNTRY_FIELDS) {
    if (draft.values[name] !== null) draft.values[name] = upperAscii(draft.values[name]);
    checkCountry(draft, name);
  }
  for (const name of NAME_FIELDS) {
    if (draft.values[name] !== record[name]) checkName(draft, name);
  }
  if (draft.values.company_name !== null && !/\p{L}|\p{N}/u.test(draft.values.company_name)) {
    report(draft, "company_name", "record_invalid", "Enter the company's registered name.");
  }
  checkPastDate(draft, "date_of_birth", today, FIRST_BIRTH_DATE);
  checkPastDate(draft, "controller_date_of_birth", today, FIRST_BIRTH_DATE);
  for (const name of ["document_type", "controller_document_type"] as const) {
    checkWord(draft, name, Object.keys(DOCUMENT_TYPES));
  }
  const { registration_number } = draft.values;
  if (registration_number)
    draft.values.registration_number = registration_number.replace(/\s/g, "");
  checkPhone(draft);
  checkAddress(draft, catalogue, standing);
  checkOwners(draft, standing, today);
  const names = Object.keys(given).filter((name) => known.includes(name)) as IdentityFieldName[];
  return {
    values: Object.fromEntries(names.map((name) => [name, draft.values[name]])),
    problems: [...already, ...draft.problems],
  };
}

/** Everything that is missing or not allowed, regardless of its format. */
export function findMissing(
  catalogue: Catalogue,
  type: BeneficiaryType,
  values: Partial<Values>,
  record: Partial<Values>,
  today: string,
): Problem[] {
  const country = findPostalCountry(values.country ?? "");
  const isAsked = (name: IdentityFieldName) =>
    !(name === "state" && !country?.states) &&
    !(name === "postcode" && !country?.has_postcode) &&
    !(isOwnerField(name) && !isOwnerAsked(values, name));
  const problems: Problem[] = FIELDS[type]
    .filter(({ name, required }) => required && isAsked(name) && !values[name])
    .map(({ name }) => ({
      field: `identity.${name}`,
      code: "parameter_missing",
      message: "This field is required.",
    }));
  // Some known values may have been accepted under earlier rules.
  const given = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null));
  const beside = { standing: values, record };
  problems.push(...checkIdentity(catalogue, type, given, beside, today).problems);
  const contradiction = findOwnerContradiction(values);
  if (contradiction) {
    const field = `identity.${HAS_OWNERS}`;
    problems.push({ field, code: "record_invalid", message: contradiction });
  }
  const birth_date = PERSON_FIELDS[type].birth_date;
  const born = values[birth_date];
  if (born && !isAdult(born, today)) {
    const message = `You must be at least ${ADULT_YEARS} years old; check the date of birth.`;
    problems.push({ field: `identity.${birth_date}`, code: "record_invalid", message });
  }
  return problems;
}

/**
 * Why a user cannot be approved today, whatever the documents show; null when nothing prevents it.
 */
export function findBar(
  catalogue: Catalogue,
  type: BeneficiaryType,
  values: Partial<Values>,
  today: string,
): string | null {
  const born = values[PERSON_FIELDS[type].birth_date];
  if (born && !isAdult(born, today)) return `the user is younger than ${ADULT_YEARS}`;
  if (values.country && isBlockedCountry(catalogue, values.country)) {
    return "the user's country is not supported";
  }
  return null;
}

/** Both as `YYYY-MM-DD`; a person born on 29 February comes of age on 1 March. */
function isAdult(born: string, today: string): boolean {
  const year = String(Number(born.slice(0, 4)) + ADULT_YEARS).padStart(4, "0");
  return `${year}${born.slice(4)}` <= today;
}

function checkName(draft: Draft<IdentityFieldName>, name: (typeof NAME_FIELDS)[number]): void {
  const value = draft.values[name];
  if (value === null) return;
  if (!NAME.test(value) || ONE_CHARACTER.test(value)) {
    report(draft, name, "record_invalid", "Enter the name as shown on the identity document.");
  }
}

function checkPhone(draft: Draft<IdentityFieldName>): void {
  if (draft.values.phone === null) return;
  draft.values.phone = draft.values.phone.replace(/[\s().-]/g, "");
  if (PHONE.test(draft.values.phone)) return;
  const message = "Enter the number with + and the country code, such as +351 210 000 000.";
  report(draft, "phone", "record_invalid", message);
}

function checkAddress(
  draft: Draft<IdentityFieldName>,
  catalogue: Catalogue,
  standing: Partial<Values>,
): void {
  const { values } = draft;
  if (values.country !== null && isBlockedCountry(catalogue, values.country)) {
    report(draft, "country", "country_not_supported", "This country is not supported.");
  }
  const country = findPostalCountry(values.country ?? standing.country ?? "");
  // The message does not name the country: it may be hidden from this reader.
  if (values.state !== null && country?.states) {
    const code = findState(country, values.state);
    if (code) values.state = code;
    else report(draft, "state", "record_invalid", "Choose a state of your country.");
  }
  if (values.postcode !== null && country?.postcode_pattern) {
    values.postcode = upperAscii(values.postcode);
    if (new RegExp(country.postcode_pattern).test(values.postcode)) return;
    report(draft, "postcode", "record_invalid", "This postcode is not valid in your country.");
  }
}

function unknownField(name: string, known: readonly string[]): Problem {
  const message = `This field is unknown. Known fields: ${known.join(", ")}.`;
  return { field: `identity.${name.slice(0, 100)}`, code: "parameter_unknown", message };
}
