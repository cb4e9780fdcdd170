import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import type { TaskHandler } from "../../../src/platform/tasks/run-set.ts";
import { openTaskFixture, type TaskFixture } from "../../harness/task-fixture.ts";
import { waitFor } from "../../harness/wait-for.ts";

let tasks: TaskFixture;
beforeAll(async () => {
  tasks = await openTaskFixture();
});
afterEach(() => tasks.clear());
afterAll(() => tasks.drop());

it("tasks of an account that wait for a lock leave connections to other accounts and callers", async () => {
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
  const others = [randomUUID(), randomUUID(), randomUUID()];
  await database.query(
    `with added as (
       insert into accounts (id, name, is_operator, created_at)
       select id, id::text, false, $2 from unnest($1::uuid[]) as t (id) returning id
     )
     insert into tasks (account_id, id, kind, record_id, due_at, created_at)
     select id, id, 'other', id, $2, $2 from added`,
    [others, tasks.clock.now()],
  );
  await waitFor(() => done === 3, 5_000);
  // Three times what it leaves free of what tasks may use.
  expect(holding).toBe(Math.floor((Math.floor((max * 3) / 4) * 3) / 4));
  released.resolve();
  await waitFor(async () => (await tasks.countTasks()) === 0);
});

it("after a set that used the database for long the next ones are smaller", async () => {
  const { database } = tasks;
  const sizes: number[] = [];
  const heavy: TaskHandler = {
    kind: "heavy",
    set_max: 40,
    sets_at_once: 1,
    handle: async (set) => {
      sizes.push(set.tasks.length);
      // Waiting for somebody else's answer does not count.
      await sleep(sizes.length === 1 ? 1_100 : 0);
      const seconds = sizes.length === 2 ? 1.1 : 0;
      await database.transaction(async (tx) => {
        await tx.query("select pg_sleep($1)", [seconds]);
        set.finish(tx, await set.lock(tx));
      });
    },
  };
  await tasks.enqueue("heavy", 130);
  tasks.startWorker([heavy]);
  await waitFor(async () => (await tasks.countTasks()) === 0);
  expect(sizes).toEqual([40, 40, 20, 30]);
});
