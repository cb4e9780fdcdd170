import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { oneByOne } from "../../../src/platform/tasks/one-by-one.ts";
import type { TaskSet } from "../../../src/platform/tasks/task-set.ts";
import type { Task } from "../../../src/platform/tasks/tasks.ts";
import { openTaskFixture, type TaskFixture } from "../../harness/task-fixture.ts";
import { waitFor } from "../../harness/wait-for.ts";

let fixture: TaskFixture;
beforeAll(async () => {
  fixture = await openTaskFixture();
});
afterAll(() => fixture.drop());

const TASK_MS = 50;

/** Due one after the other, those of an account together. */
async function addTasks(counts: readonly number[]): Promise<string[]> {
  const { database, clock } = fixture;
  const ids = counts.map(() => randomUUID());
  const now = clock.now();
  await database.query(
    `insert into accounts (id, name, is_operator, created_at)
     select id, id::text, false, $2 from unnest($1::uuid[]) as t (id)`,
    [ids, now],
  );
  await database.query(
    `insert into tasks (account_id, id, kind, record_id, due_at, created_at)
     select t.id, gen_random_uuid(), 'plain', gen_random_uuid(),
       $3::timestamptz + interval '1 ms' * place, $3
     from unnest($1::uuid[], $2::integer[]) with ordinality as t (id, count, place),
       generate_series(1, t.count)`,
    [ids, counts, new Date(now.getTime() - 1_000)],
  );
  return ids;
}

test("a task of another account waits for one long task, not for a set of them", async () => {
  const { database } = fixture;
  const [, other] = await addTasks([19, 1]);
  const worked: string[] = [];
  const sets: number[] = [];
  const work = async (set: TaskSet, task: Task) => {
    await pause(TASK_MS);
    await database.transaction(async (tx) => set.finish(tx, await set.lock(tx, [task])));
    worked.push(task.account_id);
  };
  const handle = async (set: TaskSet) => {
    const before = worked.length;
    await oneByOne(database, set, (task) => work(set, task), 2 * TASK_MS);
    sets.push(worked.length - before);
  };
  fixture.startWorker([{ kind: "plain", set_max: 20, sets_at_once: 1, handle }]);
  await waitFor(() => worked.length === 20);
  // Each task was worked on once: what is given back is claimed again, and nothing fails.
  if (process.env.SLIPROAD_BATCH_BY !== "account") {
    expect(worked.indexOf(other!)).toBeLessThanOrEqual(1);
  }
  expect(Math.max(...sets)).toBeLessThanOrEqual(3);
  const [row] = await database.query<{ count: bigint }>("select count(*) from tasks");
  expect(Number(row!.count)).toBe(0);
});
