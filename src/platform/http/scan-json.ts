import { PROBLEMS_LISTED_MAX, type Problem, Refusal } from "../errors.ts";
import { isSameNumber, SIGNIFICANT_DIGITS_MAX } from "../money.ts";
import { BODY, quoted } from "../problems.ts";

const DEPTH_MAX = 32;
/** The largest legitimate request, a batch of 5 000 rows with 16 cells each, has 95 000. */
const VALUES_MAX = 120_000;
/** Many times what any object of the API has. */
const NAMES_MAX = 1_000;

/** A text of this length is read byte by byte. */
const SHORT_BYTES = 64;

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_ARRAY, CLOSE_ARRAY] = [0x7b, 0x7d, 0x5b, 0x5d];
const [ZERO, NINE] = [0x30, 0x39];
const SMALL_U = 0x75;
/** Of `\uXXXX`. */
const UNIT_BYTES = 6;

const FORBIDDEN = "Remove NUL characters and incomplete surrogate pairs.";
const BACKSLASH_IN_NAME = "Send names of fields without backslashes.";
const CHANGED = `Send at most ${SIGNIFICANT_DIGITS_MAX} significant digits.`;

/** An object or array around the current position. */
type Level = {
  /** The names of an object so far; null in an array. */
  names: Set<string> | null;
  /** The current position: after this name, or at this item. */
  name: string;
  index: number;
  expects_name: boolean;
  /** The level's own path, computed on first use. */
  path: string | null;
};

/**
 * Reads JSON once, in time linear in its length, before it is parsed. Refuses excessive nesting,
 * too many values or names, names with a backslash, duplicate names in one object, and more
 * problems than an answer lists. Returns the values that cannot be stored: numbers that a double
 * would change, text that is not Unicode. Malformed JSON is left to the parser.
 */
export function scanJson(buffer: Buffer): Problem[] {
  const levels: Level[] = [];
  const problems: Problem[] = [];
  let omitted = 0;
  const report = (findField: (levels: Level[]) => string, message: string) => {
    if (problems.length < PROBLEMS_LISTED_MAX) {
      problems.push({ field: findField(levels), code: "record_invalid", message });
    } else omitted += 1;
  };
  let values = 0;
  const countValue = () => {
    values += 1;
    if (values > VALUES_MAX) throw tooManyValues(levels);
  };
  for (let at = 0; at < buffer.length; at += 1) {
    const byte = buffer[at]!;
    const level = levels.at(-1);
    if (byte === QUOTE) {
      const end = endOfString(buffer, at);
      if (level?.expects_name) {
        if (!takeName(level, readString(buffer, at, end))) throw twice(level.name);
        if (level.name.includes("\\")) throw backslashInName(levels);
        if (level.names!.size > NAMES_MAX) throw tooManyNames(levels);
        if (isForbidden(level.name)) report(pathOf, FORBIDDEN);
      } else if (hasForbiddenEscape(buffer, at, end)) report(placeOf, FORBIDDEN);
      at = end;
    } else if (byte === COMMA) {
      countValue();
      if (level) {
        level.index += 1;
        level.expects_name = level.names !== null;
      }
    } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      countValue();
      levels.push(newLevel(byte === OPEN_OBJECT));
      if (levels.length > DEPTH_MAX) throw tooDeep();
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) levels.pop();
    else if (byte >= ZERO && byte <= NINE) {
      const end = endOfNumber(buffer, at);
      if (isChanged(buffer, at, end)) report(placeOf, CHANGED);
      at = end - 1;
    }
  }
  if (omitted > 0) throw Refusal.of(problems, omitted);
  return problems;
}

function newLevel(is_object: boolean): Level {
  return {
    names: is_object ? new Set() : null,
    name: "",
    index: 0,
    expects_name: is_object,
    path: null,
  };
}

/** False if the object already has the name. */
function takeName(level: Level, name: string): boolean {
  level.expects_name = false;
  level.name = name;
  if (level.names!.has(name)) return false;
  level.names!.add(name);
  return true;
}

function tooDeep(): Refusal {
  return new Refusal("bad_request", `Send JSON nested at most ${DEPTH_MAX} levels deep.`);
}

function twice(name: string): Refusal {
  const shown = JSON.stringify(quoted(name));
  return new Refusal("bad_request", `${shown} appears twice in one JSON object; send it once.`);
}

/**
 * `JSON.parse` of Node 26 can misread a name with an escape, such as `pr\u00e9nom`, as the name
 * `pr\u00` with a backslash, if the last similar object, of any caller, had that name. No name
 * with a backslash is ever parsed, so this cannot happen.
 */
function backslashInName(levels: Level[]): Refusal {
  const problem = { code: "record_invalid", message: BACKSLASH_IN_NAME } as const;
  return Refusal.of([{ field: pathOf(levels), ...problem }]);
}

function tooManyValues(levels: Level[]): Refusal {
  const message = `Send fewer items: a request holds at most ${VALUES_MAX} values.`;
  return Refusal.of([{ field: pathOf(levels), code: "record_invalid", message }]);
}

function tooManyNames(levels: Level[]): Refusal {
  const message = `Send fewer fields: an object has at most ${NAMES_MAX}.`;
  return Refusal.of([{ field: pathOf(levels), code: "record_invalid", message }]);
}

/** The path of the innermost object or array. Each level caches its own, so that many are cheap. */
function pathOf(levels: readonly Level[]): string {
  let path = "";
  for (const [depth, level] of levels.entries()) {
    level.path ??= depth === 0 ? "" : placeIn(path, levels[depth - 1]!);
    path = level.path;
  }
  return path || BODY;
}

/** The path of the current value. */
function placeOf(levels: readonly Level[]): string {
  const level = levels.at(-1);
  if (!level) return BODY;
  pathOf(levels);
  return placeIn(level.path!, level) || BODY;
}

function placeIn(path: string, { names, name, index }: Level): string {
  if (names === null) return quoted(`${path}[${index}]`);
  return quoted(path === "" ? quoted(name) : `${path}.${quoted(name)}`);
}

/** The index of the closing quote, or the end. */
function endOfString(buffer: Buffer, start: number): number {
  let at = start + 1;
  const near = Math.min(at + SHORT_BYTES, buffer.length);
  while (at < near && buffer[at] !== QUOTE) at += buffer[at] === BACKSLASH ? 2 : 1;
  if (at < near || at >= buffer.length) return at;
  // A long text usually has no escapes: the search for bytes is many times faster than a loop.
  const quote = buffer.indexOf(QUOTE, at);
  const end = quote < 0 ? buffer.length : quote;
  if (!buffer.subarray(at, end).includes(BACKSLASH)) return end;
  while (at < buffer.length && buffer[at] !== QUOTE) at += buffer[at] === BACKSLASH ? 2 : 1;
  return at;
}

function readString(buffer: Buffer, start: number, end: number): string {
  const text = buffer.toString("utf8", start + 1, end);
  return text.includes("\\") ? decode(text) : text;
}

/**
 * Whether an escape stands for NUL or half of a surrogate pair: in valid UTF-8 they can come from
 * nothing else. Decoding each text with an escape would take most of the time of a body of them.
 */
function hasForbiddenEscape(buffer: Buffer, start: number, end: number): boolean {
  const text = buffer.subarray(start, end);
  for (let at = nextBackslash(text, 0); at >= 0; ) {
    const unit = unitAt(text, at);
    if (unit === 0) return true;
    const is_half = unit !== null && unit >= 0xd800 && unit <= 0xdfff;
    if (is_half) {
      const next = unitAt(text, at + UNIT_BYTES);
      if (unit >= 0xdc00 || next === null || next < 0xdc00 || next > 0xdfff) return true;
    }
    at = nextBackslash(text, at + (is_half ? 2 * UNIT_BYTES : 2));
  }
  return false;
}

/** A text can have millions of escapes: searching for each costs more than reading some bytes. */
function nextBackslash(text: Buffer, from: number): number {
  const end = Math.min(from + SHORT_BYTES, text.length);
  for (let at = from; at < end; at += 1) if (text[at] === BACKSLASH) return at;
  return text.indexOf(BACKSLASH, end);
}

/** What `\uXXXX` at this place stands for; null if something else is there. */
function unitAt(text: Buffer, at: number): number | null {
  if (text[at] !== BACKSLASH || text[at + 1] !== SMALL_U) return null;
  let unit = 0;
  for (let digit = at + 2; digit < at + UNIT_BYTES; digit += 1) {
    const value = hexValue(text[digit] ?? 0);
    if (value === null) return null;
    unit = unit * 16 + value;
  }
  return unit;
}

function hexValue(byte: number): number | null {
  if (byte >= ZERO && byte <= NINE) return byte - ZERO;
  const small = byte | 0x20;
  return small >= 0x61 && small <= 0x66 ? small - 0x57 : null;
}

function decode(text: string): string {
  try {
    return JSON.parse(`"${text}"`);
  } catch {
    // The parser will refuse it.
    return text;
  }
}

/** In valid UTF-8, NUL and lone surrogates can only come from an escape. */
function isForbidden(text: string): boolean {
  return text.includes("\0") || !text.isWellFormed();
}

/** Digits, point, signs and e. */
function endOfNumber(buffer: Buffer, start: number): number {
  let at = start + 1;
  for (; at < buffer.length; at += 1) {
    const byte = buffer[at]!;
    const is_part = (byte >= 0x2d && byte <= NINE) || byte === 0x2b || (byte | 0x20) === 0x65;
    if (!is_part) break;
  }
  return at;
}

/**
 * 1000.000000000000001 becomes 1000 in a double. Few numbers need the full comparison: a double
 * represents every number of up to 15 digits without a large exponent. The sign is not part of the
 * text and does not matter.
 */
function isChanged(buffer: Buffer, start: number, end: number): boolean {
  if (end - start <= SIGNIFICANT_DIGITS_MAX && !hasLargeExponent(buffer, start, end)) return false;
  const text = buffer.toString("latin1", start, end);
  return !isSameNumber(text, Number(text));
}

/** An exponent of three digits or more, with or without its sign. */
function hasLargeExponent(buffer: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) {
    if ((buffer[at]! | 0x20) === 0x65) return end - at > 3;
  }
  return false;
}
