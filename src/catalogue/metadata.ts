import type { ErrorCode, Problem } from "../platform/errors.ts";
import { hasForbiddenCharacters, isLongerThan, isVisible } from "./text.ts";

export type Metadata = Record<string, string | number | boolean>;

const METADATA_KEYS_MAX = 50;
const METADATA_KEY_LENGTH_MAX = 40;
const METADATA_VALUE_LENGTH_MAX = 500;

/** A caller's own keys and values; null when there are none, or they are invalid and reported. */
export function readMetadata(
  value: unknown,
  field: string,
  report: (field: string, code: ErrorCode, message: string) => void,
): Metadata | null {
  if (value === undefined || value === null) return null;
  const problems = findProblems(value, field);
  for (const { field: place, code, message } of problems) report(place, code, message);
  return problems.length === 0 ? { ...(value as Metadata) } : null;
}

function findProblems(value: NonNullable<unknown>, field: string): Problem[] {
  if (typeof value !== "object" || Array.isArray(value)) {
    return [problem(field, "record_invalid", "Send metadata as a flat object of keys and values.")];
  }
  const entries = Object.entries(value);
  if (entries.length > METADATA_KEYS_MAX) {
    return [problem(field, "record_invalid", `Send at most ${METADATA_KEYS_MAX} keys.`)];
  }
  return entries.flatMap(([key, item]) => checkKey(key, field) ?? checkItem(item, field, key));
}

// An invalid key is reported for the object, because it cannot be part of a readable path.
function checkKey(key: string, field: string): Problem[] | undefined {
  if (!isVisible(key) || hasForbiddenCharacters(key)) {
    const message = "Keys need a visible character, and must not contain control characters.";
    return [problem(field, "record_invalid", message)];
  }
  if (isLongerThan(key, METADATA_KEY_LENGTH_MAX)) {
    const message = `Shorten the keys to at most ${METADATA_KEY_LENGTH_MAX} characters.`;
    return [problem(field, "value_too_long", message)];
  }
  return undefined;
}

function checkItem(item: unknown, object_field: string, key: string): Problem[] {
  const field = `${object_field}.${key}`;
  if (typeof item === "boolean" || (typeof item === "number" && Number.isFinite(item))) return [];
  if (typeof item !== "string") {
    return [problem(field, "record_invalid", "Send a string, a number or a boolean.")];
  }
  if (hasForbiddenCharacters(item)) {
    return [problem(field, "record_invalid", "Remove NUL characters and invalid Unicode.")];
  }
  if (isLongerThan(item, METADATA_VALUE_LENGTH_MAX)) {
    const message = `Shorten it to at most ${METADATA_VALUE_LENGTH_MAX} characters.`;
    return [problem(field, "value_too_long", message)];
  }
  return [];
}

function problem(field: string, code: ErrorCode, message: string): Problem {
  return { field, code, message };
}
