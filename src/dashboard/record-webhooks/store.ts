import type { Session } from "../../platform/db/database.ts";
import type { RecordKey } from "../../platform/db/rows.ts";

type RecordEvent = {
  id: string;
  name: string;
  to_status: string;
  created_at: Date;
};

/** The events of a record, newest first; `before`: those before this one. */
export function listRecordEvents(
  session: Session,
  { account_id, id }: RecordKey,
  before: string | null,
  limit: number,
): Promise<RecordEvent[]> {
  return session.query<RecordEvent>(
    `select id, name, to_status, created_at from events
     where record_id = $1 and account_id = $2 and ($3::uuid is null or sequence < (
       select sequence from events where account_id = $2 and id = $3 and record_id = $1))
     order by sequence desc limit $4`,
    [id, account_id, before, limit],
  );
}

type EventDelivery = {
  event_id: string;
  app_id: string;
  app_name: string;
  status: string;
  reason: string | null;
  attempts: number;
  /** HTTP status of the answer that it was delivered with. */
  answered: number | null;
  latency_ms: number | null;
  next_attempt_at: Date | null;
  delivered_at: Date | null;
};

/** To which applications of the account these events went, or will go. */
export function listEventDeliveries(
  session: Session,
  account_id: string,
  event_ids: readonly string[],
): Promise<EventDelivery[]> {
  return session.query<EventDelivery>(
    `select d.event_id, d.app_id, a.name as app_name, d.status, d.reason, d.attempts, d.answered,
       d.latency_ms, d.next_attempt_at, d.delivered_at
     from webhook_deliveries d
     join apps a on a.account_id = d.account_id and a.id = d.app_id
     where d.account_id = $1 and d.event_id = any($2::uuid[]) order by a.name, d.app_id`,
    [account_id, event_ids],
  );
}
