import { minorDigits } from "../catalogue/currencies.ts";
import type { ErrorCode, Problem } from "../platform/errors.ts";
import { parseAmount } from "../platform/money.ts";
import { BODY } from "../platform/problems.ts";

/** Collects what is wrong with one object of a request, one problem a field. */
export type Findings = {
  problems: Problem[];
  report(name: string, code: ErrorCode, message: string): void;
  isAtFault(name: string): boolean;
};

/** `wrapper` is the object's path; `found` is what the schema has found wrong already. */
export function createFindings(wrapper: string, found: readonly Problem[]): Findings {
  const problems = [...found];
  const isAtFault = (name: string) => {
    // Where the object itself is missing or no object, its fields need no word.
    const fields = [BODY, wrapper, `${wrapper}.${name}`];
    return problems.some((problem) => fields.includes(problem.field));
  };
  return {
    problems,
    isAtFault,
    report: (name, code, message) => {
      if (isAtFault(name)) return;
      problems.push({ field: `${wrapper}.${name}`, code, message });
    },
  };
}

/** A code in lower case; undefined, and reported, where it is blank or no text. */
export function readCode(findings: Findings, name: string, value: unknown): string | undefined {
  if (findings.isAtFault(name)) return undefined;
  const code = typeof value === "string" ? value.trim().toLowerCase() : "";
  if (code !== "") return code;
  findings.report(name, "parameter_missing", `Send ${name}.`);
  return undefined;
}

/** An amount in minor units of the currency; undefined, and reported, where it is none. */
export function readAmount(
  findings: Findings,
  name: string,
  value: unknown,
  currency: string | undefined,
): bigint | undefined {
  const digits = currency === undefined ? undefined : minorDigits(currency);
  if (findings.isAtFault(name) || digits === undefined) return undefined;
  const amount = parseAmount(value, digits);
  if ("minor" in amount) return amount.minor;
  findings.report(name, "record_invalid", amount.reason);
  return undefined;
}

/** Absent, null and blank mean the same. */
export function isAbsent(value: unknown): boolean {
  return value === undefined || value === null || (typeof value === "string" && !value.trim());
}
