import { DELIVER_TASK } from "../../apps/model.ts";
import type { TaskHandler } from "../../platform/tasks/run-set.ts";
import type { TaskSet } from "../../platform/tasks/task-set.ts";
import type { Task } from "../../platform/tasks/tasks.ts";
import { AccountShares } from "./account-shares.ts";
import { createPageLoader } from "./due-pages.ts";
import { EndpointPoll } from "./endpoint-poll.ts";
import { EndpointSender } from "./endpoint-sender.ts";
import { LongQueues } from "./long-queues.ts";
import { createRecorder } from "./recorder.ts";
import type { DeliverDeps } from "./sender-model.ts";

type DeliverLimits = {
  sets_at_once: number;
  /** Sets that run long are counted here instead. */
  long_sets: number;
  /** Long sets that may contain endpoints of one account; fewer while many are under way. */
  long_sets_per_account: number;
};

const APPS_PER_SET = 64;
const LIMITS: DeliverLimits = {
  sets_at_once: 32,
  long_sets: 500,
  long_sets_per_account: 125,
};
const LONG_AFTER_MS = 300;
/** Endpoints whose account has used its share are tried again together, at the next such time. */
const PUT_OFF_MS = 2_000;

/**
 * Sends what is due. The task is the endpoint, not the delivery: only the worker with its lease
 * sends to it. So deliveries need no lease, each endpoint has a bounded number of open requests,
 * and an endpoint that hangs delays only itself.
 */
export function deliverTask(deps: DeliverDeps, limits = LIMITS): TaskHandler {
  const poll = new EndpointPoll(deps);
  const long_queues = new LongQueues();
  const shares = new AccountShares(limits.long_sets_per_account);
  let long_sets = 0;
  /** A set takes as long as its slowest endpoint; hanging ones must not use up all slots. */
  const deliver = async (set: TaskSet): Promise<void> => {
    const free = limits.long_sets - long_sets;
    const tasks = await putOff(deps, set, (task) => shares.isUsedUp(task, free));
    const share = shares.begin(tasks);
    let is_long = false;
    const timer = setTimeout(() => {
      share.take();
      if (long_sets >= limits.long_sets) return;
      is_long = true;
      long_sets += 1;
      set.leavePlace();
    }, LONG_AFTER_MS);
    try {
      await deliverSet(deps, set, tasks, { poll, long_queues, ended: share.ended });
    } finally {
      clearTimeout(timer);
      if (is_long) long_sets -= 1;
    }
  };
  return {
    kind: DELIVER_TASK,
    set_max: APPS_PER_SET,
    sets_at_once: limits.sets_at_once,
    handle: deliver,
  };
}

/**
 * The sets of the delivery worker. It is separate, so that hanging endpoints block no other task.
 */
export const DELIVERY_SETS_MAX = LIMITS.sets_at_once + 4;

/** Returns the tasks of accounts that have used their share to the queue; returns the others. */
async function putOff(
  { database, clock }: DeliverDeps,
  set: TaskSet,
  isOver: (task: Task) => boolean,
): Promise<readonly Task[]> {
  const over = set.tasks.filter(isOver);
  if (over.length === 0) return set.tasks;
  await database.transaction(async (tx) => {
    const until = new Date(Math.ceil(clock.now().getTime() / PUT_OFF_MS) * PUT_OFF_MS);
    set.postpone(tx, await set.lock(tx, over), until);
  });
  return set.tasks.filter((task) => !over.includes(task));
}

async function deliverSet(
  deps: DeliverDeps,
  set: TaskSet,
  tasks: readonly Task[],
  shared: { poll: EndpointPoll; long_queues: LongQueues; ended: (task: Task) => void },
): Promise<void> {
  const { poll, long_queues, ended } = shared;
  const loadDue = createPageLoader({ ...deps, countErasures: () => poll.countErasures() });
  const recorder = createRecorder(deps, set);
  const parts = { loadDue, recorder, poll, long_queues, isHeld: set.isHeld };
  const results = await Promise.allSettled(
    tasks.map((task) => sendAll(new EndpointSender(deps, task, parts)).finally(() => ended(task))),
  );
  const failed = results.find((result) => result.status === "rejected");
  if (failed) throw failed.reason;
}

/** Until nothing is due, or the turn is over. */
async function sendAll(sender: EndpointSender): Promise<void> {
  do await sender.sendDue();
  while (!(await sender.end()));
}
