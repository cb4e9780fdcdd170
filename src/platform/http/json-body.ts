import { isUtf8 } from "node:buffer";
import { type Problem, Refusal } from "../errors.ts";
import { isSameNumber, SIGNIFICANT_DIGITS_MAX } from "../money.ts";
import { BODY } from "./validate.ts";

/** A parsed JSON body with what the routes need beside its value. */
export type JsonBody = { value: unknown; bytes: number; problems: Problem[] };

const DEPTH_MAX = 32;
/** Enough to mend a request by; an answer must not grow with what is wrong. */
const PROBLEMS_MAX = 100;
/** More numbers than this of more than 15 digits are no honest request: they cost too much. */
const LONG_NUMBERS_MAX = 10_000;
/** Finding the fields takes ten times as long as parsing; in a longer body they go unnamed. */
const NAMED_FIELDS_CHARACTERS_MAX = 1024 * 1024;
const LONE_SURROGATE = /\p{Surrogate}/u;

export function parseJsonBody(buffer: Buffer): JsonBody {
  if (!isUtf8(buffer)) throw new Refusal("bad_request", "Send the body in UTF-8.");
  const { depth, has_changed_number } = scan(buffer);
  if (depth > DEPTH_MAX) {
    throw new Refusal("bad_request", `Send JSON nested at most ${DEPTH_MAX} levels deep.`);
  }
  const text = buffer.toString();
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Refusal(
      "bad_request",
      "The body is not well-formed JSON; check it for typing errors.",
    );
  }
  // In valid UTF-8, NUL and lone surrogates can only come from an escape.
  const problems = text.includes("\\u") ? forbiddenCharacters(value, "") : [];
  if (has_changed_number) problems.push(...changedNumbers(text));
  return { value, bytes: buffer.length, problems: problems.slice(0, PROBLEMS_MAX) };
}

/**
 * How deep arrays and objects nest, so that no later walk can exhaust the stack; and whether some
 * number is one that a double does not hold. Few numbers are looked at twice: up to 15 digits
 * without a large exponent, a double holds them all.
 */
function scan(buffer: Buffer): { depth: number; has_changed_number: boolean } {
  let depth = 0;
  let deepest = 0;
  let long_numbers = 0;
  let has_changed_number = false;
  for (let at = 0; at < buffer.length; at += 1) {
    const byte = buffer[at]!;
    if (byte === 0x22) at = endOfString(buffer, at);
    else if (byte === 0x7b || byte === 0x5b) deepest = Math.max(deepest, ++depth);
    else if (byte === 0x7d || byte === 0x5d) depth -= 1;
    else if (byte >= 0x30 && byte <= 0x39) {
      const end = endOfNumber(buffer, at);
      if (end - at > SIGNIFICANT_DIGITS_MAX || hasLargeExponent(buffer, at, end)) {
        long_numbers += 1;
        has_changed_number ||=
          long_numbers > LONG_NUMBERS_MAX || isChanged(buffer.toString("latin1", at, end));
      }
      at = end - 1;
    }
  }
  return { depth: deepest, has_changed_number };
}

function endOfString(buffer: Buffer, start: number): number {
  let at = start + 1;
  while (at < buffer.length && buffer[at] !== 0x22) at += buffer[at] === 0x5c ? 2 : 1;
  return at;
}

/** Digits, point, signs and e. */
function endOfNumber(buffer: Buffer, start: number): number {
  let at = start + 1;
  for (; at < buffer.length; at += 1) {
    const byte = buffer[at]!;
    const is_part = (byte >= 0x2d && byte <= 0x39) || byte === 0x2b || (byte | 0x20) === 0x65;
    if (!is_part) break;
  }
  return at;
}

/** An exponent of three digits or more, with or without its sign. */
function hasLargeExponent(buffer: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) {
    if ((buffer[at]! | 0x20) === 0x65) return end - at > 3;
  }
  return false;
}

/** The minus, which is not part of the text, changes nothing. */
function isChanged(number_text: string): boolean {
  return !isSameNumber(number_text, Number(number_text));
}

/** Stands for a number that JSON.parse would silently have changed. */
const CHANGED = Symbol("changed number");

/**
 * 1000.000000000000001 becomes 1000 in a double. No input may change its value on the way in,
 * so whoever sends such a number is told.
 */
function changedNumbers(text: string): Problem[] {
  const mark = (_key: string, value: unknown, context?: { source?: string }) =>
    typeof value === "number" && !isSameNumber(context!.source!, value) ? CHANGED : value;
  const message = `Send at most ${SIGNIFICANT_DIGITS_MAX} significant digits.`;
  const problemAt = (field: string): Problem => ({ field, code: "record_invalid", message });
  if (text.length > NAMED_FIELDS_CHARACTERS_MAX) return [problemAt(BODY)];
  const fields: string[] = [];
  const collect = (value: unknown, field: string): void => {
    if (fields.length >= PROBLEMS_MAX) return;
    if (value === CHANGED) fields.push(field);
    else if (Array.isArray(value)) {
      value.forEach((item, index) => void collect(item, `${field}[${index}]`));
    } else if (value !== null && typeof value === "object") {
      for (const [name, item] of Object.entries(value)) {
        collect(item, field ? `${field}.${name.slice(0, 100)}` : name.slice(0, 100));
      }
    }
  };
  collect(JSON.parse(text, mark), "");
  // None where the scan only gave up counting.
  return (fields.length > 0 ? fields : [BODY]).map((field) => problemAt(field || BODY));
}

function forbiddenCharacters(value: unknown, field: string): Problem[] {
  if (typeof value === "string") {
    if (!isForbidden(value)) return [];
    const message = "Remove NUL characters and incomplete surrogate pairs.";
    return [{ field: field || BODY, code: "record_invalid", message }];
  }
  if (Array.isArray(value)) {
    return value.flatMap((item, index) => forbiddenCharacters(item, `${field}[${index}]`));
  }
  if (value === null || typeof value !== "object") return [];
  return Object.entries(value).flatMap(([name, item]) => {
    if (isForbidden(name)) return forbiddenCharacters(name, field);
    return forbiddenCharacters(item, field ? `${field}.${name}` : name);
  });
}

function isForbidden(text: string): boolean {
  return text.includes("\0") || LONE_SURROGATE.test(text);
}

/** The same text for equal JSON values, whatever the order of their keys. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value) ?? "null";
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  const members = entries.map(([key, item]) => `${JSON.stringify(key)}:${canonicalJson(item)}`);
  return `{${members.join(",")}}`;
}
