/**
 * An array as PostgreSQL reads it, of values that never need quotes: ids, numbers, times and fixed
 * words. The driver would search each of them for something to escape.
 */
export function plainArray(values: readonly (string | number | null)[]): string {
  return `{${values.map((value) => value ?? "NULL").join(",")}}`;
}

/** The same of bytes. */
export function bytesArray(values: readonly (Buffer | null)[]): string {
  const elements = values.map((value) => (value ? `"\\\\x${value.toString("hex")}"` : "NULL"));
  return `{${elements.join(",")}}`;
}
