import { isIP } from "node:net";
import { readHosts } from "../db/hosts.ts";
import { isLei } from "../lei.ts";
import { parseDecimal, powerOfTen } from "../money.ts";

/** One setting: its name, default, meaning, and how its text is read. */
export type Setting<Value> = {
  name: string;
  default_text: string | null;
  meaning: string;
  /** Can also be set as a file name, in a variable that ends in `_FILE`. */
  is_secret?: boolean;
  read: Read<Value>;
};

/** Returns the value, or throws with the end of a sentence that begins with the setting's name. */
type Read<Value> = (text: string) => Value;

function fail(reason: string): never {
  throw new Error(reason);
}

export function text(name: string, default_text: string, meaning: string): Setting<string> {
  return { name, default_text, meaning, read: (value) => value };
}

export function optional<Value = string>(
  name: string,
  meaning: string,
  read: Read<Value> = (value) => value as Value,
): Setting<Value | undefined> {
  return { name, default_text: null, meaning, read };
}

/** An optional setting that an operator may store in a file. */
export function secret<Value = string>(
  name: string,
  meaning: string,
  read?: Read<Value>,
): Setting<Value | undefined> {
  return { ...optional(name, meaning, read), is_secret: true };
}

export function matching(form: RegExp, reason: string): Read<string> {
  return (value) => (form.test(value) ? value : fail(reason));
}

export function urlOf(protocol: RegExp, example: string): Read<string> {
  return (value) =>
    protocol.test(URL.parse(value)?.protocol ?? "")
      ? value
      : fail(`must be a URL such as ${example}`);
}

/** Of PostgreSQL, with one host or several. */
export function databaseUrl(value: string): string {
  return readHosts(value)
    ? value
    : fail(
        "must be a URL such as postgres://user:password@host:5432/database, or of several hosts, " +
          "postgres://user:password@one:5432,two:5432/database",
      );
}

/** A decimal amount in its smallest units; `form` allows at most `digits` after the point. */
export function minorUnits(form: RegExp, digits: number, reason: string): Read<bigint> {
  return (value) => {
    if (!form.test(value)) fail(reason);
    const { units, scale } = parseDecimal(value)!;
    return units * powerOfTen(digits - scale);
  };
}

export function integer(
  name: string,
  min: number,
  max: number,
  default_value: number,
  meaning: string,
): Setting<number> {
  const default_text = String(default_value);
  return { name, default_text, meaning, read: wholeNumber(min, max) };
}

export function wholeNumber(min: number, max: number): Read<number> {
  return (value) => {
    const number = Number(value);
    const fits = /^\d+$/.test(value) && number >= min && number <= max;
    return fits ? number : fail(`must be a whole number from ${min} to ${max}`);
  };
}

export function choice<Value extends string>(
  name: string,
  values: readonly Value[],
  default_text: Value,
  meaning: string,
): Setting<Value> {
  return { name, default_text, meaning, read: oneOf(values) };
}

export function oneOf<Value extends string>(values: readonly Value[]): Read<Value> {
  return (value) =>
    values.find((known) => known === value) ?? fail(`must be one of ${values.join(", ")}`);
}

export function networks(name: string, meaning: string): Setting<readonly string[]> {
  const read = (value: string) => {
    const parts = words(value);
    const wrong = parts.find((part) => !isNetwork(part));
    if (wrong) fail(`must list IP addresses or networks such as 10.0.0.0/8; ${wrong} is neither`);
    return parts;
  };
  return { name, default_text: "", meaning, read };
}

const URI = /^(mailto:[^\s@]+@[^\s@]+|https:\/\/[^\s/]+\S*|tel:\+[\d-]+)$/;

/** Of the schemes by which a person can be reached. */
export function uris(name: string, meaning: string): Setting<readonly string[]> {
  const read = (value: string) => {
    const parts = words(value);
    const wrong = parts.find((part) => !URI.test(part));
    if (wrong) fail(`must list URIs such as mailto:security@example.com; ${wrong} is none`);
    return parts;
  };
  return { name, default_text: "", meaning, read };
}

/** A legal entity identifier, checked by its check digits. */
export function lei(value: string): string {
  return isLei(value) ? value : fail("must be an LEI: 18 letters or digits and 2 check digits");
}

/** Null for `off`. */
export function orOff<Value>(read: Read<Value>): Read<Value | null> {
  return (value) => (value === "off" ? null : read(value));
}

/** Separated by commas. */
export function words(text: string): string[] {
  return text
    .split(",")
    .map((part) => part.trim())
    .filter(Boolean);
}

function isNetwork(text: string): boolean {
  const [address = "", prefix, ...rest] = text.split("/");
  const version = isIP(address);
  if (version === 0 || rest.length > 0) return false;
  const bits_max = version === 4 ? 32 : 128;
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= bits_max);
}

export function key(text: string): Buffer {
  // Node ignores characters that are not base64: a key with a typo would become another key.
  const is_key = /^[A-Za-z0-9+/]{43}=$/.test(text);
  const bytes = is_key ? Buffer.from(text, "base64") : fail("must be 32 bytes in base64");
  // Random bytes repeat a value now and then; this many only a placeholder does.
  if (new Set(bytes).size < 16) fail("must be 32 random bytes, such as openssl rand -base64 32");
  return bytes;
}
