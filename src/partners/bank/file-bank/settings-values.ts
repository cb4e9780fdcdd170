import { checkIdentifier } from "../../../catalogue/bank-identifiers.ts";
import { operatorFile } from "../../../catalogue/operator-file.ts";

export const FILE = operatorFile("The banks file");

/** An identifier of a bank or an account, in the form in which it is compared. */
export function identifier(check: "iban" | "bic" | "aba", value: unknown, path: string): string {
  const checked = checkIdentifier(check, asText(value, path));
  if ("value" in checked) return checked.value;
  throw FILE.wrong(path, `is wrong (${checked.reason})`);
}

export function asText(value: unknown, path: string): string {
  if (typeof value === "string" && value.trim() !== "") return value.trim();
  throw FILE.wrong(path, "must be a text");
}

export function asTexts(value: unknown, path: string): string[] {
  if (!Array.isArray(value) || value.length === 0)
    throw FILE.wrong(path, "must be a list of texts");
  return value.map((one) => asText(one, path));
}

export function asBoolean(value: unknown, path: string): boolean {
  if (typeof value === "boolean") return value;
  throw FILE.wrong(path, "must be true or false");
}

export function oneOf<const Value extends string>(
  value: unknown,
  values: readonly Value[],
  path: string,
): Value {
  const found = values.find((known) => known === value);
  if (found !== undefined) return found;
  throw FILE.wrong(path, `must be ${values.join(" or ")}`);
}
