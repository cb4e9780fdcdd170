import type { Session, Transaction, Writer } from "../platform/db/database.ts";
import { distinctSetOf, insertRows } from "../platform/db/rows.ts";
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
  tx: Writer,
  rows: readonly (AuditRow & { mac: Buffer })[],
): void {
  const columns = `account_id uuid, id uuid, at timestamptz, actor text, action text, record text,
    reason text, detail text, mac bytea`;
  insertRows(tx, "audit_entries", columns, rows);
}

/** Continues with the id of the last entry about each of the records, under their locks. */
export function readLastAuditIds(
  tx: Transaction,
  account_id: string,
  records: readonly string[],
  next: (last: ReadonlyMap<string, string>, writer: Writer) => void,
): void {
  tx.writeAfter<{ record: string; id: string }>(
    `select wanted.record, last.id from unnest($2::text[]) as wanted (record)
     cross join lateral (select id from audit_entries
       where account_id = $1 and record = wanted.record order by id desc limit 1) as last`,
    [account_id, [...new Set(records)]],
    (rows, writer) => next(new Map(rows.map(({ record, id }) => [record, id])), writer),
  );
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

/**
 * The last entry about each record (`kind:id`) with one of these actions: the last that was written
 * where `ORDERED_ACTIONS` names them (audit-actions.ts).
 */
export function listLastAuditRows(
  session: Session,
  records: readonly { account_id: string; record: string }[],
  actions: readonly string[],
): Promise<(AuditRow & { mac: Buffer | null })[]> {
  const wanted = distinctSetOf(session, "wanted", "account_id uuid, record text", records);
  // Action by action: among all entries about a record there may be none of these.
  return session.query(
    `select e.* from ${wanted.from} cross join lateral (
       select last.* from unnest($3::text[]) as acts (act) cross join lateral (
         select account_id, id, at, actor, action, record, reason, detail, mac from audit_entries
         where account_id = ${wanted.accountIn("wanted")} and record = wanted.record
           and action = acts.act
         order by id desc limit 1) as last
       order by last.id desc limit 1) as e`,
    [...wanted.values, actions],
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
