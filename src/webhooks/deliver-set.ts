import type { TaskHandler } from "../platform/tasks/run-set.ts";
import type { TaskSet } from "../platform/tasks/task-set.ts";
import { createPageLoader } from "./due-pages.ts";
import { EndpointWatch } from "./endpoint-watch.ts";
import { Lane } from "./lane.ts";
import type { DeliverDeps } from "./lane-model.ts";
import { DELIVER_TASK } from "./model.ts";
import { createRecorder } from "./record-outcomes.ts";

const APPS_PER_SET = 64;
const SETS_AT_ONCE = 32;
/** After this time a set is no longer counted among those, but among the long ones. */
const LONG_AFTER_MS = 300;
const LONG_SETS_MAX = 500;

/**
 * Sends what is due. The task is the endpoint, not the delivery: whoever holds its lease is the
 * only one who sends to it, so deliveries need no lease of their own, each endpoint has a bounded
 * number of requests under way, and one that hangs holds up nobody but itself.
 */
export function deliverTask(deps: DeliverDeps): TaskHandler {
  const watch = new EndpointWatch(deps.database);
  let long_sets = 0;
  /** A set lasts as long as its slowest endpoint; those that hang must not use up all places. */
  const deliver = async (set: TaskSet): Promise<void> => {
    let is_long = false;
    const timer = setTimeout(() => {
      if (long_sets >= LONG_SETS_MAX) return;
      is_long = true;
      long_sets += 1;
      set.leavePlace();
    }, LONG_AFTER_MS);
    try {
      await deliverSet(deps, set, watch);
    } finally {
      clearTimeout(timer);
      if (is_long) long_sets -= 1;
    }
  };
  return {
    kind: DELIVER_TASK,
    set_max: APPS_PER_SET,
    sets_at_once: SETS_AT_ONCE,
    handle: deliver,
  };
}

/** How many sets its worker needs: a worker of its own, so that hanging endpoints stop no other. */
export const DELIVERY_SETS_MAX = SETS_AT_ONCE + 4;

export async function deliverSet(
  deps: DeliverDeps,
  set: TaskSet,
  watch: EndpointWatch,
): Promise<void> {
  const loadPage = createPageLoader(deps);
  const recorder = createRecorder(deps, set);
  const lanes = set.tasks.map((task) => new Lane(deps, task, { loadPage, recorder, watch }));
  const results = await Promise.allSettled(lanes.map(runLane));
  const failed = results.find((result) => result.status === "rejected");
  if (failed) throw failed.reason;
}

/** Until nothing is due, or its turn is over. */
async function runLane(lane: Lane): Promise<void> {
  do await lane.sendDue();
  while (!(await lane.end()));
}
