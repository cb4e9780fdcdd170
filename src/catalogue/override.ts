import { parseAmount } from "../platform/money.ts";
import { IDENTIFIERS, type IdentifierCheck } from "./bank-identifiers.ts";
import { CHAINS, isChain, NETWORK_FEES, type NetworkFees, TOKEN_DIGITS } from "./chains.ts";
import { BLOCKED_COUNTRIES, isCountry } from "./countries.ts";
import { CURRENCIES, minorDigits } from "./currencies.ts";
import { checkFieldRule, type FieldRule } from "./field-rules.ts";
import type { Catalogue } from "./lookups.ts";
import type { MinimumAmount } from "./minimums.ts";
import { operatorFile } from "./operator-file.ts";
import {
  ACCOUNT_IDENTIFIERS,
  FIELD_LENGTHS,
  type FieldName,
  GENERAL_FIELDS,
  isFieldName,
} from "./payment-detail-fields.ts";
import { isRail, RAILS, type Rail, WIRE_CURRENCY } from "./rails.ts";
import type { RailRequirement } from "./requirements.ts";

const { parse, asObject, wrong } = operatorFile("The catalogue override");

/**
 * What an operator's file changes; every part of it is optional. Throws one sentence with the path
 * of the first error.
 */
export function parseOverride(
  json_text: string,
): Omit<Catalogue, "networks" | "tokens" | "onramp_rails"> {
  const parts = ["rails", "requirements", "minimums", "blocked_countries", "network_fees"];
  const file = parse(json_text, parts);
  const { rails = {}, requirements = {}, minimums = {}, blocked_countries } = file;
  return {
    rails: parseRails(rails),
    requirements: parseByRail(requirements, "requirements", parseRequirement),
    minimums: parseByRail(minimums, "minimums", parseMinimum),
    blocked_countries:
      blocked_countries === undefined
        ? BLOCKED_COUNTRIES
        : parseCountries(blocked_countries, "blocked_countries"),
    network_fees: { ...NETWORK_FEES, ...parseFees(file.network_fees ?? {}) },
  };
}

/** Amounts of a token by chain, as decimal text: `{ "tron": "1.5" }`. */
function parseFees(value: unknown): Partial<NetworkFees> {
  const fees = Object.entries(asObject(value, "network_fees")).map(([chain, amount]) => {
    const path = `network_fees.${chain}`;
    if (!isChain(chain)) throw wrong(path, `must be one of ${CHAINS.join(", ")}`);
    const parsed = amount === "0" ? { value: 0n } : parseAmount(amount, TOKEN_DIGITS);
    if (typeof amount !== "string" || "reason" in parsed) {
      throw wrong(path, 'must be an amount of a token as text, such as "1.5"');
    }
    return [chain, parsed.value];
  });
  return Object.fromEntries(fees);
}

function parseRails(value: unknown): Record<string, readonly Rail[]> {
  const rails: Record<string, readonly Rail[]> = {};
  for (const [currency, list] of Object.entries(asObject(value, "rails"))) {
    const path = `rails.${currency}`;
    assertCurrency(currency, path);
    rails[currency] = asArray(list, path).map((rail) => asRail(rail, currency, path));
  }
  return rails;
}

function parseByRail<T>(
  value: unknown,
  table: string,
  parseRow: (value: unknown, path: string, currency: string) => T,
): Record<string, Partial<Record<Rail, T>>> {
  const parsed: Record<string, Partial<Record<Rail, T>>> = {};
  for (const [currency, rows] of Object.entries(asObject(value, table))) {
    assertCurrency(currency, `${table}.${currency}`);
    const by_rail: Partial<Record<Rail, T>> = {};
    for (const [name, row] of Object.entries(asObject(rows, `${table}.${currency}`))) {
      const path = `${table}.${currency}.${name}`;
      by_rail[asRail(name, currency, path)] = parseRow(row, path, currency);
    }
    parsed[currency] = by_rail;
  }
  return parsed;
}

function parseRequirement(value: unknown, path: string): RailRequirement {
  const row = asObject(value, path, [
    ...["experimental", "bank_countries", "length_limits"],
    ...["alternatives", "individual", "business", "optional"],
  ]);
  const { experimental = false, bank_countries = null } = row;
  if (typeof experimental !== "boolean") {
    throw wrong(`${path}.experimental`, "must be true or false");
  }
  const alternatives = asArray(row.alternatives, `${path}.alternatives`);
  if (alternatives.length === 0) {
    throw wrong(`${path}.alternatives`, "must have at least one set of fields");
  }
  const parseRules = (rules: unknown, rules_path: string) =>
    asArray(rules ?? [], rules_path).map((rule, n) => parseRule(rule, `${rules_path}[${n}]`));
  const sets = alternatives.map((set, n) => parseRules(set, `${path}.alternatives[${n}]`));
  const nameless = sets.findIndex((set) => !set.some(namesAccount));
  if (nameless >= 0) {
    const fields = ACCOUNT_IDENTIFIERS.join(", ");
    throw wrong(`${path}.alternatives[${nameless}]`, `must have one of ${fields}`);
  }
  return {
    experimental,
    bank_countries:
      bank_countries === null ? null : parseCountries(bank_countries, `${path}.bank_countries`),
    alternatives: sets,
    individual: parseRules(row.individual, `${path}.individual`),
    business: parseRules(row.business, `${path}.business`),
    optional: parseRules(row.optional, `${path}.optional`),
    length_limits: parseLengthLimits(row.length_limits ?? {}, `${path}.length_limits`),
  };
}

function namesAccount({ name }: FieldRule): boolean {
  return (ACCOUNT_IDENTIFIERS as readonly FieldName[]).includes(name);
}

/** A rule whose own example fails would refuse every value, so it is refused itself. */
function parseRule(value: unknown, path: string): FieldRule {
  const known = ["name", "pattern", "check", "description", "example", "stands_for"];
  const given = asObject(value, path, known);
  const rule: FieldRule = {
    name: asRuleField(given.name, `${path}.name`),
    pattern: asPattern(given.pattern ?? null, `${path}.pattern`),
    check: asCheck(given.check ?? null, `${path}.check`),
    description: asText(given.description, `${path}.description`),
    example: asText(given.example, `${path}.example`),
  };
  if (given.stands_for !== undefined) {
    rule.stands_for = asRuleField(given.stands_for, `${path}.stands_for`);
  }
  const result = checkFieldRule(rule, rule.example);
  if ("reason" in result)
    throw wrong(`${path}.example`, "must match the pattern and the check next to it");
  return rule;
}

function parseLengthLimits(value: unknown, path: string): Partial<Record<FieldName, number>> {
  const limits: Partial<Record<FieldName, number>> = {};
  for (const [name, limit] of Object.entries(asObject(value, path))) {
    const general_limit = isFieldName(name) ? FIELD_LENGTHS[name] : 0;
    const is_limit = Number.isInteger(limit) && Number(limit) >= 1;
    if (!is_limit || Number(limit) > general_limit) {
      const range = general_limit ? `from 1 to ${general_limit}` : "of a known field";
      throw wrong(`${path}.${name}`, `must be a whole number ${range}`);
    }
    limits[name as FieldName] = Number(limit);
  }
  return limits;
}

function parseMinimum(value: unknown, path: string, currency: string): MinimumAmount {
  const given = asObject(value, path, ["amount", "usd_equivalent"]);
  if (Object.keys(given).length !== 1) {
    throw wrong(path, "must have either amount or usd_equivalent");
  }
  if (given.amount !== undefined) {
    return { amount: asAmount(given.amount, `${path}.amount`, currency) };
  }
  return { usd_equivalent: asAmount(given.usd_equivalent, `${path}.usd_equivalent`, "usd") };
}

function parseCountries(value: unknown, path: string): string[] {
  return asArray(value, path).map((country, n) => {
    if (typeof country === "string" && isCountry(country)) return country;
    throw wrong(`${path}[${n}]`, "must be an ISO 3166-1 alpha-2 code in upper case");
  });
}

function asAmount(value: unknown, path: string, currency: string): string {
  const digits = minorDigits(currency) ?? 0;
  const form = /^(0|[1-9]\d{0,14})(?:\.(\d+))?$/.exec(typeof value === "string" ? value : "");
  if (form && (form[2]?.length ?? 0) <= digits) return form[0];
  throw wrong(path, `must be a decimal string with at most ${digits} digits after the point`);
}

function assertCurrency(currency: string, path: string): void {
  if (!CURRENCIES.has(currency)) {
    throw wrong(path, "must be a lowercase ISO 4217 code");
  }
}

function asRail(value: unknown, currency: string, path: string): Rail {
  if (typeof value !== "string" || !isRail(value)) {
    throw wrong(path, `must use the rails ${RAILS.join(", ")}`);
  }
  if (value === "wire" && currency !== WIRE_CURRENCY) {
    throw wrong(path, `must not use wire, which is for ${WIRE_CURRENCY} only`);
  }
  return value;
}

const GENERAL_NAMES: ReadonlySet<string> = new Set(GENERAL_FIELDS.map((field) => field.name));

/** The general fields are required for every account without rules; only the others have rules. */
function asRuleField(value: unknown, path: string): FieldName {
  const is_rule_field =
    typeof value === "string" && isFieldName(value) && !GENERAL_NAMES.has(value);
  if (is_rule_field) return value;
  throw wrong(path, "must be an identifier field of payment details, such as account_number");
}

function asPattern(value: unknown, path: string): string | null {
  if (value === null) return null;
  try {
    return new RegExp(asText(value, path)).source;
  } catch {
    throw wrong(path, "must be a regular expression");
  }
}

function asCheck(value: unknown, path: string): IdentifierCheck | null {
  if (value === null) return null;
  if (typeof value === "string" && Object.hasOwn(IDENTIFIERS, value)) {
    return value as IdentifierCheck;
  }
  throw wrong(path, `must be one of ${Object.keys(IDENTIFIERS).join(", ")}`);
}

function asText(value: unknown, path: string): string {
  if (typeof value === "string" && value.trim() !== "") return value;
  throw wrong(path, "must be a string that is not blank");
}

function asArray(value: unknown, path: string): unknown[] {
  if (Array.isArray(value)) return value;
  throw wrong(path, "must be a list");
}
