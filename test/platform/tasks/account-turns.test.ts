import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import type { TaskSet } from "../../../src/platform/tasks/task-set.ts";
import {
  finishWithEffects,
  openTaskFixture,
  type TaskFixture,
} from "../../harness/task-fixture.ts";
import { waitFor } from "../../harness/wait-for.ts";

/** Sets are of one account with this setting, so that each account needs a claim. */
const BY_ACCOUNT = process.env.SLIPROAD_BATCH_BY === "account";

let fixture: TaskFixture;

beforeAll(async () => {
  fixture = await openTaskFixture();
});
afterEach(() => fixture.clear());
afterAll(() => fixture.drop());

/** Accounts of which each has as many due tasks; later ones became due later. */
async function addAccounts(count: number, tasks: number, kind = "plain"): Promise<string[]> {
  const { database, clock } = fixture;
  const ids = Array.from({ length: count }, () => randomUUID());
  const now = clock.now();
  await database.query(
    `insert into accounts (id, name, is_operator, created_at)
     select id, id::text, false, $2 from unnest($1::uuid[]) as t (id)`,
    [ids, now],
  );
  await database.query(
    `insert into tasks (account_id, id, kind, record_id, due_at, created_at)
     select t.id, gen_random_uuid(), $4, gen_random_uuid(), $2, $2
     from unnest($1::uuid[]) as t (id), generate_series(1, $3)`,
    [ids, now, tasks, kind],
  );
  return ids;
}

/** Runs a worker with one set at a time until all these accounts are served; returns its sets. */
async function setsUntilServed(set_max: number, ids: readonly string[]): Promise<string[][]> {
  const left = new Set(ids);
  const sets: string[][] = [];
  const handle = async (set: TaskSet) => {
    if (left.size > 0) sets.push(set.tasks.map((task) => task.account_id));
    await finishWithEffects(fixture.database, set, "worker");
    for (const task of set.tasks) left.delete(task.account_id);
  };
  fixture.startWorker([{ kind: "plain", set_max, sets_at_once: 1, handle }]);
  await waitFor(() => left.size === 0);
  return sets;
}

test("few tasks of an account are claimed soon, however many accounts have however many", async () => {
  const floods = await addAccounts(10, 400);
  const others = await addAccounts(90, 1);
  const sets = await setsUntilServed(20, others);
  // The first set is of who came first; then each account has its turn.
  expect(sets.length).toBeLessThanOrEqual(BY_ACCOUNT ? 1 + 100 : 1 + 100 / 20 + 1);
  expect(floods).toContain(sets[0]![0]);
  await waitFor(async () => (await fixture.countTasks()) === 0);
  expect(await fixture.listEffects()).toHaveLength(10 * 400 + 90);
});

test("of tasks that are claimed one by one, every account has its turn", async () => {
  await addAccounts(3, 100);
  const others = await addAccounts(7, 2);
  const sets = await setsUntilServed(1, others);
  expect(sets.length).toBeLessThanOrEqual(1 + 10);
});

test("an account alone has the whole set", async () => {
  await addAccounts(1, 100);
  const sizes: number[] = [];
  const handle = async (set: TaskSet) => {
    sizes.push(set.tasks.length);
    await finishWithEffects(fixture.database, set, "worker");
  };
  // Nothing of theirs is due.
  const { database } = fixture;
  const waiting = await addAccounts(30, 1);
  await database.query(
    "update tasks set due_at = due_at + interval '1 day' where account_id = any ($1)",
    [waiting],
  );
  fixture.startWorker([{ kind: "plain", set_max: 20, sets_at_once: 1, handle }]);
  await waitFor(async () => (await fixture.countTasks()) === 30);
  expect(sizes).toEqual([20, 20, 20, 20, 20]);
});
