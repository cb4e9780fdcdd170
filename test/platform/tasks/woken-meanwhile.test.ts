import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { HOUR_MS } from "../../../src/platform/durations.ts";
import { recurringTask } from "../../../src/platform/tasks/recurring-task.ts";
import type { TaskHandler } from "../../../src/platform/tasks/run-set.ts";
import { openTaskFixture, type TaskFixture } from "../../harness/task-fixture.ts";
import { waitFor } from "../../harness/wait-for.ts";

/*
 * A task is woken while its handler runs, and that is committed while the statement that ends the
 * task waits for the row. The statement has seen the row as it was before, and must end the task
 * all the same: otherwise nobody works on it until its lease expires.
 */

let fixture: TaskFixture;

beforeAll(async () => {
  fixture = await openTaskFixture();
});
afterEach(() => fixture.clear());
afterAll(() => fixture.drop());

type Row = { lease_id: string | null; due_at: Date };

/** The task, once nobody works on it. */
async function findReleased(): Promise<Row | null> {
  const [task] = await fixture.database.query<Row>("select * from tasks");
  return task!.lease_id === null ? task! : null;
}

async function isTaskAwaited(): Promise<boolean> {
  const rows = await fixture.database.query(
    `select 1 from pg_stat_activity where datname = current_database()
       and wait_event_type = 'Lock' and query like '%tasks t%'`,
  );
  return rows.length > 0;
}

/** Runs a task, makes it due again while its end is recorded, and returns it as it is then. */
async function wakeAtTheEnd(handlerOf: (work: () => Promise<void>) => TaskHandler): Promise<Row> {
  const { clock, database } = fixture;
  const begun = Promise.withResolvers<void>();
  const woken = Promise.withResolvers<void>();
  const handler = handlerOf(() => {
    begun.resolve();
    return woken.promise;
  });
  await fixture.enqueue("plain", 1);
  // Only the end of the handler releases the task.
  fixture.startWorker([handler], { lease_ms: HOUR_MS });
  await begun.promise;
  await database.transaction(async (tx) => {
    await tx.query("update tasks set due_at = $1", [clock.now()]);
    woken.resolve();
    await waitFor(isTaskAwaited);
  });
  return waitFor(findReleased);
}

test("work that repeats is due later, although its task was woken meanwhile", async () => {
  const handlerOf = (work: () => Promise<void>) =>
    recurringTask(fixture.database, "plain", HOUR_MS, work);
  const task = await wakeAtTheEnd(handlerOf);
  expect(task).toMatchObject({ attempts: 0, last_error: null });
  expect(task.due_at.getTime()).toBeGreaterThan(fixture.clock.now().getTime());
});

test("a failure is counted, although its task was woken meanwhile", async () => {
  const handlerOf = (work: () => Promise<void>): TaskHandler => ({
    kind: "plain",
    set_max: 2,
    handle: async () => {
      await work();
      throw new Error("no");
    },
  });
  expect(await wakeAtTheEnd(handlerOf)).toMatchObject({ attempts: 1, last_error: "Error: no" });
});
