import type { Session, Transaction } from "../platform/db/database.ts";

export type EventRow = {
  account_id: string;
  id: string;
  name: string;
  record_id: string;
  sequence: number;
  from_status: string | null;
  to_status: string;
  facts: Buffer;
  subject_id: string | null;
  change_id: string | null;
  role: "seller" | "buyer" | null;
  app_id: string | null;
  counterpart_account_id: string | null;
  created_at: Date;
};

export function insertEvents(
  tx: Transaction,
  rows: readonly (EventRow & { body: Buffer; trace_id: string | null })[],
  now: Date,
): void {
  tx.write(
    `insert into events (account_id, id, name, record_id, sequence, from_status, to_status, facts,
       subject_id, body, change_id, role, app_id, counterpart_account_id, trace_id, created_at)
     select *, $16 from unnest($1::uuid[], $2::uuid[], $3::text[], $4::uuid[], $5::int[],
       $6::text[], $7::text[], $8::bytea[], $9::uuid[], $10::bytea[], $11::uuid[], $12::text[],
       $13::uuid[], $14::uuid[], $15::uuid[])`,
    [
      rows.map((row) => row.account_id),
      rows.map((row) => row.id),
      rows.map((row) => row.name),
      rows.map((row) => row.record_id),
      rows.map((row) => row.sequence),
      rows.map((row) => row.from_status),
      rows.map((row) => row.to_status),
      rows.map((row) => row.facts),
      rows.map((row) => row.subject_id),
      rows.map((row) => row.body),
      rows.map((row) => row.change_id),
      rows.map((row) => row.role),
      rows.map((row) => row.app_id),
      rows.map((row) => row.counterpart_account_id),
      rows.map((row) => row.trace_id),
      now,
    ],
  );
}

/** Events without their bodies, by id. */
export function listEventRows(
  session: Session,
  account_id: string,
  ids: readonly string[],
): Promise<EventRow[]> {
  return session.query<EventRow>(
    `select account_id, id, name, record_id, sequence, from_status, to_status, facts, subject_id,
       change_id, role, app_id, counterpart_account_id, created_at
     from events where account_id = $1 and id = any($2::uuid[])`,
    [account_id, ids],
  );
}

export async function findEventCount(session: Session, account_id: string): Promise<bigint> {
  const [row] = await session.query<{ count: bigint }>(
    "select count(*) from events where account_id = $1",
    [account_id],
  );
  return row!.count;
}
