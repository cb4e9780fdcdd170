import { expect, test } from "vitest";
import { createQueues, type TaskQueue } from "../../../src/platform/tasks/queues.ts";

const KIND = "count_sheep";
const DUE = [{ kind: KIND, fresh: true, failed: false }];

/** Offers work while a set of it runs, and returns how often the queue claimed. */
function claimsOf(is_single: boolean): number {
  const claims: TaskQueue[] = [];
  const handler = { kind: KIND, set_max: 2, sets_at_once: 1, is_single, handle: async () => {} };
  const queues = createQueues([handler], 16, (queue) => claims.push(queue));
  queues.offer(DUE);
  claims[0]!.claimed(false);
  queues.offer(DUE);
  claims[0]!.ended();
  return claims.length;
}

test("tasks that become due while a set runs are claimed after it", () => {
  expect(claimsOf(false)).toBe(2);
});

test("a single task is not claimed again because it is still due while it runs", () => {
  expect(claimsOf(true)).toBe(1);
});

test("after a set that took long the next ones are smaller, and grow again", () => {
  let queue: TaskQueue | undefined;
  const queues = createQueues([{ kind: KIND, set_max: 300, handle: async () => {} }], 16, (own) => {
    queue = own;
  });
  queues.offer(DUE);
  const limitAfter = (tasks: number, ms: number) => {
    queue!.noteUse(tasks, ms);
    return queue!.limit;
  };
  expect(queue!.limit).toBe(300);
  expect(limitAfter(300, 900)).toBe(300);
  expect(limitAfter(300, 5_000)).toBe(150);
  // A set of few tasks that took long.
  expect(limitAfter(4, 5_000)).toBe(30);
  expect(limitAfter(30, 5_000)).toBe(30);
  expect(limitAfter(30, 100)).toBe(60);
  expect(limitAfter(60, 100)).toBe(120);
  expect(limitAfter(120, 100)).toBe(240);
  expect(limitAfter(1, 100)).toBe(300);
});
