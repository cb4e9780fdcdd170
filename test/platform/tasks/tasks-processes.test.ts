import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { openDatabase } from "../../../src/platform/db/database.ts";
import { DAY_MS } from "../../../src/platform/durations.ts";
import type { TaskSet } from "../../../src/platform/tasks/task-set.ts";
import {
  finishWithEffects,
  openTaskFixture,
  type TaskFixture,
  writeEffects,
} from "../../harness/task-fixture.ts";
import { waitFor } from "../../harness/wait-for.ts";
import type { FromProcess } from "../../harness/worker-process.ts";

const LEASE_MS = 1_000;
const SCRIPT = join(import.meta.dirname, "../../harness/worker-process.ts");
/** Read when a test runs: files of test/tenancy set it. */
const openOther = () => {
  const by_account = process.env.SLIPROAD_BATCH_BY === "account";
  return openDatabase({ url: fixture.url, connections_max: 6, by_account });
};

let fixture: TaskFixture;
const children: ChildProcess[] = [];

beforeAll(async () => {
  fixture = await openTaskFixture();
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
  await fixture.clear();
});
afterAll(() => fixture.drop());

function startProcess() {
  const child = fork(SCRIPT, [fixture.url, String(LEASE_MS)], { execArgv: [] });
  children.push(child);
  const messages: FromProcess[] = [];
  child.on("message", (message) => void messages.push(message as FromProcess));
  return { child, messages };
}

function startReplacement() {
  const handle = async (set: TaskSet) =>
    void (await finishWithEffects(fixture.database, set, "replacement"));
  const handlers = ["crash", "locked"].map((kind) => ({ kind, set_max: 10, handle }));
  fixture.startWorker(handlers, { lease_ms: LEASE_MS });
}

test("the tasks of a worker killed during a task are done by another", async () => {
  await fixture.enqueue("crash", 3);
  const { child, messages } = startProcess();
  await waitFor(() => messages.length > 0);
  startReplacement();
  child.kill("SIGKILL");
  await once(child, "exit");
  await waitFor(async () => (await fixture.countTasks()) === 0);
  const effects = await fixture.listEffects();
  expect(effects.map((effect) => effect.by)).toEqual(Array(3).fill("replacement"));
});

test("a worker frozen during a task is replaced, and has no effect when it resumes", async () => {
  await fixture.enqueue("crash", 3);
  const { child, messages } = startProcess();
  await waitFor(() => messages.length > 0);
  // The tasks stay in the table, so that only the lease excludes the first worker.
  const handle = (set: TaskSet) =>
    fixture.database.transaction(async (tx) => {
      const tasks = await set.lock(tx);
      writeEffects(tx, tasks, "replacement");
      set.postpone(tx, tasks, new Date(set.now.getTime() + DAY_MS));
    });
  fixture.startWorker([{ kind: "crash", set_max: 10, handle }], { lease_ms: LEASE_MS });
  child.kill("SIGSTOP");
  await waitFor(async () => (await fixture.listEffects()).length === 3);
  child.send("go on");
  child.kill("SIGCONT");
  await waitFor(() => messages.length > 1);
  expect(messages).toEqual([{ started: 3 }, { ended: 0 }]);
  const effects = await fixture.listEffects();
  expect(effects.map((effect) => effect.by)).toEqual(Array(3).fill("replacement"));
  expect(await fixture.countTasks()).toBe(3);
});

test("a worker frozen inside its transaction is replaced, and its writes are refused", async () => {
  await fixture.enqueue("locked", 3);
  const { child, messages } = startProcess();
  await waitFor(() => messages.length > 0);
  startReplacement();
  child.kill("SIGSTOP");
  await waitFor(async () => (await fixture.countTasks()) === 0);
  child.send("go on");
  child.kill("SIGCONT");
  await waitFor(() => messages.length > 1);
  expect(messages).toEqual([{ started: 3 }, { refused: expect.any(String) }]);
  const effects = await fixture.listEffects();
  expect(effects.map((effect) => effect.by)).toEqual(Array(3).fill("replacement"));
});

test("a slow handler keeps its tasks, also when the sandbox clock moves", async () => {
  await fixture.enqueue("crash", 1);
  const { child, messages } = startProcess();
  await waitFor(() => messages.length > 0);
  startReplacement();
  const leaseEnd = async () => {
    const [row] = await fixture.database.query<{ leased_until: Date }>("select * from tasks");
    return row!.leased_until.getTime();
  };
  const first = await leaseEnd();
  await fixture.clock.advance(DAY_MS);
  await waitFor(async () => (await leaseEnd()) > first + 1.5 * LEASE_MS);
  child.send("go on");
  await waitFor(() => messages.length > 1);
  expect(messages).toEqual([{ started: 1 }, { ended: 1 }]);
});

test("two workers never run one task at the same time, and run each exactly once", async () => {
  const count = 5_000;
  await fixture.enqueue("plain", count);
  const at_work = new Set<string>();
  const overlaps: string[] = [];
  const databases = [0, 1].map(openOther);
  const by = new Set<number>();
  for (const [index, database] of databases.entries()) {
    const handle = async (set: TaskSet) => {
      by.add(index);
      for (const { id } of set.tasks) {
        if (at_work.has(id)) overlaps.push(id);
        at_work.add(id);
      }
      await finishWithEffects(database, set, String(index));
      for (const { id } of set.tasks) at_work.delete(id);
    };
    fixture.startWorker([{ kind: "plain", set_max: 20, handle }], { database });
  }
  await waitFor(async () => (await fixture.countTasks()) === 0);
  const effects = await fixture.listEffects();
  expect(overlaps).toEqual([]);
  expect(by.size).toBe(2);
  expect(effects.length).toBe(count);
  expect(new Set(effects.map((effect) => effect.task_id)).size).toBe(count);
  await fixture.clear();
  await Promise.all(databases.map((database) => database.close()));
});

test("workers continue after the server closes their connections", async () => {
  const database = openOther();
  const count = 2_000;
  await fixture.enqueue("plain", count);
  const handle = async (set: TaskSet) => void (await finishWithEffects(database, set, "worker"));
  // A lost answer to the claim leaves a lease that has to expire.
  const options = { database, lease_ms: LEASE_MS };
  const worker = fixture.startWorker([{ kind: "plain", set_max: 10, handle }], options);
  for (const done of [200, 500, 900]) {
    await waitFor(async () => (await fixture.listEffects()).length >= done);
    await fixture.database.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid()
         and query not like '%pg_terminate_backend%'`,
    );
  }
  await waitFor(async () => (await fixture.countTasks()) === 0);
  expect(await worker.runUntilIdle(10_000)).toBe(true);
  const effects = await fixture.listEffects();
  expect(effects.length).toBe(count);
  expect(new Set(effects.map((effect) => effect.task_id)).size).toBe(count);
  await fixture.clear();
  await database.close();
});
