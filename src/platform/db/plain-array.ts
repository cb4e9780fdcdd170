/**
 * An array as PostgreSQL reads it, of values that never need quotes: ids, numbers, times and fixed
 * words. The driver would search each of them for something to escape.
 */
export function plainArray(values: readonly (string | number | null)[]): string {
  return `{${values.map((value) => value ?? "NULL").join(",")}}`;
}
