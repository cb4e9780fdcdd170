/**
 * A PostgreSQL array of values that never need quotes: ids, numbers, times and fixed words. The
 * driver would scan each of them for characters to escape.
 */
export function plainArray(values: readonly (string | number | null)[]): string {
  return `{${values.map((value) => value ?? "NULL").join(",")}}`;
}

/** The same for bytes. */
export function bytesArray(values: readonly (Buffer | null)[]): string {
  const elements = values.map((value) => (value ? `"\\\\x${value.toString("hex")}"` : "NULL"));
  return `{${elements.join(",")}}`;
}
