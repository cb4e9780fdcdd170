import type { Session, Transaction } from "../platform/db/database.ts";
import { ATTEMPT_COLUMNS } from "./delivery/outcome-store.ts";
import { DELIVERY_COLUMNS, type Delivery, QUEUE_COLUMNS, QUEUED } from "./delivery/store.ts";

// Restarts the schedule; earlier attempts stay in the log.
const AGAIN = `status = 'pending', reason = null, next_attempt_at = $3, updated_at = $3,
  attempts_before = d.attempts, failed_at = null, answered = null, latency_ms = null,
  answer = null`;
// In all statements $1 is the account.
const QUEUE_AGAIN = `insert into webhook_queue (${QUEUE_COLUMNS})
  select $1::uuid, ${QUEUED} from again as d`;
// The delivering attempt gets its own row.
const LOG_DELIVERED = `insert into webhook_attempts (${ATTEMPT_COLUMNS})
  select $1::uuid, id, attempts, delivered_at, answered, null, latency_ms, answer from before
  where status = 'delivered'
  on conflict do nothing`;

/** Requeues the delivery of one event to one application, even if it is pending. */
export function updateEventAgain(
  tx: Transaction,
  key: { account_id: string; event_id: string; app_id: string },
  now: Date,
): void {
  const { account_id, event_id, app_id } = key;
  // A separate statement: within one, the order of its parts is not defined.
  tx.write(
    `delete from webhook_queue w using webhook_deliveries d
     where d.account_id = $1 and d.event_id = $2 and d.app_id = $3 and w.account_id = $1
       and w.app_id = $3 and w.due_at = d.next_attempt_at and w.delivery_id = d.id`,
    [account_id, event_id, app_id],
  );
  tx.write(
    `with before as (
       select * from webhook_deliveries
       where account_id = $1 and event_id = $2 and app_id = $4 for no key update
     ), again as (
       update webhook_deliveries d set ${AGAIN} from before
       where d.account_id = $1 and d.id = before.id
       returning d.*
     ), logged as (${LOG_DELIVERED})
     ${QUEUE_AGAIN}`,
    [account_id, event_id, now, app_id],
  );
}

/** Requeues the missed deliveries of events in a range of ids; returns the events' ids. */
export async function updateMissedAgain(
  tx: Session,
  app: { account_id: string; id: string },
  events: { after_id: string; below_id: string; limit: number },
  now: Date,
): Promise<string[]> {
  const rows = await tx.query<{ event_id: string }>(
    `with again as (
       update webhook_deliveries d set ${AGAIN}
       where account_id = $1 and id in (
         select id from webhook_deliveries
         where account_id = $1 and app_id = $2 and status in ('failed', 'skipped')
           and event_id > $4 and event_id < $5
         order by event_id limit $6 for no key update)
       returning *
     ), queued as (${QUEUE_AGAIN})
     select event_id from again order by event_id`,
    [app.account_id, app.id, now, events.after_id, events.below_id, events.limit],
  );
  return rows.map((row) => row.event_id);
}

/** How many deliveries of events in a range of ids were missed, up to the limit. */
export async function countMissed(
  session: Session,
  app: { account_id: string; id: string },
  events: { after_id: string; below_id: string; limit: number },
): Promise<number> {
  const [row] = await session.query<{ count: number }>(
    `select count(*)::integer as count from (
       select from webhook_deliveries
       where account_id = $1 and app_id = $2 and status in ('failed', 'skipped')
         and event_id > $3 and event_id < $4 limit $5) as missed`,
    [app.account_id, app.id, events.after_id, events.below_id, events.limit],
  );
  return row!.count;
}

/** Requeues the deliveries of these events that the replay has not requeued yet. */
export async function updateEventsAgain(
  tx: Session,
  app: { account_id: string; id: string },
  event_ids: readonly string[],
  replayed_at: Date,
  now: Date,
): Promise<number> {
  const rows = await tx.query(
    `with before as (
       select * from webhook_deliveries
       where account_id = $1 and app_id = $2 and event_id = any($4::uuid[])
         and status <> 'pending' and updated_at < $5 for no key update
     ), again as (
       update webhook_deliveries d set ${AGAIN} from before
       where d.account_id = $1 and d.id = before.id
       returning d.*
     ), logged as (${LOG_DELIVERED}), queued as (${QUEUE_AGAIN})
     select id from again`,
    [app.account_id, app.id, now, event_ids, replayed_at],
  );
  return rows.length;
}

export async function listDeliveriesOfEvent(
  session: Session,
  account_id: string,
  event_id: string,
): Promise<Delivery[]> {
  return session.query<Delivery>(
    `select ${DELIVERY_COLUMNS} from webhook_deliveries d
     where d.account_id = $1 and d.event_id = $2 order by d.app_id`,
    [account_id, event_id],
  );
}

/** Which of these events have a delivery to this application. */
export async function listDeliveredEvents(
  session: Session,
  app: { account_id: string; id: string },
  event_ids: readonly string[],
): Promise<Set<string>> {
  const rows = await session.query<{ event_id: string }>(
    `select event_id from webhook_deliveries
     where account_id = $1 and app_id = $2 and event_id = any($3::uuid[])`,
    [app.account_id, app.id, event_ids],
  );
  return new Set(rows.map((row) => row.event_id));
}

export type DeliveryAttemptRow = {
  delivery_id: string;
  number: number;
  at: Date;
  status: number | null;
  error: string | null;
  latency_ms: number;
  answer: Buffer | null;
};

/** The latest attempts of each delivery, oldest first. */
export function listAttempts(
  session: Session,
  account_id: string,
  delivery_ids: readonly string[],
  limit: number,
): Promise<DeliveryAttemptRow[]> {
  return session.query<DeliveryAttemptRow>(
    `select latest.* from unnest($2::uuid[]) as q (delivery_id)
     cross join lateral (
       select delivery_id, number, at, status, error, latency_ms, answer from webhook_attempts
       where account_id = $1 and delivery_id = q.delivery_id
       union all
       select id, attempts, delivered_at, answered, null, latency_ms, answer
       from webhook_deliveries
       where account_id = $1 and id = q.delivery_id and status = 'delivered'
       order by number desc limit $3
     ) as latest
     order by latest.delivery_id, latest.number`,
    [account_id, delivery_ids, limit],
  );
}

/**
 * Deletes deliveries created before this id with their attempts, except those pending for an
 * existing application; true when more are left.
 */
export async function deleteOldDeliveries(
  session: Session,
  account_id: string,
  below_id: string,
  limit: number,
): Promise<boolean> {
  const [row] = await session.query<{ count: number }>(
    `with old as (
       select id, app_id, next_attempt_at from webhook_deliveries
       where account_id = $1 and id < $2 and (status <> 'pending' or app_id in (
         select id from apps where account_id = $1 and deleted_at is not null))
       order by id limit $3
     ), queued as (
       delete from webhook_queue w using old where w.account_id = $1 and w.app_id = old.app_id
         and w.due_at = old.next_attempt_at and w.delivery_id = old.id
     ), attempts as (
       delete from webhook_attempts where account_id = $1 and delivery_id in (select id from old)
     ), deliveries as (
       delete from webhook_deliveries where account_id = $1 and id in (select id from old)
     )
     select count(*)::integer as count from old`,
    [account_id, below_id, limit],
  );
  return row!.count === limit;
}

/**
 * A receiver may have repeated personal data in its response; the responses to the events of these
 * records are deleted. Their deliveries are looked up one by one: there may be millions of others.
 */
export function updateAnswersErased(
  tx: Transaction,
  account_id: string,
  record_ids: readonly string[],
): void {
  tx.write(
    `with sent as materialized (
       select d.id from unnest($2::uuid[]) as record (id)
       cross join lateral (
         select id from events where record_id = record.id and account_id = $1 offset 0) as e
       cross join lateral (
         select id from webhook_deliveries where account_id = $1 and event_id = e.id offset 0) as d
     ), deliveries as (
       update webhook_deliveries set answer = null
       where account_id = $1 and answer is not null and id = any (array(select id from sent))
     )
     update webhook_attempts set answer = null where account_id = $1 and answer is not null
       and delivery_id = any (array(select id from sent))`,
    [account_id, record_ids],
  );
}
