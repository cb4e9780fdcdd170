import type { Session, Transaction } from "../../platform/db/database.ts";
import { bytesArray, plainArray } from "../../platform/db/plain-array.ts";
import { accountSetOf } from "../../platform/db/rows.ts";
import type { DeliveryStatus } from "../model.ts";
import { inOrder, QUEUE_COLUMNS, QUEUED, sameRecord } from "./store.ts";

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

// A common table expression hides from the planner that the account is $1, so it is named again. By
// that alone the planner could read all that the account has: the other keys are named with it. It
// is not compared with the set's account too, because the planner then expects a set of one row.
const accountOf = ({ by_account }: Session, table: string) =>
  by_account ? "$1::uuid" : `${table}.account_id`;
const sameDelivery = ({ by_account }: Session, ids: string) =>
  by_account
    ? `d.account_id = $1 and d.id = any(${ids}::uuid[]) and d.id = t.id`
    : "d.account_id = t.account_id and d.id = t.id";
const ENTRIES = `w.account_id = $1 and w.app_id = any($2::uuid[])
    and w.due_at = any($4::timestamptz[]) and w.delivery_id = any($3::uuid[])`;

// By due time: a delivery requested again in the meantime has another time, and stays.
const unqueue = ({ by_account }: Session) => `delete from webhook_queue w using t
  where ${by_account ? ENTRIES : "w.account_id = t.account_id"}
    and w.app_id = t.app_id and w.due_at = t.due_at and w.delivery_id = t.id`;

// Requested again during the attempt: the attempt is logged, the delivery stays pending.
const IS_ASKED = "(d.status = 'pending' and d.next_attempt_at <> t.due_at)";
const unlessAsked = (column: string, value: string) =>
  `${column} = case when ${IS_ASKED} then d.${column} else ${value} end`;
const ATTEMPTS_BEFORE = `attempts_before = case when ${IS_ASKED} then coalesce(t.number, d.attempts)
  else d.attempts_before end`;

const UPDATE_ATTEMPTS = `on conflict (account_id, app_id, due_at, delivery_id) do update
  set attempts = excluded.attempts, attempts_before = excluded.attempts_before`;

// A delivery requested again is queued with its earlier attempts.
const requeueAsked = (tx: Session) =>
  tx.by_account
    ? `insert into webhook_queue (${QUEUE_COLUMNS}) select $1::uuid, ${QUEUED} from written as d
       where d.status = 'pending' ${UPDATE_ATTEMPTS}`
    : `update webhook_queue w set attempts = d.attempts, attempts_before = d.attempts_before
       from written as d where d.status = 'pending' and w.account_id = d.account_id
         and w.app_id = d.app_id and w.due_at = d.next_attempt_at and w.delivery_id = d.id`;

const WRITTEN = `d.account_id, d.id, d.app_id, d.status, d.next_attempt_at, d.attempts,
  d.attempts_before`;

/** The delivery itself stores the attempt that delivered it: most need no attempt row. */
async function updateDelivered(
  tx: Transaction,
  outcomes: readonly DeliveryOutcome[],
): Promise<DeliveryOutcome[]> {
  const columns = `account_id uuid, app_id uuid, id uuid, due_at timestamptz, number int,
    at_ms float8, answered int, latency_ms int, answer bytea, record_id uuid, sequence int,
    place int`;
  const set = accountSetOf(tx, "t", columns, outcomes);
  const followed = await tx.query<{ place: number }>(
    `with t as (
       select account_id, app_id, id, due_at, number, to_timestamp(at_ms / 1000) as at, answered,
         latency_ms, answer, record_id, sequence, place
       from ${set.from}
     ), unqueued as (${unqueue(tx)}), written as (
       update webhook_deliveries d set ${unlessAsked("status", "'delivered'")}, reason = null,
         ${unlessAsked("next_attempt_at", "null")}, delivered_at = t.at, updated_at = t.at,
         attempts = t.number, ${ATTEMPTS_BEFORE}, ${unlessAsked("answered", "t.answered")},
         ${unlessAsked("latency_ms", "t.latency_ms")}, ${unlessAsked("answer", "t.answer")}
       from t where ${sameDelivery(tx, "$3")}
       returning ${tx.by_account ? "d.*" : WRITTEN}
     ), requeued as (${requeueAsked(tx)}), logged as (
       insert into webhook_attempts (${ATTEMPT_COLUMNS})
       select ${accountOf(tx, "t")}, t.id, t.number, t.at, t.answered, null, t.latency_ms, t.answer
       from written join t on t.account_id = written.account_id and t.id = written.id
       where written.status = 'pending'
       on conflict do nothing
     )
     -- A join, which the planner makes of \`exists\`, may read all of the queue.
     select t.place from t where (
       select true from webhook_queue w
       where ${sameRecord(tx, "w", "t")} and w.sequence > t.sequence
       ${inOrder(tx, "w")} limit 1)`,
    [
      set.accounts,
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
      plainArray(outcomes.map((_, at) => at + 1)),
    ],
  );
  return followed.map(({ place }) => outcomes[place - 1]!);
}

export const ATTEMPT_COLUMNS =
  "account_id, delivery_id, number, at, status, error, latency_ms, answer";

function updateOther(tx: Transaction, outcomes: readonly DeliveryOutcome[]): void {
  insertAttempts(
    tx,
    outcomes.filter(({ attempt }) => attempt !== null),
  );
  updateUndelivered(tx, outcomes);
  // Those to be retried, or requested again in the meantime.
  const set = accountSetOf(tx, "t", "account_id uuid, id uuid", outcomes);
  tx.write(
    `insert into webhook_queue (${QUEUE_COLUMNS})
     select ${accountOf(tx, "d")}, ${QUEUED} from ${set.from}
     join webhook_deliveries d on ${sameDelivery(tx, "$2")}
     where d.status = 'pending' ${UPDATE_ATTEMPTS}`,
    [set.accounts, plainArray(outcomes.map((outcome) => outcome.delivery_id))],
  );
}

function insertAttempts(tx: Transaction, attempts: readonly DeliveryOutcome[]): void {
  const columns = `account_id uuid, delivery_id uuid, number int, at timestamptz, status int,
    error text, latency_ms int, answer bytea`;
  const set = accountSetOf(tx, "t", columns, attempts);
  tx.write(
    `insert into webhook_attempts (${ATTEMPT_COLUMNS})
     select * from ${set.from}
     on conflict do nothing`,
    [
      set.accounts,
      plainArray(attempts.map((outcome) => outcome.delivery_id)),
      plainArray(attempts.map(({ attempt }) => attempt!.number)),
      plainArray(attempts.map((outcome) => outcome.at.toISOString())),
      plainArray(attempts.map(({ attempt }) => attempt!.status)),
      attempts.map(({ attempt }) => attempt!.error),
      plainArray(attempts.map(({ attempt }) => attempt!.latency_ms)),
      bytesArray(attempts.map(({ attempt }) => attempt!.answer)),
    ],
  );
}

function updateUndelivered(tx: Transaction, outcomes: readonly DeliveryOutcome[]): void {
  const columns = `account_id uuid, app_id uuid, id uuid, due_at timestamptz, status text,
    reason text, next_attempt_at timestamptz, at timestamptz, number int`;
  const set = accountSetOf(tx, "t", columns, outcomes);
  tx.write(
    `with t as (select * from ${set.from}), unqueued as (${unqueue(tx)})
     update webhook_deliveries d set ${unlessAsked("status", "t.status")},
       ${unlessAsked("reason", "t.reason")},
       ${unlessAsked("next_attempt_at", "t.next_attempt_at")}, updated_at = t.at,
       ${unlessAsked("failed_at", "case when t.status = 'failed' then t.at end")},
       attempts = coalesce(t.number, d.attempts), ${ATTEMPTS_BEFORE}
     from t where ${sameDelivery(tx, "$3")} and d.status <> 'delivered'`,
    [
      set.accounts,
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
}
