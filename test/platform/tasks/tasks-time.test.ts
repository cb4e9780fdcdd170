import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../../src/platform/durations.ts";
import { advanceClock } from "../../../src/platform/tasks/advance-clock.ts";
import type { TaskSet } from "../../../src/platform/tasks/task-set.ts";
import {
  enqueueTasks,
  ensureRecurring,
  type Task,
  wakeTasks,
} from "../../../src/platform/tasks/tasks.ts";
import { waitUntilIdle } from "../../../src/platform/tasks/wait-until-idle.ts";
import {
  finishWithEffects,
  openTaskFixture,
  type TaskFixture,
  writeEffects,
} from "../../harness/task-fixture.ts";
import { waitFor } from "../../harness/wait-for.ts";

let fixture: TaskFixture;

beforeAll(async () => {
  fixture = await openTaskFixture();
});
afterEach(() => fixture.clear());
afterAll(() => fixture.drop());

const finish = async (set: TaskSet) =>
  void (await finishWithEffects(fixture.database, set, "worker"));
const isDone = async () => (await fixture.countTasks()) === 0;
const listTasks = () =>
  fixture.database.query<Task & { last_error: string }>("select * from tasks");

test("moving the clock makes later tasks due, and the worker runs until idle", async () => {
  const start = fixture.clock.now();
  await fixture.enqueue("plain", 50, (index) => new Date(start.getTime() + (index + 1) * HOUR_MS));
  const worker = fixture.startWorker([{ kind: "plain", set_max: 10, handle: finish }]);
  expect(await worker.runUntilIdle(10_000)).toBe(true);
  expect(await fixture.countTasks()).toBe(50);
  await fixture.clock.advance(25.5 * HOUR_MS);
  expect(await worker.runUntilIdle(10_000)).toBe(true);
  expect(await fixture.countTasks()).toBe(25);
});

test("the worker is not idle while a handler runs, and reports that at the deadline", async () => {
  const gate = Promise.withResolvers<void>();
  const handle = (set: TaskSet) => gate.promise.then(() => finish(set));
  await fixture.enqueue("plain", 1);
  const worker = fixture.startWorker([{ kind: "plain", set_max: 1, handle }]);
  const is_idle = await worker.runUntilIdle(200);
  gate.resolve();
  expect(is_idle).toBe(false);
  expect(await worker.runUntilIdle(10_000)).toBe(true);
});

test("a task that was due when it was written counts even if our clock is behind", async () => {
  const { database, clock, account_id } = fixture;
  const ahead = new Date(clock.now().getTime() + 2_000);
  const record = { account_id, id: randomUUID() };
  await database.transaction(async (tx) => enqueueTasks(tx, "plain", [record], ahead));
  expect(await waitUntilIdle({ database, clock }, 0)).toBe(false);
  await database.query("delete from tasks");
  const later = new Date(ahead.getTime() + HOUR_MS);
  const wake = (due_at: Date) =>
    database.transaction(async (tx) => wakeTasks(tx, "plain", [record], due_at));
  await wake(later);
  expect(await waitUntilIdle({ database, clock }, 0)).toBe(true);
  await wake(ahead);
  expect(await waitUntilIdle({ database, clock }, 0)).toBe(false);
  const worker = fixture.startWorker([{ kind: "plain", set_max: 10, handle: finish }]);
  expect(await worker.runUntilIdle(10_000)).toBe(true);
  expect(await isDone()).toBe(true);
});

test("idle waits for the first retry of a task, and for no later one", async () => {
  let failures = 0;
  const fails = async () => {
    failures += 1;
    throw new Error("always");
  };
  let tries = 0;
  const failsOnce = async (set: TaskSet) => {
    tries += 1;
    if (tries === 1) throw new Error("not at the first try");
    await finish(set);
  };
  const [once] = await fixture.enqueue("once", 1);
  await fixture.enqueue("always", 1);
  const worker = fixture.startWorker([
    { kind: "once", set_max: 1, handle: failsOnce },
    { kind: "always", set_max: 1, handle: fails },
  ]);
  expect(await worker.runUntilIdle(20_000)).toBe(true);
  expect(await fixture.listEffects()).toMatchObject([{ task_id: once }]);
  expect(failures).toBeGreaterThanOrEqual(2);
});

test("tasks created by a finished task are done when the worker is idle", async () => {
  const generations = 20;
  const handle = async (set: TaskSet) => {
    await fixture.database.transaction(async (tx) => {
      const tasks = await set.lock(tx);
      writeEffects(tx, tasks, "worker");
      const [task] = tasks;
      const next = Number(task!.kind.slice(1)) + 1;
      if (next < generations) enqueueTasks(tx, `g${next}`, [record], set.now);
      set.finish(tx, tasks);
    });
  };
  const record = { account_id: fixture.account_id, id: randomUUID() };
  const handlers = Array.from({ length: generations }, (_, index) => {
    return { kind: `g${index}`, set_max: 1, handle };
  });
  const [one, other] = [fixture.startWorker(handlers), fixture.startWorker(handlers)];
  await fixture.enqueue("g0", 1);
  expect(await Promise.race([one.runUntilIdle(20_000), other.runUntilIdle(20_000)])).toBe(true);
  expect(await fixture.listEffects()).toHaveLength(generations);
});

test("advancing in order runs all kinds by due time, also tasks created meanwhile", async () => {
  const start_ms = fixture.clock.now().getTime();
  const done: { day: number; late_ms: number }[] = [];
  const handle = async (set: TaskSet) => {
    for (const { due_at, kind } of set.tasks) {
      const day = (due_at.getTime() - start_ms) / DAY_MS;
      done.push({ day, late_ms: set.now.getTime() - due_at.getTime() });
      if (kind === "b" && day < 10) {
        await fixture.enqueue("a", 1, () => new Date(due_at.getTime() + DAY_MS / 2));
      }
    }
    await finish(set);
  };
  const days = { a: [9, 1, 6], b: [8, 3], c: [2, 7, 400] };
  for (const [kind, due] of Object.entries(days)) {
    await fixture.enqueue(kind, due.length, (index) => new Date(start_ms + due[index]! * DAY_MS));
  }
  const handlers = Object.keys(days).map((kind) => ({ kind, set_max: 10, handle }));
  const { wake } = fixture.startWorker(handlers);
  const { database, clock } = fixture;
  const advanced = await advanceClock({ database, clock, wake }, 30 * DAY_MS, 10_000);
  expect(advanced.idle).toBe(true);
  expect(advanced.now.getTime() - start_ms).toBeGreaterThanOrEqual(30 * DAY_MS);
  expect(advanced.now.getTime() - start_ms).toBeLessThan(30 * DAY_MS + MINUTE_MS);
  expect(done.map(({ day }) => day)).toEqual([1, 2, 3, 3.5, 6, 7, 8, 8.5, 9]);
  expect(Math.max(...done.map(({ late_ms }) => late_ms))).toBeLessThan(MINUTE_MS);
});

test("the clock reaches its target in time however many tasks are due before it", async () => {
  const start_ms = fixture.clock.now().getTime();
  await fixture.enqueue("plain", 2_000, (index) => new Date(start_ms + index * HOUR_MS));
  const worker = fixture.startWorker([{ kind: "plain", set_max: 100, handle: finish }]);
  const { database, clock } = fixture;
  const deps = { database, clock, wake: worker.wake };
  const advanced = await advanceClock(deps, 100 * DAY_MS, 1_500);
  expect(await worker.runUntilIdle(10_000)).toBe(true);
  expect(advanced.now.getTime() - start_ms).toBeGreaterThanOrEqual(100 * DAY_MS);
  expect(await fixture.countTasks()).toBe(0);
});

test("recurring work is created once and runs again after each interval", async () => {
  const { account_id, database, clock } = fixture;
  const now = clock.now();
  const ensure = () => ensureRecurring(database, { account_id, kind: "hourly", now });
  await Promise.all(Array.from({ length: 8 }, ensure));
  expect(await fixture.countTasks()).toBe(1);
  let runs = 0;
  const handle = async (set: TaskSet) => {
    runs += 1;
    if (runs === 1) throw new Error("not at the first try");
    await database.transaction(async (tx) => {
      set.repeat(tx, await set.lock(tx), new Date(set.now.getTime() + HOUR_MS));
    });
  };
  const worker = fixture.startWorker([{ kind: "hourly", set_max: 1, handle }]);
  await waitFor(() => runs === 2);
  for (const expected of [3, 4]) {
    expect(await worker.runUntilIdle(10_000)).toBe(true);
    expect(runs).toBe(expected - 1);
    await clock.advance(HOUR_MS);
    await waitFor(() => runs === expected);
  }
  await ensure();
  expect(await worker.runUntilIdle(10_000)).toBe(true);
  expect(await listTasks()).toMatchObject([{ attempts: 0, last_error: null }]);
});

test("a postponed task waits until its new time and keeps its count of failures", async () => {
  await fixture.enqueue("plain", 2);
  await fixture.database.query("update tasks set attempts = 3");
  let is_waiting = true;
  const handle = async (set: TaskSet) => {
    if (!is_waiting) return finish(set);
    await fixture.database.transaction(async (tx) => {
      set.postpone(tx, await set.lock(tx), (task) => new Date(task.due_at.getTime() + DAY_MS));
    });
  };
  const worker = fixture.startWorker([{ kind: "plain", set_max: 10, handle }]);
  expect(await worker.runUntilIdle(10_000)).toBe(true);
  expect((await listTasks()).map((task) => task.attempts)).toEqual([3, 3]);
  is_waiting = false;
  await fixture.clock.advance(DAY_MS);
  await waitFor(isDone);
});
