import type { Transaction } from "../../platform/db/database.ts";
import { bytesArray, plainArray } from "../../platform/db/plain-array.ts";
import type { DeliveryStatus } from "../model.ts";
import { QUEUE_COLUMNS, QUEUED, sameRecord } from "./store.ts";

/** The result of a delivery that was due. */
export type DeliveryOutcome = {
  account_id: string;
  app_id: string;
  delivery_id: string;
  record_id: string;
  sequence: number;
  /** The due time it was sent for: if it differs by now, the delivery was requested again. */
  due_at: string;
  /** Null when nothing was sent, because there was nothing to send any more. */
  attempt: Attempt | null;
  status: DeliveryStatus;
  reason: string | null;
  next_attempt_at: Date | null;
  at: Date;
};

type Attempt = {
  number: number;
  status: number | null;
  error: string | null;
  latency_ms: number;
  answer: Buffer | null;
};

/**
 * Writes a set of outcomes: one statement for the delivered ones, several for the rest. Returns
 * those after which a later event of the record may be sent.
 */
export async function updateOutcomes(
  tx: Transaction,
  outcomes: readonly DeliveryOutcome[],
): Promise<Set<DeliveryOutcome>> {
  const { delivered = [], other = [] } = Object.groupBy(outcomes, ({ status }) =>
    status === "delivered" ? "delivered" : "other",
  );
  if (other.length > 0) updateOther(tx, other);
  const followed = delivered.length > 0 ? await updateDelivered(tx, delivered) : [];
  // A delivery to be retried still blocks the record's later events.
  return new Set([...followed, ...other.filter(({ status }) => status !== "pending")]);
}

// By due time: a delivery requested again in the meantime has another time, and stays.
const UNQUEUE = `delete from webhook_queue w using t
  where w.account_id = t.account_id and w.app_id = t.app_id and w.due_at = t.due_at
    and w.delivery_id = t.id`;

// Requested again during the attempt: the attempt is logged, the delivery stays pending.
const IS_ASKED = "(d.status = 'pending' and d.next_attempt_at <> t.due_at)";
const unlessAsked = (column: string, value: string) =>
  `${column} = case when ${IS_ASKED} then d.${column} else ${value} end`;
const ATTEMPTS_BEFORE = `attempts_before = case when ${IS_ASKED} then coalesce(t.number, d.attempts)
  else d.attempts_before end`;

// A delivery requested again is queued with its earlier attempts.
const REQUEUE_ASKED = `update webhook_queue w
  set attempts = d.attempts, attempts_before = d.attempts_before
  from written as d where d.status = 'pending' and w.account_id = d.account_id
    and w.app_id = d.app_id and w.due_at = d.next_attempt_at and w.delivery_id = d.id`;

/** The delivery itself stores the attempt that delivered it: most need no attempt row. */
async function updateDelivered(
  tx: Transaction,
  outcomes: readonly DeliveryOutcome[],
): Promise<DeliveryOutcome[]> {
  const followed = await tx.query<{ place: number }>(
    `with t as (
       select account_id, app_id, id, due_at, number, to_timestamp(at_ms / 1000) as at, answered,
         latency_ms, answer, record_id, sequence, place
       from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::timestamptz[], $5::int[], $6::float8[],
         $7::int[], $8::int[], $9::bytea[], $10::uuid[], $11::int[]) with ordinality
         as t (account_id, app_id, id, due_at, number, at_ms, answered, latency_ms, answer,
           record_id, sequence, place)
     ), unqueued as (${UNQUEUE}), written as (
       update webhook_deliveries d set ${unlessAsked("status", "'delivered'")}, reason = null,
         ${unlessAsked("next_attempt_at", "null")}, delivered_at = t.at, updated_at = t.at,
         attempts = t.number, ${ATTEMPTS_BEFORE}, ${unlessAsked("answered", "t.answered")},
         ${unlessAsked("latency_ms", "t.latency_ms")}, ${unlessAsked("answer", "t.answer")}
       from t where d.account_id = t.account_id and d.id = t.id
       returning d.account_id, d.id, d.app_id, d.status, d.next_attempt_at, d.attempts,
         d.attempts_before
     ), requeued as (${REQUEUE_ASKED}), logged as (
       insert into webhook_attempts (${ATTEMPT_COLUMNS})
       select t.account_id, t.id, t.number, t.at, t.answered, null, t.latency_ms, t.answer
       from written join t on t.account_id = written.account_id and t.id = written.id
       where written.status = 'pending'
       on conflict do nothing
     )
     -- A join, which the planner makes of \`exists\`, may read all of the queue.
     select t.place::integer as place from t where (
       select true from webhook_queue w
       where ${sameRecord("w", "t")} and w.sequence > t.sequence limit 1)`,
    [
      plainArray(outcomes.map((outcome) => outcome.account_id)),
      plainArray(outcomes.map((outcome) => outcome.app_id)),
      plainArray(outcomes.map((outcome) => outcome.delivery_id)),
      plainArray(outcomes.map((outcome) => outcome.due_at)),
      plainArray(outcomes.map(({ attempt }) => attempt!.number)),
      plainArray(outcomes.map((outcome) => outcome.at.getTime())),
      plainArray(outcomes.map(({ attempt }) => attempt!.status)),
      plainArray(outcomes.map(({ attempt }) => attempt!.latency_ms)),
      bytesArray(outcomes.map(({ attempt }) => attempt!.answer)),
      plainArray(outcomes.map((outcome) => outcome.record_id)),
      plainArray(outcomes.map((outcome) => outcome.sequence)),
    ],
  );
  return followed.map(({ place }) => outcomes[place - 1]!);
}

export const ATTEMPT_COLUMNS =
  "account_id, delivery_id, number, at, status, error, latency_ms, answer";

function updateOther(tx: Transaction, outcomes: readonly DeliveryOutcome[]): void {
  const attempts = outcomes.filter(({ attempt }) => attempt !== null);
  tx.write(
    `insert into webhook_attempts (${ATTEMPT_COLUMNS})
     select * from unnest($1::uuid[], $2::uuid[], $3::int[], $4::timestamptz[], $5::int[],
       $6::text[], $7::int[], $8::bytea[])
     on conflict do nothing`,
    [
      plainArray(attempts.map((outcome) => outcome.account_id)),
      plainArray(attempts.map((outcome) => outcome.delivery_id)),
      plainArray(attempts.map(({ attempt }) => attempt!.number)),
      plainArray(attempts.map((outcome) => outcome.at.toISOString())),
      plainArray(attempts.map(({ attempt }) => attempt!.status)),
      attempts.map(({ attempt }) => attempt!.error),
      plainArray(attempts.map(({ attempt }) => attempt!.latency_ms)),
      bytesArray(attempts.map(({ attempt }) => attempt!.answer)),
    ],
  );
  tx.write(
    `with t as (
       select * from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::timestamptz[], $5::text[],
         $6::text[], $7::timestamptz[], $8::timestamptz[], $9::int[]) as t (account_id, app_id, id,
         due_at, status, reason, next_attempt_at, at, number)
     ), unqueued as (${UNQUEUE})
     update webhook_deliveries d set ${unlessAsked("status", "t.status")},
       ${unlessAsked("reason", "t.reason")},
       ${unlessAsked("next_attempt_at", "t.next_attempt_at")}, updated_at = t.at,
       ${unlessAsked("failed_at", "case when t.status = 'failed' then t.at end")},
       attempts = coalesce(t.number, d.attempts), ${ATTEMPTS_BEFORE}
     from t where d.account_id = t.account_id and d.id = t.id and d.status <> 'delivered'`,
    [
      plainArray(outcomes.map((outcome) => outcome.account_id)),
      plainArray(outcomes.map((outcome) => outcome.app_id)),
      plainArray(outcomes.map((outcome) => outcome.delivery_id)),
      plainArray(outcomes.map((outcome) => outcome.due_at)),
      plainArray(outcomes.map((outcome) => outcome.status)),
      outcomes.map((outcome) => outcome.reason),
      plainArray(outcomes.map((outcome) => outcome.next_attempt_at?.toISOString() ?? null)),
      plainArray(outcomes.map((outcome) => outcome.at.toISOString())),
      plainArray(outcomes.map((outcome) => outcome.attempt?.number ?? null)),
    ],
  );
  // Those to be retried, or requested again in the meantime.
  tx.write(
    `insert into webhook_queue (${QUEUE_COLUMNS})
     select ${QUEUED} from unnest($1::uuid[], $2::uuid[]) as t (account_id, id)
     join webhook_deliveries d on d.account_id = t.account_id and d.id = t.id
     where d.status = 'pending'
     on conflict (account_id, app_id, due_at, delivery_id) do update
       set attempts = excluded.attempts, attempts_before = excluded.attempts_before`,
    [
      plainArray(outcomes.map((outcome) => outcome.account_id)),
      plainArray(outcomes.map((outcome) => outcome.delivery_id)),
    ],
  );
}
