import type { Session, Transaction } from "../platform/db/database.ts";
import { newId } from "../platform/ids.ts";
import { digestOf, noteUnsealed } from "../platform/sealing/seal.ts";
import type { SealedLog } from "../platform/sealing/verify-chain.ts";
import type { Actor } from "./model.ts";

/** What someone did. Ids only: an entry outlives the erasure of the people it speaks of. */
export type AuditEntry = {
  account_id: string;
  actor: Actor;
  action: string;
  /** What it was done to, as `kind:id`. */
  record: string;
  reason: string;
  detail?: Record<string, string | number | boolean | null>;
};

type AuditRow = Omit<AuditEntry, "detail"> & { id: string; at: Date; detail: string };

/** Writes the entry in the transaction of the act itself, and notes it to be sealed. */
export function recordAudit(tx: Transaction, entry: AuditEntry, now: Date): void {
  const row: AuditRow = {
    ...entry,
    id: newId(now),
    at: now,
    detail: JSON.stringify(entry.detail ?? {}),
  };
  tx.write(
    `insert into audit_entries (account_id, id, at, actor, action, record, reason, detail)
     values ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [row.account_id, row.id, row.at, row.actor, row.action, row.record, row.reason, row.detail],
  );
  const { account_id, id } = row;
  noteUnsealed(tx, AUDIT_LOG.log, [{ account_id, id, digest: digestRow(row) }], now);
}

export const AUDIT_LOG: SealedLog = {
  log: "audit",
  read_digests: async (session, account_id, entry_ids) => {
    const rows = await session.query<AuditRow>(
      `select account_id, id, at, actor, action, record, reason, detail from audit_entries
       where account_id = $1 and id = any($2::uuid[])`,
      [account_id, entry_ids],
    );
    return new Map(rows.map((row) => [row.id, digestRow(row)]));
  },
  count_entries: async (session: Session, account_id: string) => {
    const [row] = await session.query<{ count: bigint }>(
      "select count(*) from audit_entries where account_id = $1",
      [account_id],
    );
    return row!.count;
  },
};

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
