import type { AuditRow } from "../accounts/audit-store.ts";
import type { Session } from "../platform/db/database.ts";

export type RecordKey = { account_id: string; record_id: string };

type HistoryEvent = {
  id: string;
  name: string;
  from_status: string | null;
  to_status: string;
  actor: string | null;
  created_at: Date;
};

export function listEventsOf(
  session: Session,
  { account_id, record_id }: RecordKey,
  limit: number,
): Promise<HistoryEvent[]> {
  return session.query(
    `select id, name, from_status, to_status, actor, created_at from events
     where record_id = $2 and account_id = $1 order by sequence desc limit $3`,
    [account_id, record_id, limit],
  );
}

/** `records` are `kind:id`. */
export function listAuditOf(
  session: Session,
  account_id: string,
  records: readonly string[],
  limit: number,
): Promise<AuditRow[]> {
  return session.query(
    `select account_id, id, at, actor, action, record, reason, detail from audit_entries
     where account_id = $1 and record = any($2::text[]) order by id desc limit $3`,
    [account_id, records, limit],
  );
}

export type HistoryProposal = {
  id: string;
  kind: string;
  summary: string;
  proposed_by: string;
  status: string;
  outcome: string | null;
  created_at: Date;
  updated_at: Date;
};

export function listProposalsOf(
  session: Session,
  { account_id, record_id }: RecordKey,
  limit: number,
): Promise<HistoryProposal[]> {
  return session.query(
    `select id, kind, summary, proposed_by, status, outcome, created_at, updated_at from proposals
     where account_id = $1 and record_id = $2 order by id desc limit $3`,
    [account_id, record_id, limit],
  );
}

/** The newest entries on these ledger accounts or with these keys. */
export async function listEntryIds(
  session: Session,
  account_id: string,
  of: { ledger_accounts: readonly string[]; keys: readonly string[] },
  limit: number,
): Promise<string[]> {
  const rows = await session.query<{ id: string }>(
    `select entry_id as id from ledger_lines
     where account_id = $1 and ledger_account = any($2::text[])
     union
     select id from ledger_entries where account_id = $1 and key = any($3::text[])
     order by id desc limit $4`,
    [account_id, of.ledger_accounts, of.keys, limit],
  );
  return rows.map(({ id }) => id);
}
