import type { FieldRule } from "./field-rules.ts";
import { type Catalogue, minimumOf, payoutCurrencies, railsOf, requirementOf } from "./lookups.ts";
import {
  BENEFICIARY_TYPES,
  type BeneficiaryType,
  FIELD_LENGTHS,
  type FieldName,
  GENERAL_FIELDS,
  type GeneralField,
} from "./payment-detail-fields.ts";
import { DEFAULT_RAIL, type Rail } from "./rails.ts";
import type { RailRequirement } from "./requirements.ts";
import { lowerAscii } from "./text.ts";

export type RequirementField = {
  name: FieldName;
  /** Always required; the fields of `one_of` are required as a set. */
  required: boolean;
  /** A regular expression for the value without spaces and hyphens, codes in upper case. */
  pattern: string | null;
  check: string | null;
  max_length: number;
  description: string;
  example: string;
};

export type RequirementRow = {
  currency: string;
  rails: Rail;
  beneficiary_type: BeneficiaryType;
  /** Null if the minimum is stated in usd. */
  minimum_amount: number | null;
  minimum_usd_equivalent: number | null;
  experimental: boolean;
  /** Allowed countries of the account's bank, according to its IBAN and BIC; null means any. */
  bank_countries: string[] | null;
  fields: RequirementField[];
  /** Send all fields of at least one of these sets. Empty if there is no choice. */
  one_of: FieldName[][];
};

export type RequirementFilter = { currency?: string; rails?: string; beneficiary_type?: string };

/**
 * The machine-readable table, by currency, rail and beneficiary type. A filter without a match
 * returns no rows.
 */
export function describeRequirements(
  catalogue: Catalogue,
  filter: RequirementFilter = {},
): RequirementRow[] {
  const rows: RequirementRow[] = [];
  const wanted_currency = filter.currency === undefined ? undefined : lowerAscii(filter.currency);
  const wanted_rail = filter.rails === undefined ? undefined : lowerAscii(filter.rails);
  for (const currency of payoutCurrencies(catalogue)) {
    if (wanted_currency !== undefined && currency !== wanted_currency) continue;
    for (const rail of railsOf(catalogue, currency)) {
      if (wanted_rail !== undefined && rail !== wanted_rail) continue;
      for (const type of BENEFICIARY_TYPES) {
        if (filter.beneficiary_type !== undefined && type !== filter.beneficiary_type) continue;
        rows.push(describeRow(catalogue, currency, rail, type));
      }
    }
  }
  return rows;
}

function describeRow(
  catalogue: Catalogue,
  currency: string,
  rail: Rail,
  beneficiary_type: BeneficiaryType,
): RequirementRow {
  const requirement = requirementOf(catalogue, currency, rail)!;
  const minimum = minimumOf(catalogue, currency, rail);
  const examples = { currency, rails: rail, beneficiary_type };
  const general = GENERAL_FIELDS.map((field) => describeGeneral(field, requirement, examples));
  const one_of = requirement.alternatives.map((set) => set.map((rule) => rule.name));
  return {
    currency,
    rails: rail,
    beneficiary_type,
    minimum_amount: "amount" in minimum ? Number(minimum.amount) : null,
    minimum_usd_equivalent: "amount" in minimum ? null : Number(minimum.usd_equivalent),
    experimental: requirement.experimental,
    bank_countries: requirement.bank_countries && [...requirement.bank_countries],
    fields: mergeByName([...general, ...describeRules(requirement, beneficiary_type)]),
    one_of: one_of.length > 1 ? one_of : [],
  };
}

function describeGeneral(
  field: GeneralField,
  requirement: RailRequirement,
  examples: { currency: string; rails: Rail; beneficiary_type: BeneficiaryType },
): RequirementField {
  const { name, needed, pattern, check, description } = field;
  const required =
    needed === "always" ||
    (needed === "if_individual" && examples.beneficiary_type === "individual") ||
    // The default is local: other rails must be named.
    (name === "rails" && examples.rails !== DEFAULT_RAIL);
  const example = Object.hasOwn(examples, name) ? examples[name as keyof typeof examples] : null;
  const max_length = requirement.length_limits[name] ?? FIELD_LENGTHS[name];
  return {
    ...{ name, required, pattern, check, max_length, description },
    example: example ?? field.example,
  };
}

function describeRules(
  requirement: RailRequirement,
  beneficiary_type: BeneficiaryType,
): RequirementField[] {
  const { alternatives, optional } = requirement;
  const inEvery = (rule: FieldRule) =>
    alternatives.every((set) => set.some((other) => other.name === rule.name));
  const describe = (rule: FieldRule, required: boolean): RequirementField => ({
    name: rule.name,
    required,
    pattern: rule.pattern,
    check: rule.check,
    max_length: requirement.length_limits[rule.name] ?? FIELD_LENGTHS[rule.name],
    description: rule.description,
    example: rule.example,
  });
  return [
    ...alternatives.flat().map((rule) => describe(rule, inEvery(rule))),
    ...requirement[beneficiary_type].map((rule) => describe(rule, true)),
    ...optional.map((rule) => describe(rule, false)),
  ];
}

/** One entry per field: the format of the first, required if any of them is. */
function mergeByName(fields: readonly RequirementField[]): RequirementField[] {
  const by_name = new Map<FieldName, RequirementField>();
  for (const field of fields) {
    const known = by_name.get(field.name);
    if (!known) by_name.set(field.name, field);
    else known.required ||= field.required;
  }
  return [...by_name.values()];
}
