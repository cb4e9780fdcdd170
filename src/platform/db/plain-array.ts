import { isoTime } from "../iso-time.ts";

/**
 * A PostgreSQL array of values that never need quotes: ids, numbers, times and fixed words. The
 * driver would scan each of them for characters to escape.
 */
export function plainArray(values: readonly (string | number | null)[]): string {
  return `{${values.map((value) => value ?? "NULL").join(",")}}`;
}

const BYTEA_OID = 17;
const UUID_OID = 2950;
const TIMESTAMPTZ_OID = 1184;
const HEAD_BYTES = 20;

/**
 * An array of bytes in PostgreSQL's binary format, which the driver sends as it is. As text it
 * would be twice as long, and writing it would take several times as long.
 */
export function bytesArray(values: readonly (Buffer | null)[]): Buffer {
  const length = values.reduce((sum, value) => sum + 4 + (value?.length ?? 0), HEAD_BYTES);
  const array = Buffer.allocUnsafe(length);
  let at = writeHead(array, BYTEA_OID, values.length, values.includes(null));
  for (const value of values) {
    at = array.writeInt32BE(value ? value.length : -1, at);
    at += value?.copy(array, at) ?? 0;
  }
  return array;
}

/** One dimension, with or without nulls, of this type, so many elements, the first is number 1. */
function writeHead(array: Buffer, oid: number, count: number, has_nulls: boolean): number {
  let at = 0;
  for (const value of [1, has_nulls ? 1 : 0, oid, count, 1]) at = array.writeInt32BE(value, at);
  return at;
}

export function isBytesArray(values: readonly unknown[]): values is (Buffer | null)[] {
  return (
    Buffer.isBuffer(values.find((one) => one !== null)) &&
    values.every((one) => one === null || Buffer.isBuffer(one))
  );
}

const ELEMENTS = Symbol("elements");

/** The types whose arrays are sent in binary, which the server reads in a fraction of the time. */
type BinaryType = "uuid" | "timestamptz";

/** Notes the type of the elements: a text that looks like an id can be a text. */
export function ofType<Values extends readonly unknown[]>(values: Values, type: string): Values {
  if (type === "uuid" || type === "timestamptz") Object.assign(values, { [ELEMENTS]: type });
  return values;
}

/** Undefined if no type was noted, or if an element has no binary form: then as text. */
export function binaryArray(values: readonly unknown[]): Buffer | undefined {
  const { [ELEMENTS]: type } = values as { [ELEMENTS]?: BinaryType };
  if (type === undefined || values.length === 0) return undefined;
  return type === "uuid"
    ? fixedArray(values, UUID_OID, UUID_BYTES, writeUuid)
    : fixedArray(values, TIMESTAMPTZ_OID, TIME_BYTES, writeTime);
}

/** `write` returns false for what has no binary form. */
function fixedArray(
  values: readonly unknown[],
  oid: number,
  bytes: number,
  write: (array: Buffer, at: number, value: unknown) => boolean,
): Buffer | undefined {
  const array = Buffer.allocUnsafe(HEAD_BYTES + values.length * (4 + bytes));
  let has_nulls = false;
  let last: unknown;
  let last_at = 0;
  let at = HEAD_BYTES;
  for (const value of values) {
    if (value === null || value === undefined) {
      has_nulls = true;
      at = array.writeInt32BE(-1, at);
      continue;
    }
    at = array.writeInt32BE(bytes, at);
    // Most sets are of one account and of one time.
    if (value === last) array.copyWithin(at, last_at, last_at + bytes);
    else if (!write(array, at, value)) return undefined;
    last = value;
    last_at = at;
    at += bytes;
  }
  writeHead(array, oid, values.length, has_nulls);
  return array.subarray(0, at);
}

const UUID_BYTES = 16;
const UUID_LENGTH = 36;
const HYPHEN = 0x2d;
const HYPHENS_AT: ReadonlySet<number> = new Set([8, 13, 18, 23]);
/** Where each byte begins in the text. */
const BYTES_AT = Array.from({ length: UUID_LENGTH }, (_, at) => at)
  .filter((at) => !HYPHENS_AT.has(at))
  .filter((_, number) => number % 2 === 0);
const NO_DIGIT = -1;
const DIGITS = Int8Array.from({ length: 128 }, (_, code) => {
  const text = String.fromCharCode(code);
  return /[0-9a-f]/i.test(text) ? Number.parseInt(text, 16) : NO_DIGIT;
});

function writeUuid(array: Buffer, at: number, text: unknown): boolean {
  if (typeof text !== "string" || text.length !== UUID_LENGTH) return false;
  for (const hyphen of HYPHENS_AT) if (text.charCodeAt(hyphen) !== HYPHEN) return false;
  for (let number = 0; number < UUID_BYTES; number += 1) {
    const high = DIGITS[text.charCodeAt(BYTES_AT[number]!)] ?? NO_DIGIT;
    const low = DIGITS[text.charCodeAt(BYTES_AT[number]! + 1)] ?? NO_DIGIT;
    if (high < 0 || low < 0) return false;
    array[at + number] = high * 16 + low;
  }
  return true;
}

const TIME_BYTES = 8;
/** PostgreSQL counts microseconds from here. */
const FIRST_TIME_MS = Date.UTC(2000, 0, 1);
const HALF = 2 ** 32;

function writeTime(array: Buffer, at: number, time: unknown): boolean {
  if (!(time instanceof Date)) return false;
  const micros = (time.getTime() - FIRST_TIME_MS) * 1_000;
  if (!Number.isSafeInteger(micros)) return false;
  const high = Math.floor(micros / HALF);
  array.writeInt32BE(high, at);
  array.writeUInt32BE(micros - high * HALF, at + 4);
  return true;
}

/**
 * An array as text, as the driver would write it but in less time: it replaces characters in every
 * element, and writes times part by part. Null if an element is an array or bytes.
 */
export function textArray(values: readonly unknown[]): string | null {
  let text = "";
  for (const value of values) {
    const element = elementOf(value);
    if (element === null) return null;
    text += text === "" ? element : `,${element}`;
  }
  return `{${text}}`;
}

function elementOf(value: unknown): string | null {
  switch (typeof value) {
    case "string":
      return quoted(value);
    case "bigint":
    case "boolean":
    case "number":
      return String(value);
    case "undefined":
      return "NULL";
    default:
      if (value === null) return "NULL";
      if (value instanceof Date) return isPlainTime(value) ? `"${isoTime(value)}"` : null;
      return Array.isArray(value) || ArrayBuffer.isView(value)
        ? null
        : quoted(JSON.stringify(value));
  }
}

function quoted(text: string): string {
  const is_plain = !text.includes("\\") && !text.includes('"');
  return `"${is_plain ? text : text.replace(/[\\"]/g, "\\$&")}"`;
}

/** Other years have a sign, which the database does not read. */
function isPlainTime(time: Date): boolean {
  const year = time.getUTCFullYear();
  return year >= 1 && year <= 9_999;
}
