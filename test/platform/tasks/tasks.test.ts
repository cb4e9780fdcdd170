import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Database, Transaction } from "../../../src/platform/db/database.ts";
import { HOUR_MS, MINUTE_MS, SECOND_MS } from "../../../src/platform/durations.ts";
import { claimTasks } from "../../../src/platform/tasks/claim-store.ts";
import { realTime } from "../../../src/platform/tasks/real-time.ts";
import {
  type TaskClaim,
  updateFailed,
  updatePostponed,
} from "../../../src/platform/tasks/store.ts";
import { createTaskSet, type TaskSet } from "../../../src/platform/tasks/task-set.ts";
import { enqueueTasks, type Task, updateTasksDue } from "../../../src/platform/tasks/tasks.ts";
import { workerHealth } from "../../../src/platform/tasks/worker-health.ts";
import {
  finishWithEffects,
  openTaskFixture,
  SILENT,
  type TaskFixture,
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
const later = (wait_ms: number) => new Date(fixture.clock.now().getTime() + wait_ms);
const health = () => {
  const time = { now: fixture.clock.now(), real_now: realTime(fixture.clock) };
  return workerHealth(fixture.database, time);
};
const listTasks = () =>
  fixture.database.query<Task & { last_error: string }>("select * from tasks");

describe("enqueueing", () => {
  const enqueue = (tx: Transaction, count: number) => {
    const records = Array.from({ length: count }, () => {
      return { account_id: fixture.account_id, id: randomUUID() };
    });
    enqueueTasks(tx, "plain", records, fixture.clock.now());
  };

  test("a task exists once the transaction commits, and not before", async () => {
    await fixture.database.transaction(async (tx) => {
      enqueue(tx, 2);
      expect(await fixture.countTasks()).toBe(0);
    });
    expect(await fixture.countTasks()).toBe(2);
  });

  test("a rollback leaves no task", async () => {
    const work = fixture.database.transaction(async (tx) => {
      enqueue(tx, 1);
      throw new Error("changed my mind");
    });
    await expect(work).rejects.toThrow("changed my mind");
    const failing_write = fixture.database.transaction(async (tx) => {
      enqueue(tx, 1);
      tx.write("insert into effects (task_id, by) values (null, null)", []);
    });
    await expect(failing_write).rejects.toThrow("null value");
    expect(await fixture.countTasks()).toBe(0);
  });
});

describe("claiming", () => {
  test("due tasks are passed as sets, in order of their due time", async () => {
    const begin_ms = fixture.clock.now().getTime() - HOUR_MS;
    const ids = await fixture.enqueue("plain", 250, (index) => new Date(begin_ms + (index % 250)));
    const sets: string[][] = [];
    const handle = async (set: TaskSet) => {
      sets.push(set.tasks.map((task) => task.id));
      await finish(set);
    };
    fixture.startWorker([{ kind: "plain", set_max: 100, sets_at_once: 1, handle }]);
    await waitFor(isDone);
    expect(sets.map((set) => set.length)).toEqual([100, 100, 50]);
    expect(sets.flat()).toEqual(ids);
  });

  test("a wake takes effect without waiting for the next poll", async () => {
    const options = { poll_ms: 60_000 };
    const worker = fixture.startWorker([{ kind: "plain", set_max: 10, handle: finish }], options);
    await waitFor(async () => (await health()).is_running);
    await fixture.enqueue("plain", 1);
    worker.wake();
    await waitFor(isDone);
  });

  test("many tasks of one kind, and a kind that hangs, do not block the others", async () => {
    const hung = Promise.withResolvers<void>();
    const handlers = [
      { kind: "flood", set_max: 5, handle: finish },
      { kind: "hang", set_max: 1, handle: () => hung.promise },
      { kind: "rare", set_max: 5, handle: finish },
    ];
    await fixture.enqueue("hang", 10);
    await fixture.enqueue("flood", 2_000);
    // Two sets hang, so flood and rare share the third.
    const worker = fixture.startWorker(handlers, { sets_max: 3 });
    try {
      await waitFor(async () => (await fixture.listEffects()).length > 0);
      const [rare] = await fixture.enqueue("rare", 1);
      worker.wake();
      const done = await waitFor(async () => {
        const effects = await fixture.listEffects();
        return effects.some((effect) => effect.task_id === rare) && effects.length;
      });
      expect(done).toBeLessThan(1_500);
    } finally {
      hung.resolve();
    }
  });

  test("stopping lets running handlers end and deletes the worker's heartbeat", async () => {
    const gate = Promise.withResolvers<void>();
    let is_started = false;
    const handle = async (set: TaskSet) => {
      is_started = true;
      await gate.promise;
      await finish(set);
    };
    await fixture.enqueue("plain", 2);
    const worker = fixture.startWorker([{ kind: "plain", set_max: 1, sets_at_once: 1, handle }]);
    await waitFor(() => is_started);
    const stopped = worker.stop();
    gate.resolve();
    await stopped;
    expect(await fixture.countTasks()).toBe(1);
    expect(await listTasks()).toMatchObject([{ lease_id: null, attempts: 0 }]);
    expect((await health()).is_running).toBe(false);
  });

  test("a task can only be ended by a transaction that locked it", async () => {
    let refused = "";
    const handle = async (set: TaskSet) => {
      const blind = fixture.database.transaction(async (tx) => set.finish(tx, set.tasks));
      await blind.catch((error: Error) => {
        refused = error.message;
      });
      await finish(set);
    };
    await fixture.enqueue("plain", 1);
    fixture.startWorker([{ kind: "plain", set_max: 1, handle }]);
    await waitFor(isDone);
    expect(refused).toBe("a task can only be ended in a transaction that locked it");
  });

  test("a handler may run its transaction again after a rollback", async () => {
    const handle = async (set: TaskSet) => {
      const rolled_back = fixture.database.transaction(async (tx) => {
        set.finish(tx, await set.lock(tx));
        throw new Error("deadlock, say");
      });
      await rolled_back.catch(() => finish(set));
    };
    await fixture.enqueue("plain", 3);
    fixture.startWorker([{ kind: "plain", set_max: 3, handle }]);
    await waitFor(isDone);
    expect(await fixture.listEffects()).toHaveLength(3);
  });
});

describe("a lease", () => {
  test("is held while it is renewed, and never again once it expired", async () => {
    await fixture.enqueue("plain", 1);
    const held: boolean[] = [];
    let sets = 0;
    const handle = async (set: TaskSet) => {
      sets += 1;
      // A worker that finds the lease expired leases the task again: that set has nothing to prove.
      if (sets > 1) return finish(set);
      await sleep(2_200);
      held.push(set.isHeld());
      // As if the process were frozen: nothing renews the lease meanwhile.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_700);
      held.push(set.isHeld());
      await sleep(900);
      held.push(set.isHeld());
      await finish(set);
    };
    fixture.startWorker([{ kind: "plain", set_max: 1, handle }], { lease_ms: 1_500 });
    await waitFor(async () => held.length === 3 && (await isDone()));
    expect(held).toEqual([true, false, false]);
  });
});

describe("a worker that stops", () => {
  const claim = async (failed: boolean) => {
    const [now, real_now] = [fixture.clock.now(), realTime(fixture.clock)];
    const query = { kind: "crash", failed, now, real_now, lease_ms: HOUR_MS, limit: 10 };
    return claimTasks(fixture.database, { ...query, lease_id: randomUUID() });
  };
  /** As if the process had ended an hour ago. */
  const expire = () =>
    fixture.database.query("update tasks set leased_until = leased_until - interval '2 hours'");
  const makeDue = () => fixture.database.query("update tasks set due_at = $1", [later(0)]);

  test("three times during a task delays it, from then on each time longer", async () => {
    await fixture.enqueue("crash", 2);
    // Once or twice may be restarts.
    for (let lost = 0; lost < 3; lost += 1) {
      expect((await claim(false)).tasks).toHaveLength(2);
      await expire();
    }
    expect(await claim(false)).toMatchObject({ tasks: [], set_aside: 2 });
    for (const [attempts, wait_ms] of [1, 2, 4].entries()) {
      const [task] = await listTasks();
      expect(task).toMatchObject({ attempts: attempts + 1, lease_id: null });
      expect(task!.last_error).toMatch(/worker stopped/);
      const due_in_ms = task!.due_at.getTime() - fixture.clock.now().getTime();
      expect(due_in_ms).toBeGreaterThan(wait_ms * SECOND_MS - 500);
      expect(due_in_ms).toBeLessThanOrEqual(wait_ms * SECOND_MS);
      const whose = { account_id: fixture.account_id, kinds: ["crash"] };
      await fixture.database.transaction(async (tx) =>
        updateTasksDue(tx, whose, [task!.record_id], later(0)),
      );
      expect((await listTasks()).map(({ due_at }) => due_at)).toContainEqual(task!.due_at);
      await makeDue();
      expect((await claim(true)).tasks).toHaveLength(2);
      await expire();
      expect(await claim(true)).toMatchObject({ tasks: [], set_aside: 2 });
    }
  });

  test("is forgotten once the task ends in any way, and then the task is woken as before", async () => {
    await fixture.enqueue("crash", 1);
    const { account_id, database } = fixture;
    const ways: ((claimed: TaskClaim) => Promise<unknown>)[] = [
      (claimed) => createTaskSet(claimed, () => {}).set.repeatAll(database, later(HOUR_MS)),
      (claimed) => {
        const { tasks } = claimed;
        return updateFailed(database, claimed, { tasks, due_at: later(HOUR_MS), last_error: "no" });
      },
      ({ lease_id, tasks }) =>
        database.transaction(async (tx) => {
          const postponed = { tasks, dueAt: () => later(HOUR_MS), succeeded: false };
          updatePostponed(tx, lease_id, postponed);
        }),
    ];
    for (const [at, end] of ways.entries()) {
      // Lost three times, then retried alone.
      for (let lost = 0; lost < 3; lost += 1) {
        await makeDue();
        await claim(at === 2);
        await expire();
      }
      await claim(at === 2);
      await makeDue();
      const claimed = await claim(true);
      expect(claimed.tasks).toHaveLength(1);
      await end(claimed);
      const [task] = await listTasks();
      await database.transaction(async (tx) =>
        updateTasksDue(tx, { account_id, kinds: ["crash"] }, [task!.record_id], later(0)),
      );
      expect((await listTasks())[0]!.due_at.getTime()).toBeLessThanOrEqual(later(0).getTime());
    }
  });
});

describe("failing", () => {
  test("a failing task does not affect others and is reported after ten failures", async () => {
    const ids = await fixture.enqueue("plain", 20);
    const poison = ids[7];
    const sizes: number[] = [];
    const handle = async (set: TaskSet) => {
      sizes.push(set.tasks.length);
      if (set.tasks.some((task) => task.id === poison)) throw new TypeError("poison");
      await finish(set);
    };
    fixture.startWorker([{ kind: "plain", set_max: 50, handle }], { poll_ms: 10 });
    await waitFor(async () => (await fixture.countTasks()) === 1);
    expect(sizes.slice(0, 20)).toEqual([20, ...Array(19).fill(1)]);
    const attempts = async () => (await listTasks())[0]!.attempts;
    for (let failures = await attempts(); failures <= 10; failures = await attempts()) {
      expect((await health()).failing).toEqual([]);
      await fixture.clock.advance(5 * MINUTE_MS);
      await waitFor(async () => (await attempts()) > failures);
    }
    expect(await listTasks()).toMatchObject([{ id: poison, last_error: "TypeError: poison" }]);
    const { failing, problems } = await health();
    expect(failing).toEqual([{ kind: "plain", attempts: 11, tasks: 1 }]);
    expect(problems).toEqual(['A task "plain" failed up to 11 times in a row.']);
    await fixture.enqueue("plain", 5);
    await waitFor(async () => (await fixture.countTasks()) === 1);
  });

  test("failed tasks of one account that hang leave a place to those of others", async () => {
    const { database } = fixture;
    await fixture.enqueue("plain", 9);
    const [other] = await fixture.enqueue("plain", 1);
    const other_id = randomUUID();
    await database.query(
      "insert into accounts (id, name, is_operator, created_at) values ($1, 'Other', false, now())",
      [other_id],
    );
    await database.query("update tasks set account_id = $1 where id = $2", [other_id, other]);
    await database.query("update tasks set attempts = 1");
    const hung = Promise.withResolvers<void>();
    const handle = async (set: TaskSet) => {
      if (set.tasks[0]!.account_id === fixture.account_id) await hung.promise;
      await finish(set);
    };
    fixture.startWorker([{ kind: "plain", set_max: 5, handle }]);
    try {
      await waitFor(async () => (await fixture.listEffects()).length === 1);
      expect(await fixture.listEffects()).toMatchObject([{ task_id: other }]);
    } finally {
      hung.resolve();
    }
    // Those of the first account follow, also where it has had its places.
    await waitFor(async () => (await fixture.countTasks()) === 0);
  });

  test("recurring work is reported after its fifth failure in a row", async () => {
    await fixture.enqueue("plain", 1);
    const { database } = fixture;
    const fail = (attempts: number) =>
      database.query("update tasks set attempts = $1, record_id = account_id", [attempts]);
    await fail(4);
    expect((await health()).failing).toEqual([]);
    await fail(5);
    expect((await health()).failing).toEqual([{ kind: "plain", attempts: 5, tasks: 1 }]);
  });

  test("a task waits one second after its first failure, five minutes at most", async () => {
    await fixture.enqueue("plain", 1);
    const handle = async () => {
      throw new Error("x".repeat(1_000));
    };
    fixture.startWorker([{ kind: "plain", set_max: 1, handle }]);
    const waited = async (attempts: number) => {
      const [task] = await waitFor(async () => {
        const tasks = await listTasks();
        return tasks[0]!.attempts === attempts ? tasks : undefined;
      });
      expect(task!.last_error).toHaveLength(500);
      return task!.due_at.getTime() - fixture.clock.now().getTime();
    };
    expect(await waited(1)).toBeLessThanOrEqual(1_000);
    await fixture.database.query("update tasks set attempts = 1000, due_at = $1", [later(0)]);
    const wait_ms = await waited(1_001);
    expect(wait_ms).toBeLessThanOrEqual(5 * MINUTE_MS);
    expect(wait_ms).toBeGreaterThan(4 * MINUTE_MS);
  });

  test("tasks that a handler does not end count as failed", async () => {
    await fixture.enqueue("plain", 4);
    const handle = async (set: TaskSet) => {
      await fixture.database.transaction(async (tx) => {
        const tasks = await set.lock(tx);
        set.finish(tx, tasks.slice(0, 3));
      });
    };
    fixture.startWorker([{ kind: "plain", set_max: 4, handle }]);
    const [task] = await waitFor(async () => {
      const tasks = await listTasks();
      return tasks.length === 1 && tasks[0]!.attempts === 1 ? tasks : undefined;
    });
    expect(task!.last_error).toBe("Error: the handler did not finish this task");
  });

  test("an outage is logged once, and work continues after it", async () => {
    let is_away = false;
    const tries = { count: 0 };
    const query: Database["query"] = (...statement) => {
      if (!is_away) return fixture.database.query(...statement);
      tries.count += 1;
      return Promise.reject(new Error("connect ECONNREFUSED"));
    };
    const logged: string[] = [];
    const log = {
      ...SILENT,
      error: (_: object, message: string) => void logged.push(message),
      info: (_: object, message: string) => void logged.push(message),
    };
    const database = { ...fixture.database, query };
    const handlers = [{ kind: "plain", set_max: 1, handle: finish }];
    fixture.startWorker(handlers, { database, log, poll_ms: 10, heartbeat_ms: 10 });
    await waitFor(async () => (await health()).is_running);
    is_away = true;
    await waitFor(() => tries.count > 10);
    await fixture.enqueue("plain", 1);
    is_away = false;
    await waitFor(isDone);
    await waitFor(() => logged.length > 1);
    expect(logged).toEqual([
      "the worker cannot use the database; it keeps trying",
      "the worker can use the database again",
    ]);
  });
});

test("health reports a worker that is alive but ends nothing", async () => {
  const hanging = Promise.withResolvers<void>();
  const { stop } = fixture.startWorker(
    [{ kind: "hang", set_max: 1, handle: () => hanging.promise }],
    { heartbeat_ms: 20 },
  );
  const findBeat = async () => {
    const [beat] = await fixture.database.query<{ seen_at: Date; progressed_at: Date }>(
      "select seen_at, progressed_at from worker_heartbeats",
    );
    return beat;
  };
  await waitFor(findBeat);
  await fixture.enqueue("hang", 1, () => later(-SECOND_MS));
  // The claim of the task ends the time in which there was nothing to do.
  const before = await waitFor(async () => {
    const [first, second] = [await findBeat(), await findBeat()];
    return first!.progressed_at.getTime() < second!.seen_at.getTime() - 200 && second;
  });
  expect((await health()).problems).toEqual([]);
  const beat = await waitFor(async () => {
    const now = await findBeat();
    return now!.seen_at.getTime() > before!.seen_at.getTime() + 100 && now;
  });
  expect(beat!.progressed_at).toEqual(before!.progressed_at);
  hanging.resolve();
  await stop();

  const real_now = realTime(fixture.clock);
  const long_ago = new Date(real_now.getTime() - 25 * SECOND_MS);
  await fixture.database.query("insert into worker_heartbeats values ($1, $2, $3)", [
    ...[randomUUID(), real_now, long_ago],
  ]);
  await fixture.enqueue("due", 1, () => later(-SECOND_MS));
  expect((await health()).problems).toEqual([
    "Tasks are due, but no worker has ended any for 25 seconds.",
  ]);
});

test("health reports overdue tasks and whether a worker runs", async () => {
  const idle = await health();
  expect(idle).toEqual({
    is_running: false,
    silent_ms: Number.POSITIVE_INFINITY,
    overdue_ms: 0,
    oldest_due_at: null,
    failing: [],
    problems: ["No worker is running."],
  });
  const due_at = later(-6 * MINUTE_MS);
  await fixture.enqueue("unknown", 1, () => due_at);
  await fixture.database.query("insert into worker_heartbeats values ($1, $2)", [
    randomUUID(),
    new Date(realTime(fixture.clock).getTime() - 2 * HOUR_MS),
  ]);
  fixture.startWorker([]);
  await waitFor(async () => (await health()).is_running);
  const { oldest_due_at, overdue_ms, problems } = await health();
  expect(oldest_due_at).toEqual(due_at);
  expect(overdue_ms).toBeGreaterThanOrEqual(6 * MINUTE_MS);
  expect(problems).toEqual(['A task "unknown" has been due for 6 minutes.']);
  const steps = await fixture.database.query("select * from worker_heartbeats");
  expect(steps).toHaveLength(1);
});
