import type { Transaction } from "./database.ts";

/**
 * Inserts rows with one statement, however many there are. The columns are written as in a table's
 * definition: `account_id uuid, id uuid, name text`; each is a field of the rows. A column cannot
 * be an array: `unnest` would flatten it.
 */
export function insertRows<const Columns extends string>(
  tx: Transaction,
  table: string,
  columns: Columns,
  rows: readonly Readonly<Record<ColumnName<Columns>, unknown>>[],
  on_conflict = "",
): void {
  if (rows.length === 0) return;
  const { names, types } = readColumns(columns);
  const places = types.map((type, at) => `$${at + 1}::${type}[]`);
  const values = names.map((name) => rows.map((row) => row[name as ColumnName<Columns>]));
  tx.write(
    `insert into ${table} (${names.join(", ")}) select * from unnest(${places.join(", ")})
     ${on_conflict}`,
    values,
  );
}

/** The names in a list of columns, so that a row without one of them does not compile. */
type ColumnName<Columns extends string> = Columns extends `${infer First},${infer Rest}`
  ? FirstWord<First> | ColumnName<Rest>
  : FirstWord<Columns>;
type FirstWord<Text extends string> = Text extends ` ${infer Rest}` | `\n${infer Rest}`
  ? FirstWord<Rest>
  : Text extends `${infer Word} ${string}`
    ? Word
    : never;

type Read = { names: string[]; types: string[] };
const known = new Map<string, Read>();

function readColumns(columns: string): Read {
  const found = known.get(columns);
  if (found) return found;
  const pairs = columns.split(",").map((column) => column.trim().split(" "));
  const read = { names: pairs.map(([name]) => name!), types: pairs.map(([, type]) => type!) };
  known.set(columns, read);
  return read;
}
