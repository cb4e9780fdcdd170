import type { Database, Session, Transaction } from "../db/database.ts";
import { askServers } from "./servers/ask-servers.ts";
import type { Task } from "./tasks.ts";

/** Tasks claimed together share a lease; a later claim gives them another. */
export type TaskClaim = {
  lease_id: string;
  lease_ms: number;
  now: Date;
  tasks: Task[];
  /** By `performance.now()`: after this another worker may have claimed the tasks. */
  held_until_ms: number;
  /** Lost too often, and not claimed: due again later, one by one. */
  set_aside: number;
  /** There may be further due tasks of the kind. */
  more: boolean;
  /** What the next claim of the queue continues with (`ClaimQuery`). */
  turn: string | null;
};

export type DueKind = { kind: string; fresh: boolean; failed: boolean };

// Not leased: never claimed, released, or claimed by a worker that stopped renewing.
export const UNLEASED = "(t.leased_until is null or t.leased_until < $3)";

/*
 * A queue changes faster than its statistics: the planner may expect an empty table when there are
 * 200 000 tasks, or the reverse, and then sort the whole backlog for one claim or compare every
 * task with every key (measured: 0.4 to 1 s instead of 4 ms). So these statements leave it no
 * choice: rows are found one key after the other (`lateral`, which also fixes the lock order) or in
 * index order, and are written by `ctid`.
 *
 * A statement that waits for a row which another transaction changes does not find it by its new
 * ctid: it writes nothing. So whoever ends or renews a lease locks the tasks first (`lockTasks`),
 * with a statement before. A claim locks them itself: the next one finds what it has missed.
 */
const LEASED = (locking: string) => `
  unnest($1::uuid[], $2::uuid[]) as key (account_id, id) cross join lateral (
    select t.account_id, t.id, t.ctid as place from tasks t
    where t.account_id = key.account_id and t.id = key.id and t.lease_id = $3 ${locking}
  ) as mine`;

/** The same where a claim is of one account, for a database in which a ctid is not unique. */
const LEASED_OF_ONE = (locking: string) => `
  select t.id from tasks t
  where t.account_id = $1 and t.id = any($2::uuid[]) and t.lease_id = $3
  order by t.id ${locking}`;

/** The condition of tasks that still have the lease $3; $1 and $2 are their keys. */
function isLeased(session: Session): string {
  return session.by_account
    ? `t.account_id = $1 and t.id = any (array(${LEASED_OF_ONE("for update")}))`
    : `t.ctid = any (array(select mine.place from ${LEASED("for update")}))`;
}

/**
 * Which kinds have due tasks, one probe per kind and queue: the only statement of an idle worker.
 * Leases of fresh tasks are not checked: without a filter the probe reads the first entry of the
 * index whatever the planner estimates, and a claim that finds nothing is cheap.
 */
export async function listDueKinds(
  session: Session,
  query: { kinds: string[]; now: Date; real_now: Date },
): Promise<DueKind[]> {
  if (session.by_account) return listDueOnServers(session, query);
  const first = (condition: string) =>
    `(select t.id from tasks t where t.kind = k.kind and t.due_at <= $2 ${condition}
      order by t.due_at limit 1) is not null`;
  return session.query<DueKind>(
    `select * from (
       select k.kind, ${first("")} as fresh,
         ${first(`and t.attempts > 0 and ${UNLEASED}`)} as failed
       from unnest($1::text[]) as k (kind) offset 0
     ) as due where fresh or failed`,
    [query.kinds, query.now, query.real_now],
  );
}

/** A kind comes once for each server that is asked by itself. */
async function listDueOnServers(
  session: Session,
  { kinds, now, real_now }: { kinds: string[]; now: Date; real_now: Date },
): Promise<DueKind[]> {
  const rows = await askServers(session, (accounts) =>
    session.query<DueKind>(
      `select t.kind, true as fresh, bool_or(t.attempts > 0 and ${UNLEASED}) as failed
       from tasks t where t.kind = any ($1::text[]) and t.due_at <= $2
         ${accounts ? "and t.account_id = any ($4::uuid[])" : ""} group by t.kind`,
      [kinds, now, real_now, ...(accounts ? [accounts] : [])],
    ),
  );
  const merged = Map.groupBy(rows, ({ kind }) => kind);
  return [...merged].map(([kind, of_kind]) => {
    return { kind, fresh: true, failed: of_kind.some(({ failed }) => failed) };
  });
}

/**
 * Locks, in key order, those of the tasks that still have the given lease. A worker that freezes
 * inside its transaction would keep the locks forever, so the server ends a transaction that is
 * idle for as long as a lease lasts.
 */
export async function lockTasks(
  tx: Transaction,
  claim: TaskClaim,
  tasks: readonly Task[],
  locking: "for update" | "for update skip locked" = "for update",
): Promise<{ account_id: string; id: string }[]> {
  // Both are sent in one flush; if the first fails, so does the second.
  const limited = tx.query("select set_config('idle_in_transaction_session_timeout', $1, true)", [
    String(claim.lease_ms),
  ]);
  limited.catch(() => {});
  if (tx.by_account) {
    const ids = await tx.query<{ id: string }>(LEASED_OF_ONE(locking), [
      ...keys(tx, tasks),
      claim.lease_id,
    ]);
    return ids.map(({ id }) => ({ account_id: tasks[0]!.account_id, id }));
  }
  return tx.query(
    `select mine.account_id, mine.id from ${LEASED(locking)}
     order by mine.account_id, mine.id`,
    [...keys(tx, inKeyOrder(tasks)), claim.lease_id],
  );
}

export function deleteTasks(tx: Transaction, lease_id: string, tasks: readonly Task[]): void {
  tx.write(`delete from tasks t where ${isLeased(tx)}`, [...keys(tx, tasks), lease_id]);
}

/** Releases the tasks until a later time; a success also resets earlier failures. */
export function updatePostponed(
  tx: Transaction,
  lease_id: string,
  postponed: { tasks: readonly Task[]; dueAt: (task: Task) => Date; succeeded: boolean },
): void {
  const { tasks, dueAt, succeeded } = postponed;
  // `coalesce` changes nothing: Citus 13.2 takes a subscript alone for an assignment to an element,
  // and its server process ends.
  tx.write(
    `update tasks t set leased_until = null, lease_id = null, losses = 0,
       due_at = coalesce(($4::timestamptz[])[array_position($2::uuid[], t.id)], t.due_at)
       ${succeeded ? ", attempts = 0, last_error = null" : ""}
     where ${isLeased(tx)}`,
    [...keys(tx, tasks), lease_id, tasks.map(dueAt)],
  );
}

/** Counts a failure of the tasks that still have the lease, and returns their ids. */
export function updateFailed(
  database: Database,
  claim: TaskClaim,
  failed: { tasks: readonly Task[]; due_at: Date; last_error: string },
): Promise<string[]> {
  const { tasks, due_at, last_error } = failed;
  return database.transaction(async (tx) => {
    const locked = await lockTasks(tx, claim, tasks);
    if (locked.length === 0) return [];
    tx.write(
      `update tasks t set attempts = t.attempts + 1, last_error = $5, due_at = $4,
         leased_until = null, lease_id = null, losses = 0
       where ${isLeased(tx)}`,
      [...keys(tx, locked), claim.lease_id, due_at, last_error],
    );
    return locked.map(({ id }) => id);
  });
}

/**
 * Sets the end of the leases: later to renew them, null to release them. Skips locked rows: the
 * handler's own transaction has locked them, so no other worker can claim them.
 */
export async function updateLeases(
  database: Database,
  claim: TaskClaim,
  leased_until: Date | null,
): Promise<void> {
  await database.transaction(async (tx) => {
    const locked = await lockTasks(tx, claim, claim.tasks, "for update skip locked");
    if (locked.length === 0) return;
    tx.write(
      `update tasks t set leased_until = $4::timestamptz,
         lease_id = case when $4::timestamptz is null then null else t.lease_id end
       where ${isLeased(tx)}`,
      [...keys(tx, locked), claim.lease_id, leased_until],
    );
  });
}

export async function upsertHeartbeat(
  session: Session,
  worker_id: string,
  beat: { real_now: Date; progressed_at: Date; forget_before: Date },
): Promise<void> {
  await session.query(
    `with silent as (delete from worker_heartbeats where seen_at < $3 and worker_id <> $1)
     insert into worker_heartbeats (worker_id, seen_at, progressed_at) values ($1, $2, $4)
     on conflict (worker_id) do update
       set seen_at = excluded.seen_at, progressed_at = excluded.progressed_at`,
    [worker_id, beat.real_now, beat.forget_before, beat.progressed_at],
  );
}

export async function deleteHeartbeat(session: Session, worker_id: string): Promise<void> {
  await session.query("delete from worker_heartbeats where worker_id = $1", [worker_id]);
}

type Key = Pick<Task, "account_id" | "id">;

function keys(session: Session, tasks: readonly Key[]): [string | string[], string[]] {
  const accounts = tasks.map((task) => task.account_id);
  const ids = tasks.map((task) => task.id);
  if (!session.by_account) return [accounts, ids];
  if (new Set(accounts).size > 1) throw new Error("a set of tasks is of one account");
  return [accounts[0]!, ids];
}

/** The order in which all code locks task rows. */
function inKeyOrder(tasks: readonly Task[]): Task[] {
  return tasks.toSorted((a, b) => compare(a.account_id, b.account_id) || compare(a.id, b.id));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
