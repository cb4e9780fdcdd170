import type { Transaction, Writer } from "../platform/db/database.ts";
import { idAfter, newId } from "../platform/ids.ts";
import type { MacBearer } from "../platform/sealing/row-mac.ts";
import { digestOf, isEntryAuthentic, noteUnsealed, signEntries } from "../platform/sealing/seal.ts";
import type { SealedLog } from "../platform/sealing/verify-chain.ts";
import { type AuditAction, ORDERED_ACTIONS } from "./audit-actions.ts";
import {
  type AuditRow,
  findAuditEntryCount,
  insertAuditEntries,
  listAuditRows,
  readLastAuditIds,
} from "./audit-store.ts";
import type { Actor } from "./model.ts";

/** An action for the audit log. Ids only: an entry outlives the erasure of the people it names. */
export type AuditEntry = {
  account_id: string;
  actor: Actor;
  action: AuditAction;
  /** The record acted on, as `kind:id`. */
  record: string;
  reason: string;
  detail?: Record<string, string | number | boolean | null | readonly string[]>;
  /** For an entry that may be written again (`operator-acts.ts`). */
  id?: string;
};

/** Writes the entry in the transaction of the action itself, and queues it for sealing. */
export function recordAudit(tx: Transaction, entry: AuditEntry, now: Date): void {
  recordAudits(tx, [entry], now);
}

/** The same for the actions of a set, with as few statements as for one. */
export function recordAudits(tx: Transaction, entries: readonly AuditEntry[], now: Date): void {
  if (entries.length === 0) return;
  const rows = entries.map(
    (entry): AuditRow => ({
      ...entry,
      id: entry.id ?? newId(now),
      at: now,
      detail: JSON.stringify(entry.detail ?? {}),
    }),
  );
  // With another id an entry that is written again would be another entry.
  const isOrdered = ({ action, id }: AuditEntry) => id === undefined && ORDERED_ACTIONS.has(action);
  const { ordered = [], others = [] } = Object.groupBy(rows, (_row, at) =>
    isOrdered(entries[at]!) ? "ordered" : "others",
  );
  insertSigned(tx, others, now);
  for (const [account_id, own] of Map.groupBy(ordered, (row) => row.account_id)) {
    const records = own.map(({ record }) => record);
    readLastAuditIds(tx, account_id, records, (last, writer) =>
      insertSigned(writer, inOrder(own, last), now),
    );
  }
}

/** With later ids where the entry before has one that is later: its clock was ahead. */
function inOrder(rows: readonly AuditRow[], before: ReadonlyMap<string, string>): AuditRow[] {
  const last = new Map(before);
  return rows.map((row) => {
    const previous = last.get(row.record);
    const is_behind = previous !== undefined && previous >= row.id;
    const id = (is_behind ? idAfter(previous) : null) ?? row.id;
    last.set(row.record, id);
    return { ...row, id };
  });
}

function insertSigned(tx: Writer, rows: readonly AuditRow[], now: Date): void {
  if (rows.length === 0) return;
  const digested = rows.map((row) => ({ ...row, digest: digestRow(row) }));
  const signed = signEntries(tx, AUDIT_LOG.log, digested);
  insertAuditEntries(tx, signed);
  noteUnsealed(tx, AUDIT_LOG.log, signed, now);
}

export const AUDIT_LOG: SealedLog = {
  log: "audit",
  read_entries: async (session, account_id, entry_ids) => {
    const rows = await listAuditRows(session, account_id, entry_ids);
    return rows.map((row) => ({ ...row, digest: digestRow(row) }));
  },
  count_entries: findAuditEntryCount,
};

/** Whether a process of this service wrote the entry. */
export function isAuditAuthentic(
  bearer: MacBearer,
  row: AuditRow & { mac: Buffer | null },
): boolean {
  return isEntryAuthentic(bearer, AUDIT_LOG.log, { ...row, digest: digestRow(row) });
}

function digestRow(row: AuditRow): Buffer {
  return digestOf(
    row.account_id,
    row.id,
    row.at.toISOString(),
    row.actor,
    row.action,
    row.record,
    row.reason,
    row.detail,
  );
}
