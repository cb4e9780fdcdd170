import { minorDigits } from "../catalogue/currencies.ts";
import { parseAmount } from "../platform/money.ts";
import type { ObjectProblems } from "../platform/problems.ts";

/** A code in lower case; undefined, and reported, where it is blank or not a string. */
export function readCode(
  problems: ObjectProblems,
  name: string,
  value: unknown,
): string | undefined {
  if (problems.isAtFault(name)) return undefined;
  const code = typeof value === "string" ? value.trim().toLowerCase() : "";
  if (code !== "") return code;
  problems.missing(name);
  return undefined;
}

/** An amount in minor units of the currency; undefined, and reported, where it is invalid. */
export function readAmount(
  problems: ObjectProblems,
  name: string,
  value: unknown,
  currency: string | undefined,
): bigint | undefined {
  const digits = currency === undefined ? undefined : minorDigits(currency);
  if (problems.isAtFault(name) || digits === undefined) return undefined;
  const amount = parseAmount(value, digits);
  if ("value" in amount) return amount.value;
  problems.invalid(name, amount.reason);
  return undefined;
}
