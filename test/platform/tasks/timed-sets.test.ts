import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runProposalTask } from "../../../src/approvals/tasks.ts";
import { invoiceTasks } from "../../../src/invoices/tasks.ts";
import { offrampTasks } from "../../../src/offramps/tasks.ts";
import { onrampTasks } from "../../../src/onramps/tasks.ts";
import type { Database } from "../../../src/platform/db/database.ts";
import type { TaskSet } from "../../../src/platform/tasks/task-set.ts";
import type { Task } from "../../../src/platform/tasks/tasks.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ without_worker: true });
});
afterAll(() => server?.close());

/** Kinds whose tasks may take long, by what one account stores. */
const KINDS = [
  ...["sync-counterparty", "invoice-payment", "fail-lapsed"],
  ...["reassess-user", "run-proposal-invented"],
];
const TASKS = 20;

/** A database in which each transaction takes a tenth of a second. */
function slow(database: Database): Database {
  return {
    ...database,
    transaction: async (work, options) => {
      await sleep(100);
      return database.transaction(work, options);
    },
  };
}

function handlerOf(kind: string) {
  const database = slow(server.core.database);
  const deps = { ...server.core, database, chain: { chains: [] } } as never;
  const handlers = [
    ...[...invoiceTasks(deps), ...offrampTasks(deps), ...onrampTasks(deps)],
    runProposalTask(deps, "invented", {} as never),
  ];
  const found = handlers.find((one) => one.kind === kind);
  if (!found) throw new Error(`there is no ${kind}: ${handlers.map((one) => one.kind)}`);
  return found;
}

/*
 * Sets of a hundred invoices of a megabyte each, or of proposals of large records, took seconds:
 * as long the tasks of other accounts waited.
 */
test.each(KINDS)("a set of %s begins no task after half a second", async (kind) => {
  const tasks = Array.from({ length: TASKS }, () => {
    return { account_id: server.account_id, id: randomUUID(), record_id: randomUUID() } as Task;
  });
  const ended: Task[] = [];
  const left: Task[] = [];
  const set = {
    tasks,
    now: server.core.clock.now(),
    lock: async (_tx: unknown, wanted: readonly Task[] = tasks) => wanted,
    finish: (_tx: unknown, done: readonly Task[]) => ended.push(...done),
    postpone: (_tx: unknown, rest: readonly Task[]) => left.push(...rest),
  };
  await handlerOf(kind).handle(set as unknown as TaskSet);
  expect(ended.length).toBeGreaterThanOrEqual(1);
  expect(left.length).toBeGreaterThan(TASKS / 2);
  expect(ended.length + left.length).toBe(TASKS);
});
