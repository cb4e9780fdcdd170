import type { Session, Transaction } from "../platform/db/database.ts";
import { distinctSetOf, insertRows } from "../platform/db/rows.ts";

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
  /** Who caused it; null for background work. */
  actor: string | null;
  created_at: Date;
};

export function insertEvents(
  tx: Transaction,
  rows: readonly (EventRow & { body: Buffer; trace_id: string | null; mac: Buffer })[],
): void {
  insertRows(
    tx,
    "events",
    `account_id uuid, id uuid, name text, record_id uuid, sequence int, from_status text,
     to_status text, facts bytea, subject_id uuid, body bytea, change_id uuid, role text,
     app_id uuid, counterpart_account_id uuid, trace_id uuid, actor text, created_at timestamptz,
     mac bytea`,
    rows,
  );
}

const COLUMNS = `account_id, id, name, record_id, sequence, from_status, to_status, facts,
  subject_id, change_id, role, app_id, counterpart_account_id, actor, created_at, mac`;

export type StoredEvent = EventRow & { mac: Buffer | null };

/** Events without their bodies, by id. */
export function listEventRows(
  session: Session,
  account_id: string,
  ids: readonly string[],
): Promise<StoredEvent[]> {
  return session.query(
    `select ${COLUMNS} from events where account_id = $1 and id = any($2::uuid[])`,
    [account_id, ids],
  );
}

/** The last event of each record; records without events are left out. */
export function listLastEvents(
  session: Session,
  records: readonly { account_id: string; id: string }[],
): Promise<StoredEvent[]> {
  const wanted = distinctSetOf(session, "wanted", "account_id uuid, id uuid", records);
  // Record by record: the planner would compare all events of the account with all records.
  return session.query(
    `select e.* from ${wanted.from} cross join lateral (
       select ${COLUMNS} from events
       where record_id = wanted.id and account_id = ${wanted.accountIn("wanted")}
       order by sequence desc limit 1) as e`,
    wanted.values,
  );
}

export async function findEventCount(session: Session, account_id: string): Promise<bigint> {
  const [row] = await session.query<{ count: bigint }>(
    "select count(*) from events where account_id = $1",
    [account_id],
  );
  return row!.count;
}
