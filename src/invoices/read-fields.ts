import {
  CONTROLS,
  hasControlCharacters,
  INVISIBLE,
  isBlank,
  isLongerThan,
  isVisible,
} from "../catalogue/text.ts";
import type { ErrorCode, Problem } from "../platform/errors.ts";
import { Problems } from "../platform/problems.ts";

/** Reads a request's fields and collects problems, at most one per field. */
export type Fields = {
  /** The problems found here, without those known before. */
  readonly problems: readonly Problem[];
  report(field: string, code: ErrorCode, message: string): void;
  missing(field: string): void;
  /** Trimmed; undefined when it is absent or invalid. */
  text(field: string, value: unknown, limit: number, may_have_lines?: boolean): string | undefined;
  digits(field: string, value: unknown): string | undefined;
};

const DIGITS = /^\d{1,15}$/;

/** Fields that the schema already refused are not reported again, nor anything inside them. */
export function readFields(already: readonly Problem[]): Fields {
  const found = new Problems(already);
  const known = found.list.length;
  const report: Fields["report"] = (field, code, message) => found.report(field, code, message);
  const text: Fields["text"] = (field, value, limit, may_have_lines = false) => {
    if (typeof value !== "string" || isBlank(value)) return undefined;
    const trimmed = value.trim();
    const checked = may_have_lines ? trimmed.replace(/[\n\r\t]/g, " ") : trimmed;
    if (isLongerThan(trimmed, limit)) {
      report(field, "value_too_long", `Shorten it to at most ${limit} characters.`);
    } else if (hasControlCharacters(checked)) {
      report(field, "record_invalid", CONTROLS);
    } else if (!isVisible(trimmed)) report(field, "record_invalid", INVISIBLE);
    else return trimmed;
    return undefined;
  };
  return {
    get problems() {
      return found.list.slice(known);
    },
    report,
    missing: (field) => found.missing(field),
    text,
    digits: (field, value) => {
      if (typeof value !== "string" || isBlank(value)) return undefined;
      // Not trimmed: an amount has no space, wherever it stands.
      if (DIGITS.test(value)) return value;
      report(field, "record_invalid", "Send minor units: 1 to 15 digits and nothing else.");
      return undefined;
    },
  };
}

/** An object of a request, or an empty one where another type was sent. */
export function objectOf(value: unknown): Record<string, unknown> {
  const is_object = typeof value === "object" && value !== null && !Array.isArray(value);
  return is_object ? (value as Record<string, unknown>) : {};
}

export function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Without undefined fields. */
export function compactObject<Value extends object>(value: Value): Value {
  return Object.fromEntries(
    Object.entries(value).filter(([, item]) => item !== undefined),
  ) as Value;
}
