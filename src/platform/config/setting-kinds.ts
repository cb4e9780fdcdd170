import { isIP } from "node:net";
import { parseDecimal, powerOfTen } from "../money.ts";

/** One setting: its name, default, meaning, and how its text is read. */
export type Setting<Value> = {
  name: string;
  default_text: string | null;
  meaning: string;
  /** Can also be set as a file name, in a variable that ends in `_FILE`. */
  is_secret?: boolean;
  /** Returns the value, or throws with the end of a sentence that begins with the name. */
  read: (text: string) => Value;
};

export function fail(reason: string): never {
  throw new Error(reason);
}

/** The text must be a decimal with at most `digits` digits after the point. */
export function parseMinor(value: string, digits: number): bigint {
  const { units, scale } = parseDecimal(value)!;
  return units * powerOfTen(digits - scale);
}

export function text<Default extends string | null>(
  name: string,
  default_text: Default,
  meaning: string,
): Setting<string> {
  return { name, default_text, meaning, read: (value) => value };
}

export function optional<Value>(
  setting: Setting<Value>,
  meaning: string,
): Setting<Value | undefined> {
  return { ...setting, meaning };
}

/** An optional setting that an operator may store in a file. */
export function secret<Value>(
  setting: Setting<Value>,
  meaning: string,
): Setting<Value | undefined> {
  return { ...optional(setting, meaning), is_secret: true };
}

export function integer(
  name: string,
  min: number,
  max: number,
  default_value: number,
  meaning: string,
): Setting<number> {
  return {
    name,
    default_text: String(default_value),
    meaning,
    read: (value) => {
      const number = Number(value);
      const fits = /^\d+$/.test(value) && number >= min && number <= max;
      return fits ? number : fail(`must be a whole number from ${min} to ${max}`);
    },
  };
}

export function choice<Value extends string>(
  name: string,
  values: readonly Value[],
  default_text: Value,
  meaning: string,
): Setting<Value> {
  return {
    name,
    default_text,
    meaning,
    read: (value) =>
      values.find((known) => known === value) ?? fail(`must be one of ${values.join(", ")}`),
  };
}

export function networks(name: string, meaning: string): Setting<readonly string[]> {
  const read = (value: string) => {
    const parts = value
      .split(",")
      .map((part) => part.trim())
      .filter(Boolean);
    const wrong = parts.find((part) => !isNetwork(part));
    if (wrong) fail(`must list IP addresses or networks such as 10.0.0.0/8; ${wrong} is neither`);
    return parts;
  };
  return { name, default_text: "", meaning, read };
}

function isNetwork(text: string): boolean {
  const [address = "", prefix, ...rest] = text.split("/");
  const version = isIP(address);
  if (version === 0 || rest.length > 0) return false;
  const bits_max = version === 4 ? 32 : 128;
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= bits_max);
}

export function key(name: string): Setting<Buffer> {
  return {
    name,
    default_text: null,
    meaning: "",
    read: (value) => {
      // Node ignores characters that are not base64: a key with a typo would become another key.
      const is_key = /^[A-Za-z0-9+/]{43}=$/.test(value);
      return is_key ? Buffer.from(value, "base64") : fail("must be 32 bytes in base64");
    },
  };
}
