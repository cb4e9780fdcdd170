import type { Session, Transaction } from "../../platform/db/database.ts";
import { bytesArray, plainArray } from "../../platform/db/plain-array.ts";
import { accountSetOf, setOf } from "../../platform/db/rows.ts";
import { SECOND_MS } from "../../platform/durations.ts";
import { FIRST_ID } from "../../platform/ids.ts";
import type { DeliveryStatus } from "../model.ts";
import { listWithOthers } from "./other-accounts-store.ts";

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

type Times = "next_attempt_at" | "delivered_at" | "created_at" | "updated_at";
export type NewDelivery = Omit<Delivery, "status" | "attempts" | "attempts_before" | Times> & {
  status: "pending" | "skipped";
  body: Buffer | null;
};

export const DELIVERY_COLUMNS = `d.account_id, d.id, d.app_id, d.event_account_id, d.event_id,
  d.name, d.record_id,
  d.sequence, d.status, d.reason, d.attempts, d.attempts_before, d.next_attempt_at, d.delivered_at,
  d.created_at, d.updated_at`;

/**
 * The queue contains the pending deliveries: every change of their state or time updates it too.
 */
export const QUEUE_COLUMNS = `account_id, app_id, due_at, delivery_id, event_account_id, event_id,
  record_id, sequence, is_sample, attempts, attempts_before`;
/** A pending delivery `d` as a row of the queue, without its account. */
export const QUEUED = `d.app_id, d.next_attempt_at, d.id, d.event_account_id,
  d.event_id, d.record_id, d.sequence, d.body is not null, d.attempts, d.attempts_before`;

/** One delivery per event and application, however often it is inserted. */
export function insertDeliveries(
  tx: Transaction,
  deliveries: readonly NewDelivery[],
  now: Date,
): void {
  if (deliveries.length === 0) return;
  const columns = `account_id uuid, id uuid, app_id uuid, event_account_id uuid, event_id uuid,
    name text, record_id uuid, sequence int, status text, reason text, body bytea`;
  const set = accountSetOf(tx, "t", columns, deliveries);
  // The account of the queue's rows is that of the deliveries, named again where it is known.
  const account = tx.by_account ? "$1::uuid" : "d.account_id";
  tx.write(
    `with new as (
       insert into webhook_deliveries (account_id, id, app_id, event_account_id, event_id, name,
         record_id, sequence, status, reason, body, next_attempt_at, created_at, updated_at)
       select t.*, case when t.status = 'pending' then $12::timestamptz end, $12, $12
       from ${set.from}
       on conflict (account_id, event_id, app_id) do nothing
       returning *
     )
     insert into webhook_queue (${QUEUE_COLUMNS}) select ${account}, ${QUEUED} from new as d
     where d.status = 'pending'`,
    [
      set.accounts,
      plainArray(deliveries.map((delivery) => delivery.id)),
      plainArray(deliveries.map((delivery) => delivery.app_id)),
      plainArray(deliveries.map((delivery) => delivery.event_account_id)),
      plainArray(deliveries.map((delivery) => delivery.event_id)),
      plainArray(deliveries.map((delivery) => delivery.name)),
      plainArray(deliveries.map((delivery) => delivery.record_id)),
      plainArray(deliveries.map((delivery) => delivery.sequence)),
      plainArray(deliveries.map((delivery) => delivery.status)),
      deliveries.map((delivery) => delivery.reason),
      bytesArray(deliveries.map((delivery) => delivery.body)),
      now,
    ],
  );
}

/** What is needed to send a delivery, with the sealed body of its event. */
export type DueDelivery = Omit<Delivery, "name" | "status" | "reason" | Times> & {
  /** The trace of the request that caused the event, if any. */
  trace_id: string | null;
  /** As PostgreSQL formats it: only passed back to queries. */
  due_at: string;
  /** The body of a sample, sealed with the key of the application's account. */
  sample: Buffer | null;
  body: Buffer | null;
  subject_id: string | null;
  /** Whether the event's account lets the application see its data. */
  consent: "not_needed" | "held" | "withdrawn";
  /** Of a page: whether one follows that would be part of it if the bodies were small. */
  has_next?: boolean;
};

/** A place in an application's queue, which is in the order of the due times. */
export type QueuePlace = { due_at: string; id: string };

export type DueQuery = {
  account_id: string;
  app_id: string;
  /** Where the previous page ended. */
  after: QueuePlace | null;
  /** Where the search ends; absent for all that is due. */
  through?: QueuePlace | null;
};

type RecordQuery = { account_id: string; app_id: string; record_id: string };

// For entries of one record and application. The queue changes too fast for its statistics: the
// planner, expecting few entries, used to read all of them for each record. The primary key serves
// neither `is not distinct from` nor a hash, so that only the index by record remains; it is for
// statements that repeat its predicate. Without the hash, the entries of every other application
// that waits for the record would be read too. Where the account is one, $1 names it.
export const sameRecord = ({ by_account }: Session, a: string, b: string) =>
  `${a}.record_id = ${b}.record_id
      and uuid_hash(${a}.app_id) = uuid_hash(${b}.app_id) and ${a}.sequence >= 0
      and ${a}.account_id is not distinct from ${b}.account_id
      and ${a}.app_id is not distinct from ${b}.app_id
      ${by_account ? `and ${a}.account_id = $1` : ""}`;

/** Makes the planner take the index by record (planner-store.ts), where the account is one. */
export const inOrder = ({ by_account }: Session, a: string) =>
  by_account ? `order by ${a}.sequence` : "";

// With ordered delivery, an event waits while an earlier one of its record does.
const eligible = (session: Session) => {
  const earlier = `from webhook_queue p
    where ${sameRecord(session, "p", "w")} and p.sequence < w.sequence`;
  // The planner ignores the order in `exists`.
  return session.by_account
    ? `(not a.is_ordered or (select true ${earlier} ${inOrder(session, "p")} limit 1) is null)`
    : `(not a.is_ordered or not exists (select ${earlier}))`;
};

// Ramp events need a subscription, not a consent. Invoice events of another account need its
// consent; those of the own account only if a consent was given, and as long as it is valid.
// Where the account is one, both the event and the consent of another are read by `listWithOthers`.
const consent = ({ by_account }: Session) => {
  const grants = `app_grants g where g.account_id = due.event_account_id
    and g.app_id = due.app_id ${by_account ? "and g.account_id = $1" : ""}`;
  return `case
    when due.is_sample or e.change_id is null
      or (due.event_account_id = due.account_id and a.used_at is null) then 'not_needed'
    when exists (select from ${grants} and g.revoked_at is null) then 'held'
    when due.event_account_id <> due.account_id or exists (select from ${grants}) then 'withdrawn'
    else 'not_needed' end`;
};

const QUEUE_ENTRY = `w.account_id, w.delivery_id as id, w.app_id, w.event_account_id, w.event_id,
  w.record_id, w.sequence, w.is_sample, w.attempts, w.attempts_before, w.due_at`;
// Nothing is read for an endpoint with an open circuit.
const openApp = (now: string) => `apps a on a.account_id = q.account_id and a.id = q.app_id
  and a.webhook_state = 'active' and (a.circuit_until is null or a.circuit_until <= ${now})`;

const COLUMNS = `account_id, id, app_id, event_account_id, event_id, record_id, sequence, attempts,
  attempts_before, due_at::text as due_at, sample, body, subject_id, trace_id, consent`;

/** `due` selects entries of the queue; the limits keep the planner from reading whole tables. */
const withBodies = (session: Session, due: string, sizes = "") => `
  select due.account_id, due.id, due.app_id, due.event_account_id, due.event_id, due.record_id,
    due.sequence, due.attempts, due.attempts_before, due.due_at,
    sample.body as sample, e.body, e.subject_id, e.trace_id,
    ${consent(session)} as consent ${sizes}
  from ${due}
  left join lateral (
    select d.body from webhook_deliveries d
    where due.is_sample and d.account_id = due.account_id and d.id = due.id
      ${session.by_account ? "and d.account_id = $1" : ""} limit 1
  ) as sample on true
  left join lateral (
    select e.body, e.subject_id, e.change_id, e.trace_id from events e
    where e.account_id = due.event_account_id and e.id = due.event_id
      ${session.by_account ? "and e.account_id = $1" : ""} limit 1
  ) as e on true`;

// A page of large bodies ends early: the first is always part of it.
const SIZES = `,
  coalesce(sum(octet_length(coalesce(sample.body, e.body))) over page, 0) as bytes_before,
  lead(due.id) over page is not null as has_next`;
// The order of the window is that of the result: it is sorted once.
const ORDER = "due.account_id, due.app_id, due.due_at, due.id";
const PAGE_WINDOW = `window page as (partition by due.account_id, due.app_id
  order by due.due_at, due.id rows between unbounded preceding and 1 preceding)`;

type SetText = { from: string };

const nextPages = (session: Session, { from }: SetText) =>
  `select ${COLUMNS}, has_next from (${withBodies(
    session,
    `${from}
  join ${openApp("$7")}
  cross join lateral (
    select ${QUEUE_ENTRY} from webhook_queue w
    where w.account_id = q.account_id and w.app_id = q.app_id and ${eligible(session)}
      and w.due_at <= $7 and (w.due_at, w.delivery_id) > (q.after_at, q.after_id)
      and (w.due_at, w.delivery_id) <= (q.through_at, q.through_id)
    -- Does not load ahead for a failing endpoint: its deliveries may wait for long.
    order by w.due_at, w.delivery_id
    limit case when a.failures_in_a_row > 0 then $9::int else $8::int end
  ) as due`,
    SIZES,
  )} ${PAGE_WINDOW}) as due where bytes_before <= $10::numeric order by ${ORDER}`;

// With ordered delivery, only the record's first entry can be next, and only if it is due.
const nextOfRecords = (session: Session, { from }: SetText) =>
  `select ${COLUMNS} from (${withBodies(
    session,
    `${from}
  join ${openApp("$4")}
  join lateral (
    select ${QUEUE_ENTRY} from webhook_queue w
    where ${sameRecord(session, "w", "q")} and (a.is_ordered or w.due_at <= $4)
    order by w.sequence limit 1
  ) as due on due.due_at <= $4`,
  )}) as due order by ${ORDER}`;

/** For each application, the next due deliveries, earliest first. */
export async function listDueDeliveries(
  session: Session,
  queries: readonly DueQuery[],
  now: Date,
  limits: { well: number; failing: number; bytes: number },
): Promise<DueDelivery[]> {
  const columns = `account_id uuid, app_id uuid, after_at timestamptz, after_id uuid,
    through_at timestamptz, through_id uuid`;
  const set = setOf(session, "q", columns, queries.map(placesOf));
  const values = [...set.values, now, limits.well, limits.failing, limits.bytes / queries.length];
  // All pages together, because they are read together.
  const due = await session.query<DueDelivery>(nextPages(session, set), values);
  return listWithOthers(session, due);
}

/** For each record, its next delivery to the application, if it is due. */
export async function listDueOfRecords(
  session: Session,
  queries: readonly RecordQuery[],
  now: Date,
): Promise<DueDelivery[]> {
  const set = setOf(session, "q", "account_id uuid, app_id uuid, record_id uuid", queries);
  const due = await session.query<DueDelivery>(nextOfRecords(session, set), [...set.values, now]);
  return listWithOthers(session, due);
}

function placesOf({ account_id, app_id, after, through }: DueQuery) {
  return {
    account_id,
    app_id,
    after_at: after?.due_at ?? "-infinity",
    after_id: after?.id ?? FIRST_ID,
    through_at: through?.due_at ?? "infinity",
    through_id: through?.id ?? FIRST_ID,
  };
}

/** Where searches begin, with $1 to $4. */
export function startsOf(session: Session, queries: readonly DueQuery[]) {
  const columns = "account_id uuid, app_id uuid, after_at timestamptz, after_id uuid";
  return setOf(session, "q", columns, queries.map(placesOf));
}

/** How many entries are searched for the next delivery; they may all wait for others. */
const SEARCHED_MAX = 500;
const LOOK_AGAIN_MS = 5 * SECOND_MS;

type NextDue = {
  due_at: Date;
  /** Whether all of the first wait for others; null while the circuit is open. */
  all_wait: boolean | null;
};

/**
 * When each application's next delivery is due; absent if none is pending. The caller has locked
 * its task, and who hands over events waits for that: where the first entries all wait for an
 * earlier one of their record, it is soon, because finding one that does not could take seconds.
 * While the circuit is open it is when the first is due, whether that waits for another or not.
 */
export async function listNextDue(
  session: Session,
  apps: readonly { account_id: string; id: string }[],
  now: Date,
): Promise<Map<string, NextDue>> {
  const set = setOf(session, "q", "account_id uuid, id uuid", apps);
  const soon = new Date(now.getTime() + LOOK_AGAIN_MS);
  const rows = await session.query<NextDue & { app_id: string }>(
    `select q.id as app_id, coalesce(next.due_at, $4::timestamptz) as due_at,
       case when a.circuit_until > $3 then null else next.due_at is null end as all_wait
     from ${set.from}
     join apps a on a.account_id = q.account_id and a.id = q.id
     cross join lateral (
       select account_id from webhook_queue w
       where w.account_id = q.account_id and w.app_id = q.id limit 1
     ) as any_entry
     left join lateral (
       select w.due_at from (
         select * from webhook_queue w where w.account_id = q.account_id and w.app_id = q.id
         order by w.due_at, w.delivery_id limit ${SEARCHED_MAX}
       ) as w
       where a.circuit_until > $3 or ${eligible(session)}
       order by w.due_at, w.delivery_id limit 1
     ) as next on true`,
    [...set.values, now, soon],
  );
  return new Map(rows.map((row) => [row.app_id, row]));
}
