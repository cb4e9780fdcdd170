/** These columns of the rows, each as an array: what `unnest` takes. */
export function columnsOf<Row extends object, Name extends keyof Row>(
  rows: readonly Row[],
  ...names: Name[]
): Row[Name][][] {
  return names.map((name) => rows.map((row) => row[name]));
}
