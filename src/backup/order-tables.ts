import type { TableRow } from "./snapshot-store.ts";

/** Each table after those that its rows refer to, so that every row finds what it refers to. */
export function orderTables(tables: readonly TableRow[]): TableRow[] {
  const ordered: TableRow[] = [];
  let left = [...tables];
  while (left.length > 0) {
    const waiting = new Set(left.map(({ name }) => name));
    const ready = left.filter(({ refers_to }) => !refers_to.some((name) => waiting.has(name)));
    if (ready.length === 0) {
      throw new Error(`tables refer to each other: ${[...waiting].join(", ")}`);
    }
    ordered.push(...ready);
    left = left.filter((table) => !ready.includes(table));
  }
  return ordered;
}
