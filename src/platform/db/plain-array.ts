/**
 * A PostgreSQL array of values that never need quotes: ids, numbers, times and fixed words. The
 * driver would scan each of them for characters to escape.
 */
export function plainArray(values: readonly (string | number | null)[]): string {
  return `{${values.map((value) => value ?? "NULL").join(",")}}`;
}

const BYTEA_OID = 17;
const HEAD_BYTES = 20;

/**
 * An array of bytes in PostgreSQL's binary format, which the driver sends as it is. As text it
 * would be twice as long, and writing it would take several times as long.
 */
export function bytesArray(values: readonly (Buffer | null)[]): Buffer {
  const length = values.reduce((sum, value) => sum + 4 + (value?.length ?? 0), HEAD_BYTES);
  const array = Buffer.allocUnsafe(length);
  let at = 0;
  const writeInt = (value: number) => {
    at = array.writeInt32BE(value, at);
  };
  // One dimension, with or without nulls, of this type, so many elements, the first is number 1.
  const head = [1, values.includes(null) ? 1 : 0, BYTEA_OID, values.length, 1];
  for (const value of head) writeInt(value);
  for (const value of values) {
    writeInt(value ? value.length : -1);
    at += value?.copy(array, at) ?? 0;
  }
  return array;
}

export function isBytesArray(values: readonly unknown[]): values is (Buffer | null)[] {
  return (
    values.some(Buffer.isBuffer) && values.every((one) => one === null || Buffer.isBuffer(one))
  );
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
      if (value instanceof Date) return isPlainTime(value) ? `"${value.toISOString()}"` : null;
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
