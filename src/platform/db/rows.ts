import type { Own, Session, Writer } from "./database.ts";
import { plainArray } from "./plain-array.ts";

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
): Promise<Row[]> {
  return perAccount(session, keys, (own) => selectRows<Row>(session, table, own, ""));
}

function selectRows<Row extends object>(
  session: Session,
  table: string,
  keys: readonly RecordKey[],
  rest: string,
): Promise<Row[]> {
  const wanted = distinctSetOf(session, "wanted", "account_id uuid, id uuid", keys);
  return session.query<Row>(
    `select ${table}.* from ${table} join ${wanted.from} using (account_id, id) ${rest}`,
    wanted.values,
  );
}

/** The same, locked in key order. */
export function lockRows<Row extends object>(
  tx: Session,
  table: string,
  keys: readonly RecordKey[],
): Promise<Row[]> {
  const rest = `order by account_id, id for no key update of ${table}`;
  return selectRows(tx, table, keys, rest);
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
  const { names } = readColumns(columns);
  const set = setOf(tx, "t", columns, rows);
  tx.write(
    `insert into ${table} (${names.join(", ")}) select * from ${set.from} ${on_conflict}`,
    set.values,
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
  const changes = readColumns(columns).names.map((name) => `${name} = t.${name}`);
  const conditions = readColumns(key).names.map((name) => `${table}.${name} = t.${name}`);
  const set = setOf(tx, "t", `${key}, ${columns}`, rows as readonly never[]);
  tx.write(
    `update ${table} set ${changes.join(", ")} from ${set.from}
     where ${conditions.join(" and ")}`,
    set.values,
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

/*
 * Sets of records. Where every transaction is of one account (SLIPROAD_BATCH_BY=account), so is
 * every set, and its statement names that account by equality: a database distributed by account
 * then asks one of its nodes. Otherwise a set mixes accounts, and each row names its own. In both
 * forms $1 is the account or the accounts, and the other parameters are the same (decision 37).
 */

type RecordSet = {
  /** Stands after `from` or `join`. */
  from: string;
  /** Its parameters, from $1 on. */
  values: unknown[];
  /** The account of a joined table: what a subquery compares with, where a join does not reach. */
  accountIn: (alias: string) => string;
};

/** A set as a table of a statement; the columns are written as for `insertRows`. */
export function setOf<const Columns extends string>(
  session: Own,
  alias: string,
  columns: Columns,
  rows: readonly Readonly<Record<ColumnName<Columns>, unknown>>[],
): RecordSet {
  const { names } = readColumns(columns);
  const [first, ...rest] = columnsOf(rows as readonly Values[], ...names);
  const is_of_account = names[0] === "account_id";
  const account = is_of_account ? oneAccountOf(session, first!) : undefined;
  const from = setFrom(alias, columns, account !== undefined);
  return {
    from,
    values: [account === undefined ? first : account, ...rest],
    accountIn: (alias) => (account === undefined ? `${alias}.account_id` : "$1"),
  };
}

/** For stores that convert the other columns themselves; `accounts` is the value of $1. */
export function accountSetOf(
  session: Own,
  alias: string,
  columns: string,
  rows: readonly { account_id: string }[],
): { from: string; accounts: string | null } {
  const ids = rows.map((row) => row.account_id);
  const account = oneAccountOf(session, ids);
  const from = setFrom(alias, columns, account !== undefined);
  return { from, accounts: account === undefined ? plainArray(ids) : account };
}

function setFrom(alias: string, columns: string, is_one: boolean): string {
  const { names, unnest, others } = readColumns(columns);
  if (!is_one) return `${unnest} as ${alias} (${names.join(", ")})`;
  const rest = names.slice(1).join(", ");
  return `(select $1::uuid as account_id, ${rest}
    from ${others} as ${alias} (${rest})) as ${alias}`;
}

/** The same, each row once. */
export function distinctSetOf<const Columns extends string>(
  session: Own,
  alias: string,
  columns: Columns,
  rows: readonly Readonly<Record<ColumnName<Columns>, unknown>>[],
): RecordSet {
  const { names } = readColumns(columns);
  // Most are: texts of all columns are made only where the last one alone does not tell.
  const last = rows.map((row) => (row as Values)[names.at(-1)!]);
  if (new Set(last).size === rows.length) return setOf(session, alias, columns, rows);
  const keyOf = (row: Values) => names.map((name) => row[name]).join(" ");
  const distinct = new Map(rows.map((row) => [keyOf(row), row]));
  return setOf(session, alias, columns, [...distinct.values()]);
}

export type AccountSet = { equal: string; value: string | string[] | null; is_one: boolean };

/** The accounts, or those of rows, as parameter $1: `where account_id ${accounts.equal}`. */
export function accountsOf(
  session: Own,
  owned: readonly (string | { account_id: string })[],
): AccountSet {
  const ids = [...new Set(owned.map((one) => (typeof one === "string" ? one : one.account_id)))];
  const account = oneAccountOf(session, ids);
  return account === undefined
    ? { equal: "= any($1::uuid[])", value: ids, is_one: false }
    : { equal: "= $1", value: account, is_one: true };
}

/** For reads across accounts: one each where a statement names its account, else one for all. */
export async function perAccount<Owned extends { account_id: string }, Row>(
  session: Session,
  owned: readonly Owned[],
  read: (owned: readonly Owned[]) => Promise<Row[]>,
): Promise<Row[]> {
  if (!session.by_account) return owned.length > 0 ? read(owned) : [];
  const by_account = Map.groupBy(owned, ({ account_id }) => account_id);
  return (await Promise.all([...by_account.values()].map(read))).flat();
}

/** Undefined if the rows name their accounts themselves; null for a set of no rows. */
function oneAccountOf<Id>(session: Own, ids: readonly Id[]): Id | null | undefined {
  return session.by_account && ids.every((id) => id === ids[0]) ? (ids[0] ?? null) : undefined;
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

type Read = {
  names: string[];
  /**
   * Each array is the result of a subquery, so that the planner does not know how long it is and
   * expects ten rows: it then looks each row of a set up by its key. For hundreds it would rather
   * read a table of a few thousand rows as a whole, or all rows of an account.
   */
  unnest: string;
  /** All but the first. */
  others: string;
};
const known = new Map<string, Read>();

function readColumns(columns: string): Read {
  const found = known.get(columns);
  if (found) return found;
  const pairs = columns.split(",").map((column) => column.trim().split(" "));
  const places = pairs.map(([, type], at) => `$${at + 1}::${type}[]`);
  const read = {
    names: pairs.map(([name]) => name!),
    unnest: `unnest(${places.map((place) => `(select ${place})`).join(", ")})`,
    others: `unnest(${places.slice(1).join(", ")})`,
  };
  known.set(columns, read);
  return read;
}
