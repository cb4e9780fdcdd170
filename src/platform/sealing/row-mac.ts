import { createHmac, timingSafeEqual } from "node:crypto";
import type { Session } from "../db/database.ts";
import { keyObjectOf } from "../encryption/key-object.ts";
import type { Macs } from "./macs.ts";

/**
 * MACs of rows, made by the process that writes a row with a key that the database never has in
 * clear: whoever can only write SQL cannot add a row that passes, nor change one (decision 36).
 *
 * Layout: 1 byte version of the key, 16 bytes of HMAC-SHA-256 over the table and the columns.
 */
const TAG_BYTES = 16;
const MAC_BYTES = 1 + TAG_BYTES;

/**
 * As the database returns it: a `numeric` or JSON column has no single spelling, so give its text
 * or a digest.
 */
export type MacValue =
  | string
  | number
  | bigint
  | boolean
  | null
  | Date
  | Buffer
  | readonly (string | number | bigint)[];

/** Any session or writer: it has the keys of its database. */
export type MacBearer = Pick<Session, "bound">;

type MacRow<Column extends string> = { readonly [Name in Column]: MacValue };

type RowMac<Column extends string> = {
  make(session: MacBearer, row: MacRow<Column>): Buffer;
  /** False for a row that this service did not write, or not like this. */
  holds(session: MacBearer, row: MacRow<Column> & { readonly mac: Buffer | null }): boolean;
};

/**
 * The MAC of a table's rows over these columns; name the primary key among them, so that a MAC does
 * not fit another row. Their order must never change: rows keep their MACs.
 */
export function rowMac<const Column extends string>(
  table: string,
  ...columns: readonly Column[]
): RowMac<Column> {
  return rowMacOf(table, columns, (value) => value as MacValue | undefined);
}

/** The same, where `toValue` says what the MAC covers of a column. */
export function rowMacOf<Column extends string>(
  table: string,
  columns: readonly Column[],
  toValue: (value: unknown) => MacValue | undefined,
): RowMac<Column> {
  const textOf = (row: MacRow<Column>) =>
    JSON.stringify([table, ...columns.map((column) => plain(table, column, toValue(row[column])))]);
  return {
    make: (session, row) => {
      const { version, key } = macsOf(session).current();
      return tagOf(version, key, textOf(row));
    },
    holds: (session, row) => {
      const { mac } = row;
      if (mac === null || mac.length !== MAC_BYTES) return false;
      const version = mac[0]!;
      const key = macsOf(session).find(version);
      return key !== undefined && timingSafeEqual(mac, tagOf(version, key, textOf(row)));
    },
  };
}

/** All sessions of this database, its transactions included, use these keys. */
export function bindMacs(database: MacBearer, macs: Macs): void {
  database.bound!.macs = macs;
}

export function macsOf(session: MacBearer): Macs {
  const macs = session.bound?.macs;
  if (!macs) throw new Error("this database was opened without the keys of MACs");
  return macs;
}

/** False without keys: then nobody can tell whether a MAC is right. */
export function hasMacs(session: MacBearer): boolean {
  return session.bound?.macs !== undefined;
}

function tagOf(version: number, key: Buffer, text: string): Buffer {
  const mac = Buffer.allocUnsafe(MAC_BYTES);
  mac[0] = version;
  createHmac("sha256", keyObjectOf(key)).update(text).digest().copy(mac, 1, 0, TAG_BYTES);
  return mac;
}

/** Numbers are written as text, so that it does not matter whether a column is read as a bigint. */
function plain(table: string, column: string, value: MacValue | undefined): unknown {
  if (typeof value === "string" || value === null || typeof value === "boolean") return value;
  if (typeof value === "number" || typeof value === "bigint") return String(value);
  if (value instanceof Date) return value.toISOString();
  if (Buffer.isBuffer(value)) return value.toString("base64");
  if (Array.isArray(value)) return value.map(String);
  // Also a column that a statement did not read: the MAC must not cover less than it says.
  throw new Error(`${table}.${column} has no value that a MAC can cover`);
}
