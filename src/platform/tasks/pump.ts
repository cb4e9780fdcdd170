import { randomUUID } from "node:crypto";
import { runForService } from "../db/caller-context.ts";
import { claimTasks } from "./claim-store.ts";
import { createQueues, type TaskQueue, withoutPlace } from "./queues.ts";
import { realTime } from "./real-time.ts";
import { type RunDependencies, runSet, type TaskHandler } from "./run-set.ts";
import { type DueKind, type TaskClaim, updateLeases } from "./store.ts";

/** Claims due tasks and passes them to their handlers. */
type Pump = {
  offer(due: readonly DueKind[]): void;
  /** Claims nothing more; resolves when the running handlers have ended. */
  close(): Promise<void>;
};

/** Of a set in its queue; the account is that of a failed task, which is alone. */
type Place = { is_left: boolean; account_id: string | null };

export function createPump(
  deps: RunDependencies,
  handlers: readonly TaskHandler[],
  sets_max: number,
): Pump {
  const queues = createQueues(handlers, sets_max, start);
  const at_work = new Set<Promise<void>>();
  let is_closed = false;

  function start(queue: TaskQueue): void {
    const place: Place = { is_left: false, account_id: null };
    const leavePlace = () => {
      if (place.is_left) return;
      place.is_left = true;
      const at = place.account_id === null ? -1 : queue.account_ids.indexOf(place.account_id);
      if (at >= 0) queue.account_ids.splice(at, 1);
      queue.ended();
    };
    // A set that leaves its place starts the next one, which is not part of its work.
    const begin = () => claimAndRun(queue, place, leavePlace);
    const work = runForService(begin).catch(deps.outage.failed);
    at_work.add(work);
    void work.finally(() => {
      at_work.delete(work);
      leavePlace();
    });
  }

  async function claimAndRun(
    queue: TaskQueue,
    place: Place,
    leavePlace: () => void,
  ): Promise<void> {
    let claim: TaskClaim;
    let more = false;
    try {
      claim = await claimFor(deps, queue);
      const [first] = claim.tasks;
      if (queue.failed && first) {
        place.account_id = first.account_id;
        queue.account_ids.push(first.account_id);
      }
      more = claim.more;
      queue.turn = claim.turn;
      if (first) queue.begun_with = first.account_id;
    } finally {
      queue.claimed(more);
    }
    if (claim.set_aside > 0) {
      const fields = { kind: queue.handler.kind, tasks: claim.set_aside };
      deps.log.warn(fields, "tasks were lost too often and will be retried one by one");
    }
    if (claim.tasks.length === 0) return;
    if (is_closed) return updateLeases(deps.database, claim, null);
    const used_ms = await runSet(deps, queue.handler, claim, leavePlace);
    // Nobody waited for one that left its place.
    if (!place.is_left) queue.noteUse(claim.tasks.length, used_ms);
  }

  return {
    offer: queues.offer,
    close: async () => {
      is_closed = true;
      queues.close();
      await Promise.all(at_work);
    },
  };
}

function claimFor(
  { database, clock, lease_ms }: RunDependencies,
  queue: TaskQueue,
): Promise<TaskClaim> {
  return claimTasks(database, {
    kind: queue.handler.kind,
    failed: queue.failed,
    now: clock.now(),
    real_now: realTime(clock),
    lease_ms,
    lease_id: randomUUID(),
    limit: queue.limit,
    not_of: withoutPlace(queue),
    turn: queue.turn,
    after: queue.begun_with,
  });
}
