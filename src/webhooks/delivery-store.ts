import type { Session, Transaction } from "../platform/db/database.ts";
import { plainArray } from "../platform/db/plain-array.ts";
import type { DeliveryStatus } from "./model.ts";

export type Delivery = {
  account_id: string;
  id: string;
  app_id: string;
  event_account_id: string;
  event_id: string;
  name: string;
  record_id: string;
  sequence: number;
  status: DeliveryStatus;
  reason: string | null;
  attempts: number;
  attempts_before: number;
  next_attempt_at: Date | null;
  delivered_at: Date | null;
  created_at: Date;
  updated_at: Date;
};

export type NewDelivery = Pick<
  Delivery,
  | "account_id"
  | "id"
  | "app_id"
  | "event_account_id"
  | "event_id"
  | "name"
  | "record_id"
  | "sequence"
  | "reason"
> & { status: "pending" | "skipped"; body: Buffer | null };

export const DELIVERY_COLUMNS = `d.account_id, d.id, d.app_id, d.event_account_id, d.event_id,
  d.name, d.record_id,
  d.sequence, d.status, d.reason, d.attempts, d.attempts_before, d.next_attempt_at, d.delivered_at,
  d.created_at, d.updated_at`;

/** One delivery per event and application, however often it is handed over. */
export function insertDeliveries(
  tx: Transaction,
  deliveries: readonly NewDelivery[],
  now: Date,
): void {
  if (deliveries.length === 0) return;
  tx.write(
    `insert into webhook_deliveries (account_id, id, app_id, event_account_id, event_id, name,
       record_id, sequence, status, reason, body, next_attempt_at, created_at, updated_at)
     select t.*, case when t.status = 'pending' then $12::timestamptz end, $12, $12
     from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::uuid[], $6::text[],
       $7::uuid[], $8::int[], $9::text[], $10::text[], $11::bytea[])
       as t (account_id, id, app_id, event_account_id, event_id, name, record_id, sequence, status,
         reason, body)
     on conflict (account_id, event_id, app_id) do nothing`,
    [
      deliveries.map((delivery) => delivery.account_id),
      deliveries.map((delivery) => delivery.id),
      deliveries.map((delivery) => delivery.app_id),
      deliveries.map((delivery) => delivery.event_account_id),
      deliveries.map((delivery) => delivery.event_id),
      deliveries.map((delivery) => delivery.name),
      deliveries.map((delivery) => delivery.record_id),
      deliveries.map((delivery) => delivery.sequence),
      deliveries.map((delivery) => delivery.status),
      deliveries.map((delivery) => delivery.reason),
      deliveries.map((delivery) => delivery.body),
      now,
    ],
  );
}

/** What is needed to send a delivery, with the sealed body of its event. */
export type DueDelivery = Pick<
  Delivery,
  | "account_id"
  | "id"
  | "app_id"
  | "event_account_id"
  | "event_id"
  | "sequence"
  | "attempts"
  | "attempts_before"
> & {
  next_attempt_at: Date;
  /** Of a sample; sealed with the application's account's key. */
  sample: Buffer | null;
  body: Buffer | null;
  subject_id: string | null;
  /** Whether the event's account lets the application see what is its own. */
  consent: "not_needed" | "held" | "withdrawn";
};

export type DueQuery = {
  account_id: string;
  app_id: string;
  /** Where the page before ended. */
  after: { next_attempt_at: Date; id: string } | null;
};

// With ordered delivery, an event waits while an earlier one of its record is under way.
const ELIGIBLE = `d.status = 'pending' and (not a.is_ordered or not exists (
    select from webhook_deliveries p
    where p.account_id = d.account_id and p.app_id = d.app_id and p.record_id = d.record_id
      and p.status = 'pending' and p.sequence < d.sequence))`;

// Events of the ramp are chosen, not consented to. Of invoices, another account's need its consent;
// one's own only where it was given, and then for as long as it is not taken back.
const CONSENT = `case
    when due.sample is not null or e.change_id is null
      or (due.event_account_id = due.account_id and a.used_at is null) then 'not_needed'
    when exists (
      select from app_grants g where g.account_id = due.event_account_id
        and g.app_id = due.app_id and g.revoked_at is null) then 'held'
    when due.event_account_id <> due.account_id or exists (
      select from app_grants g where g.account_id = due.event_account_id
        and g.app_id = due.app_id) then 'withdrawn'
    else 'not_needed' end`;

/** For each application, the next due deliveries in order of their time. */
export function listDueDeliveries(
  session: Session,
  queries: readonly DueQuery[],
  now: Date,
  limits: { well: number; failing: number },
): Promise<DueDelivery[]> {
  return session.query<DueDelivery>(
    `select due.*, e.body, e.subject_id, ${CONSENT} as consent
     from unnest($1::uuid[], $2::uuid[], $3::timestamptz[], $4::uuid[])
       as q (account_id, app_id, after_at, after_id)
     -- Of an endpoint that is left alone, nothing is read.
     join apps a on a.account_id = q.account_id and a.id = q.app_id and a.webhook_state = 'active'
       and (a.circuit_until is null or a.circuit_until <= $5)
     cross join lateral (
       select d.account_id, d.id, d.app_id, d.event_account_id, d.event_id, d.sequence,
         d.attempts, d.attempts_before, d.next_attempt_at, d.body as sample
       from webhook_deliveries d
       where d.account_id = q.account_id and d.app_id = q.app_id and ${ELIGIBLE}
         and d.next_attempt_at <= $5 and (d.next_attempt_at, d.id) > (q.after_at, q.after_id)
       -- One that fails is not read ahead for: it may take long until it is sent anything.
       order by d.next_attempt_at, d.id
       limit case when a.failures_in_a_row > 0 then $7::int else $6::int end
     ) as due
     left join lateral (
       -- The limit keeps the planner from reading all events to find these.
       select e.body, e.subject_id, e.change_id from events e
       where e.account_id = due.event_account_id and e.id = due.event_id limit 1
     ) as e on true
     order by due.next_attempt_at, due.id`,
    [
      queries.map((query) => query.account_id),
      queries.map((query) => query.app_id),
      queries.map((query) => query.after?.next_attempt_at ?? new Date(0)),
      queries.map((query) => query.after?.id ?? "00000000-0000-0000-0000-000000000000"),
      now,
      limits.well,
      limits.failing,
    ],
  );
}

/** When each application's next delivery is due; absent where nothing waits. */
export async function listNextDue(
  session: Session,
  apps: readonly { account_id: string; id: string }[],
): Promise<Map<string, Date>> {
  const rows = await session.query<{ app_id: string; due_at: Date }>(
    `select q.app_id, due.next_attempt_at as due_at
     from unnest($1::uuid[], $2::uuid[]) as q (account_id, app_id)
     join apps a on a.account_id = q.account_id and a.id = q.app_id
     cross join lateral (
       select d.next_attempt_at from webhook_deliveries d
       where d.account_id = q.account_id and d.app_id = q.app_id and ${ELIGIBLE}
       order by d.next_attempt_at, d.id limit 1
     ) as due`,
    [apps.map((app) => app.account_id), apps.map((app) => app.id)],
  );
  return new Map(rows.map((row) => [row.app_id, row.due_at]));
}

/** What became of an attempt. */
export type Outcome = {
  account_id: string;
  delivery_id: string;
  /** The time for which it was sent: another one by now means that it was asked for again. */
  due_at: Date;
  /** Absent when nothing was sent, because there was nothing to send any more. */
  attempt: {
    number: number;
    at: Date;
    status: number | null;
    error: string | null;
    latency_ms: number;
    answer: Buffer | null;
  } | null;
  status: DeliveryStatus;
  reason: string | null;
  next_attempt_at: Date | null;
  at: Date;
};

/**
 * The planner takes a table that grows and is worked off within minutes for what it was when its
 * statistics were made, and would read all of it for a few hundred keys.
 */
export async function updatePlanner(tx: Session): Promise<void> {
  await tx.query(
    `select set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
       set_config('enable_mergejoin', 'off', true)`,
  );
}

// Asked for again while the attempt was under way: it is in the log, and the delivery still waits.
const IS_ASKED = `(d.status = 'pending'
  and date_trunc('milliseconds', d.next_attempt_at) <> t.due_at)`;
const unlessAsked = (column: string, value: string) =>
  `${column} = case when ${IS_ASKED} then d.${column} else ${value} end`;

/** Writes a set of outcomes: one statement for the attempts, one for the deliveries. */
export function updateOutcomes(tx: Transaction, outcomes: readonly Outcome[]): void {
  if (outcomes.length === 0) return;
  const attempts = outcomes.filter(({ attempt }) => attempt !== null);
  tx.write(
    `insert into webhook_attempts (account_id, delivery_id, number, at, status, error, latency_ms,
       answer)
     select * from unnest($1::uuid[], $2::uuid[], $3::int[], $4::timestamptz[], $5::int[],
       $6::text[], $7::int[], $8::bytea[])
     on conflict do nothing`,
    [
      plainArray(attempts.map((outcome) => outcome.account_id)),
      plainArray(attempts.map((outcome) => outcome.delivery_id)),
      plainArray(attempts.map(({ attempt }) => attempt!.number)),
      plainArray(attempts.map(({ attempt }) => attempt!.at.toISOString())),
      plainArray(attempts.map(({ attempt }) => attempt!.status)),
      attempts.map(({ attempt }) => attempt!.error),
      plainArray(attempts.map(({ attempt }) => attempt!.latency_ms)),
      attempts.map(({ attempt }) => attempt!.answer),
    ],
  );
  tx.write(
    `update webhook_deliveries d set ${unlessAsked("status", "t.status")},
       ${unlessAsked("reason", "t.reason")},
       ${unlessAsked("next_attempt_at", "t.next_attempt_at")}, updated_at = t.at,
       attempts = coalesce(t.number, d.attempts),
       attempts_before = case when ${IS_ASKED} then coalesce(t.number, d.attempts)
         else d.attempts_before end,
       delivered_at = case when t.status = 'delivered' then t.at else d.delivered_at end
     from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::timestamptz[],
       $6::timestamptz[], $7::int[], $8::timestamptz[]) as t (account_id, id, status, reason,
       next_attempt_at, at, number, due_at)
     where d.account_id = t.account_id and d.id = t.id`,
    [
      plainArray(outcomes.map((outcome) => outcome.account_id)),
      plainArray(outcomes.map((outcome) => outcome.delivery_id)),
      plainArray(outcomes.map((outcome) => outcome.status)),
      outcomes.map((outcome) => outcome.reason),
      plainArray(outcomes.map((outcome) => outcome.next_attempt_at?.toISOString() ?? null)),
      plainArray(outcomes.map((outcome) => outcome.at.toISOString())),
      plainArray(outcomes.map((outcome) => outcome.attempt?.number ?? null)),
      plainArray(outcomes.map((outcome) => outcome.due_at.toISOString())),
    ],
  );
}

/** What waits for an endpoint that is sent nothing more is kept, with the reason. */
export function updatePendingSkipped(
  tx: Transaction,
  app: { account_id: string; id: string },
  reason: string,
  now: Date,
): void {
  tx.write(
    `update webhook_deliveries set status = 'skipped', reason = $3, next_attempt_at = null,
       updated_at = $4
     where account_id = $1 and app_id = $2 and status = 'pending'`,
    [app.account_id, app.id, reason, now],
  );
}
