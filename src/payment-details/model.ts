import {
  type Catalogue,
  isBlockedCountry,
  railsOf,
  requirementOf,
} from "../catalogue/catalogue.ts";
import {
  checkCountry,
  checkPastDate,
  checkWord,
  type Draft as DraftOf,
  FIRST_BIRTH_DATE,
  FIRST_FOUNDING_DATE,
  isGiven,
  readDraft,
  report,
  reportTooLong,
  requireField,
} from "../catalogue/draft.ts";
import {
  checkFieldRule,
  type FieldRule,
  normaliseField,
  USUAL_RULES,
} from "../catalogue/field-rules.ts";
import { type Metadata, readMetadata } from "../catalogue/metadata.ts";
import {
  ACCOUNT_TYPES,
  BENEFICIARY_TYPES,
  type BeneficiaryType,
  FIELD_LENGTHS,
  FIELD_NAMES,
  type FieldName,
  GENDERS,
  GENERAL_FIELDS,
  WORD_FIELDS,
} from "../catalogue/payment-detail-fields.ts";
import { DEFAULT_RAIL, isRail, RAILS, type Rail } from "../catalogue/rails.ts";
import type { RailRequirement } from "../catalogue/requirements.ts";
import { isLongerThan, lowerAscii } from "../catalogue/text.ts";
import type { Problem } from "../platform/errors.ts";
import { digestOf } from "../platform/sealing/seal.ts";
import { checkBankCountries, checkSameAccount } from "./bank-checks.ts";

export const PAYMENT_DETAIL_STATUSES = ["pending", "approved", "failed", "deactivated"] as const;
export type PaymentDetailStatus = (typeof PAYMENT_DETAIL_STATUSES)[number];

/**
 * Legal moves. A repeated screening may make an approved account undecided again, and it must not
 * be paid until then. `failed` and `deactivated` are final: the account is registered again, so
 * that its history is kept.
 */
export const PAYMENT_DETAIL_MOVES: Readonly<
  Record<PaymentDetailStatus, readonly PaymentDetailStatus[]>
> = {
  pending: ["approved", "failed", "deactivated"],
  approved: ["pending", "failed", "deactivated"],
  failed: ["deactivated"],
  deactivated: [],
};

/** Whether money may go there: an account that is not yet screened waits like a pending one. */
export function payableStatus(detail: {
  status: PaymentDetailStatus;
  is_stale: boolean;
}): PaymentDetailStatus {
  return detail.status === "approved" && detail.is_stale ? "pending" : detail.status;
}

/** Every field, null when absent. Dates as `YYYY-MM-DD`, identifiers without spaces. */
export type PaymentDetailFields = Record<FieldName, string | null> & { metadata: Metadata | null };

export type PaymentDetail = {
  account_id: string;
  id: string;
  user_id: string;
  status: PaymentDetailStatus;
  fields: PaymentDetailFields;
  /** Number of the last event. */
  sequence: number;
  created_at: Date;
  updated_at: Date;
};

/** The facts that the event of a move proves. */
export function digestDetail(
  detail: Pick<PaymentDetail, "account_id" | "id" | "user_id" | "status" | "sequence">,
): Buffer {
  const { account_id, id, user_id, status, sequence } = detail;
  return digestOf(account_id, id, user_id, status, sequence);
}

export type CheckedPaymentDetail = { problems: readonly Problem[]; fields: PaymentDetailFields };

const OBJECT = "payment_detail";

/**
 * All problems of a payment detail at once, and its fields in their stored form. A field with a
 * problem in `already` is neither checked nor reported again. Without problems the fields are
 * complete; otherwise the faulty ones are null.
 */
export function checkPaymentDetail(
  catalogue: Catalogue,
  input: unknown,
  today: string,
  already: readonly Problem[],
): CheckedPaymentDetail {
  const draft = readFields(input, already);
  const beneficiary_type = checkWords(draft);
  const currency = checkCurrency(draft, catalogue);
  const rail = checkRail(draft, catalogue, currency);
  checkCountries(draft, catalogue);
  const first = beneficiary_type === "individual" ? FIRST_BIRTH_DATE : FIRST_FOUNDING_DATE;
  checkPastDate(draft, "date_of_birth", today, first);
  checkGeneralNeeds(draft, beneficiary_type);
  const requirement = currency && rail && requirementOf(catalogue, currency, rail);
  const rules = requirement ? checkRequirement(draft, requirement, beneficiary_type) : [];
  checkOtherIdentifiers(draft, rules);
  if (requirement) checkBankCountries(draft, catalogue, requirement.bank_countries);
  const metadata = readMetadata(draft.input.metadata, "metadata", draft.found.report);
  return { problems: draft.problems, fields: { ...draft.values, metadata } };
}

/** Whether requirements exist for this currency and rail. */
export function checkRequirementFilter(
  catalogue: Catalogue,
  filter: { currency?: unknown; rails?: unknown },
): Problem[] {
  const problems: Problem[] = [];
  const currency = typeof filter.currency === "string" ? lowerAscii(filter.currency) : null;
  const offered = currency === null ? null : railsOf(catalogue, currency);
  if (offered?.length === 0) {
    const message = "This payout currency is not supported; leave the filter out to list all.";
    problems.push({ field: "currency", code: "currency_not_supported", message });
  }
  const rail = typeof filter.rails === "string" ? lowerAscii(filter.rails) : null;
  const is_offered = offered?.length ? offered.some((other) => other === rail) : isRail(rail ?? "");
  if (rail !== null && !is_offered) {
    const message = `Send one of: ${(offered?.length ? offered : RAILS).join(", ")}.`;
    problems.push({ field: "rails", code: "rails_not_available", message });
  }
  return problems;
}

/** Whether a stored payment detail has what a rail needs; it may be another rail than its own. */
export function satisfiesRail(
  catalogue: Catalogue,
  fields: PaymentDetailFields,
  rail: Rail,
): boolean {
  const requirement = requirementOf(catalogue, fields.currency ?? "", rail);
  if (!requirement) return false;
  const draft = readFields(fields, []);
  const type = draft.values.beneficiary_type as BeneficiaryType | null;
  checkSameAccount(draft, checkRequirement(draft, requirement, type));
  checkBankCountries(draft, catalogue, requirement.bank_countries);
  return draft.problems.length === 0;
}

type Draft = DraftOf<FieldName>;

// Fields with a closed list of values are checked by value, not by length.
const LIMITS = Object.fromEntries(
  FIELD_NAMES.map((name) => [name, WORD_FIELDS.has(name) ? null : FIELD_LENGTHS[name]]),
) as Record<FieldName, number | null>;

function readFields(input: unknown, already: readonly Problem[]): Draft {
  const draft = readDraft(OBJECT, LIMITS, input, already);
  for (const name of FIELD_NAMES) {
    const value = draft.values[name];
    if (value !== null) draft.values[name] = normaliseField(name, value) || null;
  }
  return draft;
}

function checkWords(draft: Draft): BeneficiaryType | null {
  checkWord(draft, "account_type", ACCOUNT_TYPES);
  checkWord(draft, "gender", GENDERS);
  checkWord(draft, "beneficiary_type", BENEFICIARY_TYPES);
  return draft.values.beneficiary_type as BeneficiaryType | null;
}

function checkCurrency(draft: Draft, catalogue: Catalogue): string | null {
  if (draft.values.currency === null) return null;
  draft.values.currency = lowerAscii(draft.values.currency);
  if (railsOf(catalogue, draft.values.currency).length === 0) {
    const message = "This payout currency is not supported; see GET /payment_detail_requirements.";
    report(draft, "currency", "currency_not_supported", message);
  }
  return draft.values.currency;
}

function checkRail(draft: Draft, catalogue: Catalogue, currency: string | null): Rail | null {
  if (!draft.found.isSound("rails")) return null;
  const rail = lowerAscii(draft.values.rails ?? DEFAULT_RAIL);
  draft.values.rails = rail;
  const offered = currency === null ? null : railsOf(catalogue, currency);
  if (offered && !offered.some((other) => other === rail)) {
    const message = `For ${currency} send rails as one of: ${offered.join(", ")}.`;
    report(draft, "rails", "rails_not_available", message);
  } else if (!isRail(rail)) {
    const message = "This rail does not exist; see GET /payment_detail_requirements.";
    report(draft, "rails", "rails_not_available", message);
  }
  return draft.values.rails as Rail | null;
}

function checkCountries(draft: Draft, catalogue: Catalogue): void {
  for (const name of ["country", "nationality"] as const) checkCountry(draft, name);
  if (draft.values.country !== null && isBlockedCountry(catalogue, draft.values.country)) {
    const message = "Payouts to account holders in this country are not supported.";
    report(draft, "country", "country_not_supported", message);
  }
}

function checkGeneralNeeds(draft: Draft, beneficiary_type: BeneficiaryType | null): void {
  const is_needed = {
    always: true,
    if_individual: beneficiary_type === "individual",
    if_united_states: draft.values.country === "US",
    never: false,
  };
  for (const { name, needed, description } of GENERAL_FIELDS) {
    if (is_needed[needed]) requireField(draft, name, `Send ${name}: ${description}.`);
  }
}

/** Returns the applied rules. */
function checkRequirement(
  draft: Draft,
  requirement: RailRequirement,
  beneficiary_type: BeneficiaryType | null,
): readonly FieldRule[] {
  const chosen = chooseAlternative(draft, requirement.alternatives);
  const others = requirement.alternatives.filter((set) => set !== chosen).map(namesOf);
  const instead = others.length > 0 ? ` Or send ${others.join(", or ")} instead.` : "";
  for (const { name, description } of chosen) {
    requireField(draft, name, `Send ${name}: ${description}.${instead}`);
  }
  const by_type = beneficiary_type ? requirement[beneficiary_type] : [];
  for (const { name, description } of by_type) {
    requireField(draft, name, `Send ${name}: ${description}.`);
  }
  const optional = requirement.optional.filter(
    (rule) => ![...chosen, ...by_type].some((other) => other.name === rule.name),
  );
  const rules = [...chosen, ...by_type, ...optional];
  for (const rule of rules) applyRule(draft, rule);
  checkLengthLimits(draft, requirement.length_limits);
  return rules;
}

/** The first complete set, otherwise the first begun, otherwise the first. */
function chooseAlternative(
  draft: Draft,
  alternatives: RailRequirement["alternatives"],
): readonly FieldRule[] {
  const given = ({ name }: FieldRule) => isGiven(draft, name);
  const whole = alternatives.find((set) => set.every(given));
  return whole ?? alternatives.find((set) => set.some(given)) ?? alternatives[0] ?? [];
}

function namesOf(set: readonly FieldRule[]): string {
  return set.map((rule) => rule.name).join(" and ");
}

function applyRule(draft: Draft, rule: FieldRule): void {
  const value = draft.values[rule.name];
  if (value === null) return;
  const identified = checkFieldRule(rule, value);
  if ("value" in identified) draft.values[rule.name] = identified.value;
  else report(draft, rule.name, "record_invalid", identified.reason);
  if (rule.stands_for && !isGiven(draft, rule.stands_for)) {
    draft.values[rule.stands_for] = draft.values[rule.name];
  }
}

function checkLengthLimits(draft: Draft, limits: RailRequirement["length_limits"]): void {
  for (const [name, characters_max] of Object.entries(limits) as [FieldName, number][]) {
    const value = draft.values[name];
    if (value === null || !isLongerThan(value, characters_max)) continue;
    reportTooLong(draft, name, characters_max);
  }
}

/** Optional fields are stored too, so they must be valid as well. */
function checkOtherIdentifiers(draft: Draft, applied: readonly FieldRule[]): void {
  for (const rule of USUAL_RULES) {
    if (!applied.some((other) => other.name === rule.name)) applyRule(draft, rule);
  }
  checkSameAccount(draft, applied);
}
