import { randomUUID } from "node:crypto";
import { ACCOUNTS } from "../../src/accounts/store.ts";
import { type Clock, openClock, type SandboxClock } from "../../src/platform/clock.ts";
import type { Database, Transaction } from "../../src/platform/db/database.ts";
import type { TaskHandler } from "../../src/platform/tasks/run-set.ts";
import type { TaskLog } from "../../src/platform/tasks/task-log.ts";
import type { TaskSet } from "../../src/platform/tasks/task-set.ts";
import { enqueueTasksAt, type Task } from "../../src/platform/tasks/tasks.ts";
import { createWorker, type Worker, type WorkerOptions } from "../../src/platform/tasks/worker.ts";
import { createTestDatabase, type TestDatabase } from "./database.ts";
import { insertInstallation } from "./installation.ts";
import { vouch } from "./vouch.ts";

export const SILENT: TaskLog = { info: () => {}, warn: () => {}, error: () => {} };

/** The fixture of the task tests: a database, an account, and a table of effects. */
export type TaskFixture = TestDatabase & {
  clock: Clock & SandboxClock;
  account_id: string;
  enqueue(kind: string, count: number, due_at?: (index: number) => Date): Promise<string[]>;
  startWorker(
    handlers: TaskHandler[],
    options?: Partial<Omit<WorkerOptions, "clock" | "handlers">>,
  ): Worker;
  countTasks(): Promise<number>;
  /** What the handlers' transactions have written, in order. */
  listEffects(): Promise<{ task_id: string; by: string }[]>;
  /** Stops the workers and deletes all tasks and effects. */
  clear(): Promise<void>;
};

export async function openTaskFixture(): Promise<TaskFixture> {
  const db = await createTestDatabase();
  const { database } = db;
  const account_id = randomUUID();
  await insertInstallation(database);
  await database.query(
    `insert into accounts (id, name, is_operator, created_at) values ($1, 'Test', true, $2)`,
    [account_id, new Date()],
  );
  await vouch(database, ACCOUNTS);
  await database.query(
    `create table effects (number bigserial primary key, task_id uuid not null, by text not null)`,
  );
  const clock = await openClock(database);
  const workers: Worker[] = [];
  return {
    ...db,
    clock,
    account_id,
    enqueue: async (kind, count, due_at = () => clock.now()) => {
      const records = Array.from({ length: count }, (_, index) => {
        return { account_id, id: randomUUID(), due_at: due_at(index) };
      });
      await database.transaction(async (tx) => enqueueTasksAt(tx, kind, records, clock.now()));
      const rows = await database.query<{ id: string }>(
        `select t.id from unnest($1::uuid[]) with ordinality as r (record_id, place)
         join tasks t using (record_id) order by place`,
        [records.map((record) => record.id)],
      );
      return rows.map((row) => row.id);
    },
    startWorker: (handlers, options) => {
      const worker = createWorker({ database, clock, handlers, log: SILENT, ...options });
      workers.push(worker);
      worker.start();
      return worker;
    },
    countTasks: async () => {
      const [row] = await database.query<{ count: bigint }>("select count(*) from tasks");
      return Number(row!.count);
    },
    listEffects: () => database.query("select task_id, by from effects order by number"),
    clear: async () => {
      await Promise.all(workers.splice(0).map((worker) => worker.stop()));
      await database.query("truncate tasks, effects, worker_heartbeats");
    },
  };
}

/** The usual end of a set: lock, write one effect for each task that is still ours, finish. */
export async function finishWithEffects(
  database: Database,
  set: TaskSet,
  by: string,
  of?: readonly Task[],
): Promise<Task[]> {
  return database.transaction(async (tx) => {
    const tasks = await set.lock(tx, of);
    writeEffects(tx, tasks, by);
    set.finish(tx, tasks);
    return tasks;
  });
}

export function writeEffects(tx: Transaction, tasks: readonly Task[], by: string): void {
  tx.write("insert into effects (task_id, by) select unnest($1::uuid[]), $2", [
    tasks.map((task) => task.id),
    by,
  ]);
}
