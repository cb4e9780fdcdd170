import { createHash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { Counter } from "prom-client";
import type { Session } from "../db/database.ts";
import { MINUTE_MS } from "../durations.ts";
import { LruMap } from "../lru-map.ts";
import type { TaskLog } from "../tasks/task-log.ts";
import { type MacBearer, type MacValue, rowMacOf } from "./row-mac.ts";

/**
 * A table whose rows decide about money. Each row carries a MAC over these columns, made by the
 * store that writes it; whoever relies on a row checks it first, and `verify` checks them all.
 */
export type VouchedTable = {
  table: string;
  /** The primary key. */
  key: readonly string[];
  columns: readonly string[];
  /** The condition of the rows that carry one; all do without it. */
  only?: string | undefined;
  /** These rows with their MACs, as they will be stored. */
  withMacs<Row extends object>(session: MacBearer, rows: readonly Row[]): (Row & { mac: Buffer })[];
  /** Whether this service wrote the row as it is. */
  holds(session: MacBearer, row: object): boolean;
  /** The rows, or an error if this service did not write one of them. */
  assertVouched<Row extends object>(session: MacBearer, rows: Row[]): Row[];
  /** Those of the rows that this service wrote; the others raise the alarm. */
  vouchedOnly<Row extends object>(session: MacBearer, rows: Row[]): Row[];
  /** How a row is named in messages. */
  nameOf(row: object): string;
};

/** For alarms: how often a row was not used because its MAC is wrong. */
export const unvouched_rows = new Counter({
  name: "sliproad_unvouched_rows_total",
  help: "Rows that were not used because Sliproad did not write them as they are",
  labelNames: ["table"],
  registers: [],
});

/** What a task or a request fails with that needs such a row: nothing moves, others go on. */
export class UnvouchedRowError extends Error {}

export const NOT_WRITTEN_HERE = "was not written by Sliproad as it is";

/** A row that is read every second is named once in a while. */
const NAMED_AGAIN_AFTER_MS = 10 * MINUTE_MS;
const NAMES_MAX = 1_000;

/** From now on the log names the rows that are not used. */
export function warnOfUnvouchedRows(database: Session, log: TaskLog): void {
  const named_ms = new LruMap<string, number>(NAMES_MAX);
  database.bound!.onUnvouched = (row) => {
    const now_ms = performance.now();
    const last_ms = named_ms.get(row);
    if (last_ms !== undefined && now_ms - last_ms < NAMED_AGAIN_AFTER_MS) return;
    named_ms.set(row, now_ms);
    log.error({ row }, `a row ${NOT_WRITTEN_HERE}: it is not used; run sliproad verify`);
  };
}

/** Checked at once; it takes about ten milliseconds. */
const CHECKED_AT_ONCE = 400;

/** Like `assertVouched`, for any number of rows: in parts, between which others are served. */
export async function assertManyVouched<Row extends object>(
  vouched: VouchedTable,
  session: MacBearer,
  rows: Row[],
): Promise<Row[]> {
  for (let at = 0; at < rows.length; at += CHECKED_AT_ONCE) {
    if (at > 0) await setImmediate();
    vouched.assertVouched(session, rows.slice(at, at + CHECKED_AT_ONCE));
  }
  return rows;
}

type Values = Record<string, unknown>;
/** `toMacValue` accepts the value of every column. */
type MacBearingRow = Record<string, MacValue> & { mac: Buffer | null };

/**
 * `key` is the primary key, `columns` what else is covered. A row must have all of them when it is
 * written: what the database fills in by itself cannot be covered. `added` are columns that came
 * later: a row in which all are null has the MAC that it had without them.
 */
export function vouchedTable(
  table: string,
  key: readonly string[],
  columns: readonly string[],
  { only, added = [] }: { only?: string; added?: readonly string[] } = {},
): VouchedTable {
  const first = rowMacOf(table, [...key, ...columns], toMacValue);
  const extended = rowMacOf(table, [...key, ...columns, ...added], toMacValue);
  const macOf = (row: object) =>
    added.every((name) => (row as Values)[name] === null) ? first : extended;
  const all = [...columns, ...added];
  const nameOf = (row: object) =>
    `${table} ${key.map((name) => textOf((row as Values)[name])).join(" ")}`;
  const holds: VouchedTable["holds"] = (session, row) => {
    const { mac = null } = row as { mac?: Buffer | null };
    return mac !== null && macOf(row).holds(session, row as MacBearingRow);
  };
  const isVouched = (session: MacBearer, row: object) => {
    if (holds(session, row)) return true;
    unvouched_rows.inc({ table });
    session.bound?.onUnvouched?.(nameOf(row));
    return false;
  };
  return {
    ...{ table, key, columns: all, only, holds, nameOf },
    withMacs: (session, rows) =>
      rows.map((row) => ({ ...row, mac: macOf(row).make(session, row as MacBearingRow) })),
    assertVouched: (session, rows) => {
      for (const row of rows) {
        if (isVouched(session, row)) continue;
        throw new UnvouchedRowError(`${nameOf(row)} ${NOT_WRITTEN_HERE}`);
      }
      return rows;
    },
    vouchedOnly: (session, rows) => rows.filter((row) => isVouched(session, row)),
  };
}

/** JSON has no single spelling: the database orders its keys, so the digest is of ordered keys. */
function toMacValue(value: unknown): MacValue {
  const is_plain =
    typeof value !== "object" ||
    value === null ||
    value instanceof Date ||
    Buffer.isBuffer(value) ||
    (Array.isArray(value) && value.every((part) => typeof part === "string"));
  if (is_plain) return value as MacValue;
  return createHash("sha256")
    .update(JSON.stringify(inOrder(value)))
    .digest();
}

function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([, part]) => part !== undefined);
  return entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, part]) => [name, inOrder(part)]);
}

function textOf(value: unknown): string {
  return Buffer.isBuffer(value) ? value.toString("hex") : String(value);
}
