import type { TaskHandler } from "./run-set.ts";
import type { DueKind } from "./store.ts";

/** The fresh tasks of a kind, or those that failed before. */
export type TaskQueue = {
  handler: TaskHandler;
  failed: boolean;
  /** How many tasks a claim takes; fewer after a set that took long. */
  limit: number;
  /** Whose failed tasks run: an account as often as it has places. */
  account_ids: string[];
  /** Of the claim before (`claimTasks`). */
  turn: string | null;
  /** With whose tasks the set before began. */
  begun_with: string | null;
  /** The claim succeeded or failed; `more` if there may be further due tasks. */
  claimed(more: boolean): void;
  /** For how long a set with so many tasks used the database. */
  noteUse(tasks: number, ms: number): void;
  /** The claimed tasks have ended, or no longer need their slot. */
  ended(): void;
};

type Queues = {
  /** Reports which kinds have due tasks; queues with free capacity start to claim. */
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
// Failed tasks are handled alone, so that a failing task does not affect others, and separately
// from fresh ones, so that one that hangs does not block them. Several at once, so that the other
// tasks of a failed set are done soon.
const FAILED_AT_ONCE = 4;
// One place is left to other accounts: those of one may all hang.
const FAILED_PER_ACCOUNT = FAILED_AT_ONCE - 1;

/**
 * A set that has begun is not interrupted, and what its tasks cost is not always known: after one
 * that took long the next ones are smaller, down to a tenth, so that other accounts have their
 * turns sooner.
 */
const LONG_SET_MS = 1_000;
const SMALLEST_PART = 1 / 10;

/**
 * Decides which queue may claim next: at most one claim at a time per queue, a limit of sets per
 * queue and in total, and round-robin between the queues when the total is the limit.
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
        account_ids: [],
        turn: null,
        begun_with: null,
        claimed: (more) => {
          state.claiming = false;
          state.due ||= more;
          next();
        },
        noteUse: (tasks, ms) => {
          const { set_max } = handler;
          const queue = state.queue;
          const limit_min = Math.ceil(set_max * SMALLEST_PART);
          if (failed) return;
          if (ms <= LONG_SET_MS) queue.limit = Math.min(set_max, queue.limit * 2);
          else queue.limit = Math.max(limit_min, Math.floor(Math.min(tasks, queue.limit) / 2));
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
      // Cleared before the claim, so that new tasks found meanwhile are not forgotten.
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
        if (handler.is_single && state.sets > 0) continue;
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

/** The accounts whose failed tasks have all places that they may have. */
export function withoutPlace({ account_ids }: TaskQueue): string[] {
  const by_account = Map.groupBy(account_ids, (account_id) => account_id);
  return [...by_account].flatMap(([account_id, own]) =>
    own.length < FAILED_PER_ACCOUNT ? [] : account_id,
  );
}
