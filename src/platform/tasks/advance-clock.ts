import { performance } from "node:perf_hooks";
import { ADVANCE_MAX_MS, type Clock, type SandboxClock } from "../clock.ts";
import type { Session } from "../db/database.ts";
import { KINDS } from "./kinds.ts";
import { type IdleDependencies, waitUntilIdle } from "./wait-until-idle.ts";

type AdvanceDependencies = IdleDependencies & { clock: Clock & SandboxClock };

/**
 * Moves the sandbox clock forward and stops at every time at which a task is due; the tasks of one
 * stop run before it continues. So tasks run in the order of their due times, at their due time, in
 * any process; also tasks that other tasks create meanwhile.
 *
 * It spends a third of the allowed time on exact stops, a third on stops so far apart that the end
 * is reached, and the rest on the last tasks. The clock always reaches the target; `idle` is false
 * if work was left over.
 */
export async function advanceClock(
  deps: AdvanceDependencies,
  advance_ms: number,
  deadline_ms: number,
): Promise<{ now: Date; idle: boolean }> {
  const { clock } = deps;
  if (!Number.isInteger(advance_ms) || advance_ms < 0 || advance_ms > ADVANCE_MAX_MS) {
    throw new RangeError(`advance_ms must be a whole number from 0 to ${ADVANCE_MAX_MS}`);
  }
  const begun_ms = performance.now();
  const left = (share: number) => begun_ms + deadline_ms * share - performance.now();
  await clock.refresh();
  let rest_ms = advance_ms;
  while (rest_ms > 0 && left(2 / 3) > 0) {
    const stop_begun_ms = performance.now();
    if (!(await waitUntilIdle(deps, left(2 / 3)))) break;
    const now_ms = clock.now().getTime();
    const stop = await findNextDue(deps.database, new Date(now_ms), new Date(now_ms + rest_ms));
    const exact_ms = stop ? stop.getTime() - now_ms : rest_ms;
    const stop_ms = performance.now() - stop_begun_ms;
    const coarse_ms = left(1 / 3) > 0 ? 0 : rest_ms * Math.min(1, stop_ms / left(2 / 3));
    const step_ms = Math.ceil(Math.min(rest_ms, Math.max(exact_ms, coarse_ms, 1)));
    await clock.advance(step_ms);
    rest_ms -= step_ms;
  }
  await clock.advance(rest_ms);
  const idle = await waitUntilIdle(deps, Math.max(0, left(1)));
  return { now: clock.now(), idle };
}

/**
 * No stops for recurring tasks (their `record_id` is the account) and for failing ones: at their
 * interval a year would take hours. They run with the others and once at the end.
 */
async function findNextDue(session: Session, after: Date, until: Date): Promise<Date | null> {
  const wanted = `t.due_at > $1 and t.due_at <= $2
    and t.attempts = 0 and t.record_id <> t.account_id`;
  const [row] = await session.query<{ due_at: Date | null }>(
    session.by_account
      ? `select min(t.due_at) as due_at from tasks t where ${wanted}`
      : `${KINDS}
         select min((
           select t.due_at from tasks t where t.kind = kinds.kind and ${wanted}
           order by t.due_at limit 1
         )) as due_at from kinds`,
    [after, until],
  );
  return row!.due_at;
}
