import type { Session } from "../db/database.ts";
import { MINUTE_MS } from "../durations.ts";
import { KINDS } from "./kinds.ts";
import { askServers } from "./servers/ask-servers.ts";

type WorkerHealth = {
  /** Some worker has sent a heartbeat recently. */
  is_running: boolean;
  /** Time since the last heartbeat of any worker. */
  silent_ms: number;
  /** How long the oldest due task has been waiting or running. */
  overdue_ms: number;
  oldest_due_at: Date | null;
  failing: { kind: string; attempts: number; tasks: number }[];
  /** A sentence for each problem; empty if there is none. */
  problems: string[];
};

const SILENT_MAX_MS = 30_000;
/** Less than half a minute in all: a heartbeat tells it five seconds later. */
const STUCK_MAX_MS = 20_000;
const OVERDUE_MAX_MS = 5 * MINUTE_MS;
const FAILURES_MAX = 10;
/** Recurring work, such as reading a chain, is for everybody: it is reported within a minute. */
const RECURRING_FAILURES_MAX = 4;

export async function workerHealth(
  session: Session,
  time: { now: Date; real_now: Date },
): Promise<WorkerHealth> {
  const [beat] = await session.query<{ seen_at: Date | null; progressed_at: Date | null }>(
    "select max(seen_at) as seen_at, max(progressed_at) as progressed_at from worker_heartbeats",
  );
  const [oldest] = await listOldestDue(session, time.now);
  const failing = await listFailing(session);
  const ageMs = (at: Date | null) => (at ? time.real_now.getTime() - at.getTime() : null);
  const silent_ms = ageMs(beat!.seen_at) ?? Infinity;
  const stuck_ms = ageMs(beat!.progressed_at) ?? 0;
  const is_running = silent_ms <= SILENT_MAX_MS;
  const overdue_ms = oldest ? time.now.getTime() - oldest.due_at.getTime() : 0;
  const problems: string[] = [];
  if (!is_running) problems.push("No worker is running.");
  else if (oldest && stuck_ms > STUCK_MAX_MS) {
    const seconds = Math.floor(stuck_ms / 1_000);
    problems.push(`Tasks are due, but no worker has ended any for ${seconds} seconds.`);
  }
  if (oldest && overdue_ms > OVERDUE_MAX_MS) {
    const minutes = Math.floor(overdue_ms / 60_000);
    problems.push(`A task "${oldest.kind}" has been due for ${minutes} minutes.`);
  }
  for (const { kind, attempts, tasks } of failing) {
    const subject = tasks === 1 ? "A task" : `${tasks} tasks`;
    problems.push(`${subject} "${kind}" failed up to ${attempts} times in a row.`);
  }
  const oldest_due_at = oldest?.due_at ?? null;
  return { is_running, silent_ms, overdue_ms, oldest_due_at, failing, problems };
}

/** The recurring tasks of these kinds, each with how often it failed in a row. */
export function listRecurring(
  session: Session,
  kinds: readonly string[],
): Promise<{ kind: string; attempts: number; due_at: Date }[]> {
  return session.query(
    "select kind, attempts, due_at from tasks where kind = any($1::text[]) order by kind",
    [kinds],
  );
}

/** One row, the oldest of all kinds; running tasks count too, since a handler may hang. */
async function listOldestDue(session: Session, now: Date) {
  if (session.by_account) {
    const rows = await askServers(session, (accounts) =>
      session.query<{ kind: string; due_at: Date }>(
        `select t.kind, t.due_at from tasks t
         where t.due_at <= $1 ${accounts ? "and t.account_id = any ($2::uuid[])" : ""}
         order by t.due_at limit 1`,
        [now, ...(accounts ? [accounts] : [])],
      ),
    );
    return rows.sort((a, b) => a.due_at.getTime() - b.due_at.getTime());
  }
  return session.query<{ kind: string; due_at: Date }>(
    `${KINDS}
     select kinds.kind, first.due_at from kinds
     cross join lateral (
       select t.due_at from tasks t where t.kind = kinds.kind and t.due_at <= $1
       order by t.due_at limit 1
     ) as first
     order by first.due_at limit 1`,
    [now],
  );
}

type Failing = { kind: string; attempts: number; tasks: number };

async function listFailing(session: Session): Promise<Failing[]> {
  const rows = await askServers(session, (accounts) =>
    session.query<Failing>(
      `select kind, max(attempts) as attempts, count(*)::integer as tasks
       from tasks where (attempts > ${FAILURES_MAX}
         or attempts > ${RECURRING_FAILURES_MAX} and record_id = account_id)
         ${accounts ? "and account_id = any ($1::uuid[])" : ""}
       group by kind order by kind`,
      accounts ? [accounts] : [],
    ),
  );
  return [...Map.groupBy(rows, ({ kind }) => kind)].map(([kind, of_kind]) => ({
    kind,
    attempts: Math.max(...of_kind.map(({ attempts }) => attempts)),
    tasks: of_kind.reduce((sum, { tasks }) => sum + tasks, 0),
  }));
}

/** Tasks whose last error contains these words, the longest waiting first. */
export function listTasksFailedWith(
  session: Session,
  words: string,
  limit: number,
): Promise<{ kind: string; record_id: string; last_error: string }[]> {
  return session.query(
    `select kind, record_id, last_error from tasks
     where attempts > 0 and strpos(last_error, $1) > 0 order by created_at limit $2`,
    [words, limit],
  );
}

/** Tasks of this kind that failed, the longest waiting first. */
export function listFailedTasks(
  session: Session,
  kind: string,
  limit: number,
): Promise<{ record_id: string; last_error: string }[]> {
  return session.query(
    `select record_id, last_error from tasks
     where kind = $1 and attempts > 0 order by created_at limit $2`,
    [kind, limit],
  );
}
