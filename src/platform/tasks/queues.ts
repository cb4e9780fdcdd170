import type { TaskHandler } from "./run-set.ts";
import type { DueKind } from "./store.ts";

/** A kind's fresh tasks, or those of them that failed before. */
export type TaskQueue = {
  handler: TaskHandler;
  failed: boolean;
  /** How many tasks a claim takes. */
  limit: number;
  /** The claim is answered or failed; `more` when there may be further due tasks. */
  claimed(more: boolean): void;
  /** What was claimed has been worked on, or needs its place no longer. */
  ended(): void;
};

type Queues = {
  /** Tells which kinds have due tasks; queues with room start to claim. */
  offer(due: readonly DueKind[]): void;
  close(): void;
};

type QueueState = {
  queue: TaskQueue;
  due: boolean;
  claiming: boolean;
  sets: number;
  sets_max: number;
};

const SETS_AT_ONCE = 2;
// Failed tasks are handed over alone, so that a poison task harms no neighbour, and apart from the
// fresh ones, so that one that hangs does not stop them. As many at a time as innocent
// neighbours of a failed set need to be through soon.
const FAILED_AT_ONCE = 4;

/**
 * Decides who may claim next: at most one claim at a time in a queue, a limit of sets in each queue
 * and in all, and turns between the queues when that last limit is what they wait for.
 */
export function createQueues(
  handlers: readonly TaskHandler[],
  sets_max: number,
  start: (queue: TaskQueue) => void,
): Queues {
  if (new Set(handlers.map((handler) => handler.kind)).size < handlers.length) {
    throw new Error("two task handlers have the same kind");
  }
  let closed = false;
  let sets = 0;
  let turn = 0;
  const states = handlers.flatMap((handler) => [stateOf(handler, false), stateOf(handler, true)]);

  function stateOf(handler: TaskHandler, failed: boolean): QueueState {
    const state: QueueState = {
      queue: {
        handler,
        failed,
        limit: failed ? 1 : handler.set_max,
        claimed: (more) => {
          state.claiming = false;
          state.due ||= more;
          next();
        },
        ended: () => {
          state.sets -= 1;
          sets -= 1;
          next();
        },
      },
      due: false,
      claiming: false,
      sets: 0,
      sets_max: failed ? FAILED_AT_ONCE : (handler.sets_at_once ?? SETS_AT_ONCE),
    };
    return state;
  }

  function next(): void {
    for (let passed = 0; passed < states.length && !closed && sets < sets_max; passed += 1) {
      const state = states[turn]!;
      turn = (turn + 1) % states.length;
      if (!state.due || state.claiming || state.sets >= state.sets_max) continue;
      // Before the claim, so that a look that finds more meanwhile is not forgotten.
      state.due = false;
      state.claiming = true;
      state.sets += 1;
      sets += 1;
      start(state.queue);
    }
  }

  return {
    offer: (due) => {
      const by_kind = new Map(due.map((kind) => [kind.kind, kind]));
      for (const state of states) {
        const { failed, handler } = state.queue;
        const offered = by_kind.get(handler.kind);
        state.due ||= (failed ? offered?.failed : offered?.fresh) ?? false;
      }
      next();
    },
    close: () => {
      closed = true;
    },
  };
}
