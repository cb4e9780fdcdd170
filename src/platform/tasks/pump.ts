import { randomUUID } from "node:crypto";
import { createLanes, type Lane } from "./queues.ts";
import { realTime } from "./real-time.ts";
import { type RunDependencies, runSet, type TaskHandler } from "./run-set.ts";
import { type Claim, claimTasks, type DueKind, updateLeases } from "./store.ts";

/** Claims what is offered and hands it to the handlers. */
export type Pump = {
  offer(due: readonly DueKind[]): void;
  /** Claims nothing more; resolves when the running handlers have ended. */
  close(): Promise<void>;
};

export function createPump(
  deps: RunDependencies,
  handlers: readonly TaskHandler[],
  sets_max: number,
): Pump {
  const lanes = createLanes(handlers, sets_max, start);
  const at_work = new Set<Promise<void>>();
  let is_closed = false;

  function start(lane: Lane): void {
    let is_left = false;
    const leavePlace = () => {
      if (is_left) return;
      is_left = true;
      lane.ended();
    };
    const work = claimAndRun(lane, leavePlace).catch(deps.outage.failed);
    at_work.add(work);
    void work.finally(() => {
      at_work.delete(work);
      leavePlace();
    });
  }

  async function claimAndRun(lane: Lane, leavePlace: () => void): Promise<void> {
    let claim: Claim;
    let more = false;
    try {
      claim = await claimFor(deps, lane);
      // A full set means that there may be more; asking again costs less than looking first.
      more = claim.tasks.length === lane.limit;
    } finally {
      lane.claimed(more);
    }
    if (claim.tasks.length === 0) return;
    if (is_closed) await updateLeases(deps.database, claim.lease_id, claim.tasks, null);
    else await runSet(deps, lane.handler, claim, leavePlace);
  }

  return {
    offer: lanes.offer,
    close: async () => {
      is_closed = true;
      lanes.close();
      await Promise.all(at_work);
    },
  };
}

function claimFor({ database, clock, lease_ms }: RunDependencies, lane: Lane): Promise<Claim> {
  return claimTasks(database, {
    kind: lane.handler.kind,
    failed: lane.failed,
    now: clock.now(),
    real_now: realTime(clock),
    lease_ms,
    lease_id: randomUUID(),
    limit: lane.limit,
  });
}
