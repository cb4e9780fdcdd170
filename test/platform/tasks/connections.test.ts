import { afterAll, beforeAll, expect, it } from "vitest";
import type { TaskHandler } from "../../../src/platform/tasks/run-set.ts";
import { openTaskFixture, type TaskFixture } from "../../harness/task-fixture.ts";
import { waitFor } from "../../harness/wait-for.ts";

let tasks: TaskFixture;
beforeAll(async () => {
  tasks = await openTaskFixture();
});
afterAll(async () => {
  await tasks.clear();
  await tasks.drop();
});

it("tasks of one kind that wait for a lock leave connections to other kinds and to callers", async () => {
  const { database } = tasks;
  const { max } = database.pool();
  const released = Promise.withResolvers<void>();
  let holding = 0;
  const waits: TaskHandler = {
    kind: "waits",
    set_max: 1,
    handle: async (set) => {
      // As documents do whose hosts are slow: many sets at a time.
      set.leavePlace();
      await database.transaction(async (tx) => {
        holding += 1;
        await released.promise;
        set.finish(tx, await set.lock(tx));
      });
    },
  };
  let done = 0;
  const other: TaskHandler = {
    kind: "other",
    set_max: 1,
    handle: async (set) => {
      await database.transaction(async (tx) => set.finish(tx, await set.lock(tx)));
      done += 1;
    },
  };
  tasks.startWorker([waits, other]);
  await tasks.enqueue("waits", max * 2);
  await waitFor(() => database.pool().waiting > max || holding === max);
  await tasks.enqueue("other", 3);
  await waitFor(() => done === 3, 5_000);
  // Half of what tasks may use.
  expect(holding).toBe(Math.floor((max * 3) / 4 / 2));
  released.resolve();
  await waitFor(async () => (await tasks.countTasks()) === 0);
});
