import type { ErrorCode, Problem } from "../platform/errors.ts";
import { type ObjectProblems, Problems } from "../platform/problems.ts";
import { isCountry } from "./countries.ts";
import { parseDate } from "./dates.ts";
import {
  CONTROLS,
  hasControlCharacters,
  hasForbiddenCharacters,
  INVISIBLE,
  isBlank,
  isLongerThan,
  isVisible,
} from "./text.ts";

/**
 * A caller's object before it becomes a record: its valid values, and everything found wrong, at
 * most one problem per field.
 */
export type Draft<Name extends string> = {
  /** The request's key that contains the object, e.g. `user`: paths of problems begin with it. */
  object: string;
  input: Record<string, unknown>;
  values: Record<Name, string | null>;
  found: ObjectProblems;
  /** The problems found here, without those known before. */
  readonly problems: readonly Problem[];
};

/**
 * Reads every text field, trimmed. A field that has a problem in `already` is neither checked nor
 * reported again. `limits` are characters; null leaves the length to a later check.
 */
export function readDraft<Name extends string>(
  object: string,
  limits: Readonly<Record<Name, number | null>>,
  input: unknown,
  already: readonly Problem[],
): Draft<Name> {
  const names = Object.keys(limits) as Name[];
  const is_object = typeof input === "object" && input !== null && !Array.isArray(input);
  const collector = new Problems(already);
  const known = collector.list.length;
  const draft: Draft<Name> = {
    object,
    input: is_object ? (input as Record<string, unknown>) : {},
    values: Object.fromEntries(names.map((name) => [name, null])) as Record<Name, string | null>,
    found: collector.within(object),
    get problems() {
      return collector.list.slice(known);
    },
  };
  for (const name of names) readText(draft, name, limits[name]);
  return draft;
}

function readText<Name extends string>(draft: Draft<Name>, name: Name, limit: number | null): void {
  const value = Object.hasOwn(draft.input, name) ? draft.input[name] : null;
  if (isBlank(value) || !draft.found.isSound(name)) return;
  if (typeof value !== "string") {
    report(draft, name, "record_invalid", "Send a string.");
  } else if (hasForbiddenCharacters(value)) {
    report(draft, name, "record_invalid", "Remove NUL characters and invalid Unicode.");
  } else if (hasControlCharacters(value.trim())) {
    report(draft, name, "record_invalid", CONTROLS);
  } else if (!isVisible(value)) {
    report(draft, name, "record_invalid", INVISIBLE);
  } else if (limit !== null && isLongerThan(value.trim(), limit)) {
    reportTooLong(draft, name, limit);
  } else {
    draft.values[name] = value.trim();
  }
}

export function report<Name extends string>(
  draft: Draft<Name>,
  name: Name,
  code: ErrorCode,
  message: string,
): void {
  draft.values[name] = null;
  draft.found.report(name, code, message);
}

export function reportTooLong<Name extends string>(
  draft: Draft<Name>,
  name: Name,
  characters_max: number,
): void {
  report(draft, name, "value_too_long", `Shorten it to at most ${characters_max} characters.`);
}

/** Whether the field was sent, valid or not. */
export function isGiven<Name extends string>(draft: Draft<Name>, name: Name): boolean {
  return draft.values[name] !== null || !draft.found.isSound(name);
}

export function requireField<Name extends string>(
  draft: Draft<Name>,
  name: Name,
  message: string,
): void {
  if (!isGiven(draft, name)) report(draft, name, "parameter_missing", message);
}

export function checkWord<Name extends string>(
  draft: Draft<Name>,
  name: Name,
  words: readonly string[],
): void {
  const value = draft.values[name];
  if (value !== null && !words.includes(value)) {
    report(draft, name, "record_invalid", `Send one of: ${words.join(", ")}.`);
  }
}

export function checkCountry<Name extends string>(draft: Draft<Name>, name: Name): void {
  const value = draft.values[name];
  if (value !== null && !isCountry(value)) {
    report(draft, name, "record_invalid", "Send an ISO 3166-1 alpha-2 code, e.g. PT.");
  }
}

/** No living person was born before this date; it also limits the age of companies. */
export const FIRST_BIRTH_DATE = "1900-01-01";
export const FIRST_FOUNDING_DATE = "1000-01-01";

/** A real date in the past, stored as `YYYY-MM-DD`. */
export function checkPastDate<Name extends string>(
  draft: Draft<Name>,
  name: Name,
  today: string,
  first: string,
): void {
  const text = draft.values[name];
  if (text === null) return;
  const date = parseDate(text);
  if (date === null) {
    report(draft, name, "record_invalid", "Send a real date as DD/MM/YYYY or YYYY-MM-DD.");
  } else if (date >= today || date < first) {
    report(draft, name, "record_invalid", "Send a date in the past; check the year.");
  } else {
    draft.values[name] = date;
  }
}
