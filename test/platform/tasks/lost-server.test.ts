import { randomUUID } from "node:crypto";
import { fastify } from "fastify";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { addHealthRoutes } from "../../../src/platform/http/health.ts";
import { createMetrics } from "../../../src/platform/metrics/metrics.ts";
import { rejectedNotices } from "../../../src/platform/sealing/rejected-entries.ts";
import type { TaskHandler } from "../../../src/platform/tasks/run-set.ts";
import { workerHealth } from "../../../src/platform/tasks/worker-health.ts";
import { onServers } from "../../harness/lost-server.ts";
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

async function addTask(account_id: string, attempts: number): Promise<string> {
  const id = randomUUID();
  await fixture.database.query(
    `insert into tasks (account_id, id, kind, record_id, due_at, created_at, attempts)
     values ($1, $2, 'plain', $2, $3, $3, $4)`,
    [account_id, id, fixture.clock.now(), attempts],
  );
  return id;
}

test.each([
  ["fresh", 0],
  ["failed", 1],
])("%s tasks of other servers' accounts are done while one server is lost", async (_, attempts) => {
  const lost_account = randomUUID();
  let is_lost = true;
  const servers = [[fixture.account_id, randomUUID()], [lost_account]];
  const database = onServers(fixture.database, servers, () => is_lost);
  const waiting = await addTask(lost_account, attempts);
  const own = await addTask(fixture.account_id, attempts);
  const handler: TaskHandler = {
    kind: "plain",
    set_max: 10,
    handle: async (set) => void (await finishWithEffects(database, set, "worker")),
  };
  fixture.startWorker([handler], { database });
  await waitFor(async () => (await fixture.listEffects()).length === 1);
  const later = await addTask(fixture.account_id, attempts);
  await waitFor(async () => (await fixture.listEffects()).length === 2);
  const done = (await fixture.listEffects()).map(({ task_id }) => task_id);
  expect(done).toEqual([own, later]);
  is_lost = false;
  // Those of the server that is back are looked for again after some seconds.
  await waitFor(async () => (await fixture.listEffects()).length === 3, 20_000);
  expect((await fixture.listEffects()).at(-1)!.task_id).toBe(waiting);
});

test("the health of the worker is told while one server is lost", async () => {
  const lost_account = randomUUID();
  const database = onServers(fixture.database, [[fixture.account_id], [lost_account]], () => true);
  await addTask(lost_account, 20);
  await addTask(fixture.account_id, 12);
  const now = fixture.clock.now();
  const { failing } = await workerHealth(database, { now, real_now: now });
  expect(failing).toEqual([{ kind: "plain", attempts: 12, tasks: 1 }]);
});

test("a process is ready while one server is lost, and says so", async () => {
  const servers = [[fixture.account_id], [randomUUID()]];
  const database = onServers(fixture.database, servers, () => true);
  await fixture.database.query(
    "insert into worker_heartbeats (worker_id, seen_at) values ($1, $2)",
    [randomUUID(), new Date()],
  );
  const app = fastify();
  const { clock } = fixture;
  const metrics = createMetrics({ database, clock, counters: [], sources: [], log: SILENT });
  const access = { metrics, metrics_token: undefined, is_private: true };
  const checks = { readiness: [], notices: [rejectedNotices] };
  addHealthRoutes(app, { database, clock, ...access, ...checks });
  const answer = await app.inject("/readyz");
  expect([answer.statusCode, answer.json()]).toEqual([
    200,
    {
      status: "ready",
      notices: ["Some accounts cannot be served: a database server of theirs cannot be reached."],
    },
  ]);
});

test("a database that is lost as a whole is not asked in parts", async () => {
  const database = onServers(fixture.database, [[fixture.account_id]], () => true);
  const now = fixture.clock.now();
  await expect(workerHealth(database, { now, real_now: now })).rejects.toThrow("is lost");
});
