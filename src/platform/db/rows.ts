import type { Session, Writer } from "./database.ts";

/*
 * The statements that every store repeats, by table and columns; all others are written in the
 * stores. Tables and columns are named by the code, never by input.
 */

/** The id of a record within its account. */
export type RecordKey = { account_id: string; id: string };

/** Columns and what they equal. */
type Values = Readonly<Record<string, unknown>>;

export async function findRow<Row extends object>(
  session: Session,
  table: string,
  key: Values,
  locking = "",
): Promise<Row | undefined> {
  const text = `select * from ${table} where ${equal(Object.keys(key), " and ")} ${locking}`;
  const [row] = await session.query<Row>(text, Object.values(key));
  return row;
}

export function lockRow<Row extends object>(
  tx: Session,
  table: string,
  key: Values,
): Promise<Row | undefined> {
  return findRow(tx, table, key, "for no key update");
}

/** Rows by their keys; absent ones are left out. */
export function findRows<Row extends object>(
  session: Session,
  table: string,
  keys: readonly RecordKey[],
  rest = "",
): Promise<Row[]> {
  return session.query<Row>(
    `select ${table}.* from ${table}
     join (select distinct * from unnest($1::uuid[], $2::uuid[])) as wanted (account_id, id)
       using (account_id, id) ${rest}`,
    columnsOf(keys, "account_id", "id"),
  );
}

/** The same, locked in key order. */
export function lockRows<Row extends object>(
  tx: Session,
  table: string,
  keys: readonly RecordKey[],
): Promise<Row[]> {
  const rest = `order by account_id, id for no key update of ${table}`;
  return findRows(tx, table, keys, rest);
}

/**
 * A page of rows, newest first, and one more, which tells that there is a next page. What is
 * undefined in the filter does not restrict; its names start with the account.
 */
export function listRows<Row extends object>(
  session: Session,
  table: string,
  filter: Values,
  page: { below_id: string; from_id: string; limit: number },
): Promise<Row[]> {
  const chosen = Object.entries(filter).filter(([, value]) => value !== undefined);
  const [limit, below, from] = [1, 2, 3].map((more) => `$${chosen.length + more}`);
  return session.query<Row>(
    `select * from ${table} where ${equal(
      chosen.map(([name]) => name),
      " and ",
    )} and id < ${below} and id >= ${from} order by id desc limit ${limit}`,
    [...chosen.map(([, value]) => value), page.limit + 1, page.below_id, page.from_id],
  );
}

/**
 * Inserts rows with one statement, however many there are. The columns are written as in a table's
 * definition: `account_id uuid, id uuid, name text`; each is a field of the rows. A column cannot
 * be an array: `unnest` would flatten it.
 */
export function insertRows<const Columns extends string>(
  tx: Writer,
  table: string,
  columns: Columns,
  rows: readonly Readonly<Record<ColumnName<Columns>, unknown>>[],
  on_conflict = "",
): void {
  if (rows.length === 0) return;
  const { names, unnest } = readColumns(columns);
  tx.write(
    `insert into ${table} (${names.join(", ")}) select * from ${unnest} ${on_conflict}`,
    columnsOf(rows as readonly Values[], ...names),
  );
}

/** Inserts one row; every field of it is a column. */
export function insertRow(tx: Writer, table: string, row: Values): void {
  const names = Object.keys(row);
  const places = names.map((_, at) => `$${at + 1}`);
  tx.write(
    `insert into ${table} (${names.join(", ")}) values (${places.join(", ")})`,
    Object.values(row),
  );
}

/** Writes columns of rows with one statement. The key identifies a row; the columns are set. */
export function updateRows<const Key extends string, const Columns extends string>(
  tx: Writer,
  table: string,
  key: Key,
  columns: Columns,
  rows: readonly Readonly<Record<ColumnName<Key> | ColumnName<Columns>, unknown>>[],
): void {
  if (rows.length === 0) return;
  const { names, unnest } = readColumns(`${key}, ${columns}`);
  const keys = readColumns(key).names;
  const changes = names.slice(keys.length).map((name) => `${name} = t.${name}`);
  const conditions = keys.map((name) => `${table}.${name} = t.${name}`);
  tx.write(
    `update ${table} set ${changes.join(", ")} from ${unnest} as t (${names.join(", ")})
     where ${conditions.join(" and ")}`,
    columnsOf(rows as readonly Values[], ...names),
  );
}

/** Writes columns of one row. */
export function updateRow(tx: Writer, table: string, key: Values, changes: Values): void {
  const [keys, names] = [Object.keys(key), Object.keys(changes)];
  tx.write(`update ${table} set ${equal(names, ", ", keys.length)} where ${equal(keys, " and ")}`, [
    ...Object.values(key),
    ...Object.values(changes),
  ]);
}

export function deleteRow(tx: Writer, table: string, key: Values): void {
  tx.write(`delete from ${table} where ${equal(Object.keys(key), " and ")}`, Object.values(key));
}

/** These columns of the rows, each as an array: what `unnest` takes. */
export function columnsOf<Row extends object, Name extends keyof Row>(
  rows: readonly Row[],
  ...names: Name[]
): Row[Name][][] {
  return names.map((name) => rows.map((row) => row[name]));
}

function equal(names: readonly string[], separator: string, after = 0): string {
  return names.map((name, at) => `${name} = $${after + at + 1}`).join(separator);
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

type Read = { names: string[]; unnest: string };
const known = new Map<string, Read>();

function readColumns(columns: string): Read {
  const found = known.get(columns);
  if (found) return found;
  const pairs = columns.split(",").map((column) => column.trim().split(" "));
  const places = pairs.map(([, type], at) => `$${at + 1}::${type}[]`);
  const read = { names: pairs.map(([name]) => name!), unnest: `unnest(${places.join(", ")})` };
  known.set(columns, read);
  return read;
}
