/**
 * Converts plain data with BigInts to JSON and back without loss: every string is prefixed with
 * `s`, every BigInt becomes a string prefixed with `n`. A date, a buffer or a class is refused.
 */
export function writePlainData(value: unknown): string {
  return JSON.stringify(encode(value));
}

export function readPlainData(text: string): unknown {
  return decode(JSON.parse(text));
}

function encode(value: unknown): unknown {
  if (typeof value === "string") return `s${value}`;
  if (typeof value === "bigint") return `n${value}`;
  if (value === null || typeof value === "boolean" || Number.isFinite(value)) return value;
  if (Array.isArray(value)) return value.map(encode);
  if (typeof value === "object" && Object.getPrototypeOf(value) === Object.prototype) {
    const present = Object.entries(value).filter(([, item]) => item !== undefined);
    return Object.fromEntries(present.map(([name, item]) => [name, encode(item)]));
  }
  throw new TypeError("only plain data can be kept: no dates, buffers or classes");
}

function decode(value: unknown): unknown {
  if (typeof value === "string") {
    return value.startsWith("n") ? BigInt(value.slice(1)) : value.slice(1);
  }
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map(decode);
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, decode(item)]));
}
