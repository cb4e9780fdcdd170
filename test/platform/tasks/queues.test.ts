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
