import type { Session } from "../db/database.ts";
import { ageSeconds, COUNT_MAX, COUNTED, type MetricSource } from "../metrics/model.ts";
import { KINDS } from "./kinds.ts";

/** How much work is due, and whether a worker runs. */
export const taskMetrics: MetricSource = {
  gauges: [
    {
      name: "sliproad_tasks_due",
      help: `Tasks that are due or running, by kind; ${COUNTED}.`,
      label: "kind",
    },
    {
      name: "sliproad_task_oldest_due_seconds",
      help: "How long the oldest due task of a kind has been waiting or running.",
      label: "kind",
    },
    {
      name: "sliproad_tasks_failing",
      help: `Tasks whose last attempt failed, by kind; ${COUNTED}.`,
      label: "kind",
    },
    {
      name: "sliproad_worker_silent_seconds",
      help: "Time since the last heartbeat of any worker; absent before the first one.",
    },
  ],
  read: async (session, { now, real_now }) => {
    const [kinds, [beat]] = await Promise.all([
      listKinds(session, now),
      session.query<{ seen_at: Date | null }>(
        "select max(seen_at) as seen_at from worker_heartbeats",
      ),
    ]);
    const silent = beat?.seen_at
      ? [{ name: "sliproad_worker_silent_seconds", value: ageSeconds(beat.seen_at, real_now) }]
      : [];
    const by_kind = kinds.flatMap(({ kind, due, failing, oldest_due_at }) => [
      { name: "sliproad_tasks_due", label: kind, value: due },
      {
        name: "sliproad_task_oldest_due_seconds",
        label: kind,
        value: ageSeconds(oldest_due_at, now),
      },
      { name: "sliproad_tasks_failing", label: kind, value: failing },
    ]);
    return [...silent, ...by_kind];
  },
};

type KindRow = { kind: string; due: number; failing: number; oldest_due_at: Date | null };

function listKinds(session: Session, now: Date): Promise<KindRow[]> {
  if (session.by_account)
    return session.query<KindRow>(
      `select t.kind, least(count(*) filter (where t.due_at <= $1), ${COUNT_MAX})::integer as due,
         min(t.due_at) filter (where t.due_at <= $1) as oldest_due_at,
         least(count(*) filter (where t.attempts > 0), ${COUNT_MAX})::integer as failing
       from tasks t group by t.kind`,
      [now],
    );
  return session.query<KindRow>(
    `${KINDS}
     select kinds.kind, due.tasks as due, failing.tasks as failing, due.oldest_due_at
     from kinds
     cross join lateral (
       select count(*)::integer as tasks, min(first.due_at) as oldest_due_at from (
         select t.due_at from tasks t where t.kind = kinds.kind and t.due_at <= $1
         order by t.due_at limit ${COUNT_MAX}
       ) as first
     ) as due
     cross join lateral (
       select count(*)::integer as tasks from (
         select 1 from tasks t where t.kind = kinds.kind and t.attempts > 0
         order by t.due_at limit ${COUNT_MAX}
       ) as first
     ) as failing`,
    [now],
  );
}
