import type { Session, Transaction } from "../platform/db/database.ts";
import { insertRows } from "../platform/db/rows.ts";
import type { Actor } from "./model.ts";

export type AuditRow = {
  account_id: string;
  id: string;
  at: Date;
  actor: Actor;
  action: string;
  record: string;
  reason: string;
  detail: string;
};

export function insertAuditEntries(
  tx: Transaction,
  rows: readonly (AuditRow & { mac: Buffer })[],
): void {
  const columns = `account_id uuid, id uuid, at timestamptz, actor text, action text, record text,
    reason text, detail text, mac bytea`;
  insertRows(tx, "audit_entries", columns, rows);
}

export function listAuditRows(
  session: Session,
  account_id: string,
  ids: readonly string[],
): Promise<(AuditRow & { mac: Buffer | null })[]> {
  return session.query(
    `select account_id, id, at, actor, action, record, reason, detail, mac from audit_entries
     where account_id = $1 and id = any($2::uuid[])`,
    [account_id, ids],
  );
}

/** The entries about one record (`kind:id`). */
export function listAuditByRecord(
  session: Session,
  account_id: string,
  record: string,
): Promise<AuditRow[]> {
  return session.query<AuditRow>(
    `select account_id, id, at, actor, action, record, reason, detail from audit_entries
     where account_id = $1 and record = $2 order by id`,
    [account_id, record],
  );
}

export async function findAuditEntryCount(session: Session, account_id: string): Promise<bigint> {
  const [row] = await session.query<{ count: bigint }>(
    "select count(*) from audit_entries where account_id = $1",
    [account_id],
  );
  return row!.count;
}
