import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type Database, openDatabase } from "../../../src/platform/db/database.ts";
import { type ObservedStatement, observeStatements } from "../../../src/platform/db/observe.ts";
import { claimTasks } from "../../../src/platform/tasks/claim-store.ts";
import { oneByOne } from "../../../src/platform/tasks/one-by-one.ts";
import { realTime } from "../../../src/platform/tasks/real-time.ts";
import type { TaskSet } from "../../../src/platform/tasks/task-set.ts";
import {
  finishWithEffects,
  openTaskFixture,
  type TaskFixture,
} from "../../harness/task-fixture.ts";
import { waitFor } from "../../harness/wait-for.ts";

let fixture: TaskFixture;

beforeAll(async () => {
  fixture = await openTaskFixture();
});
afterEach(() => fixture.clear());
afterAll(() => fixture.drop());

/** Accounts of which each has as many due tasks, or tasks that become due then. */
async function addAccounts(
  count: number,
  tasks: number,
  due_at = fixture.clock.now(),
  attempts = 0,
): Promise<string[]> {
  const ids = Array.from({ length: count }, () => randomUUID());
  await fixture.database.query(
    `insert into accounts (id, name, is_operator, created_at)
     select id, id::text, false, $2 from unnest($1::uuid[]) as t (id)`,
    [ids, due_at],
  );
  await fixture.database.query(
    `insert into tasks (account_id, id, kind, record_id, due_at, created_at, attempts)
     select t.id, gen_random_uuid(), 'plain', gen_random_uuid(), $2, $2, $4
     from unnest($1::uuid[]) as t (id), generate_series(1, $3)`,
    [ids, due_at, tasks, attempts],
  );
  return ids;
}

const WAYS: [string, boolean][] = [
  ["of all accounts", false],
  ["of one account", true],
];
// Where statements are recorded, each is of one account (test/tenancy).
const ways = WAYS.filter(([, by_account]) => by_account || !process.env.SLIPROAD_BATCH_BY);

describe.each(ways)("sets %s", (_, by_account) => {
  let database: Database;
  beforeAll(() => {
    database = openDatabase({ url: fixture.url, connections_max: 4, by_account });
  });
  afterAll(() => database.close());

  /** Runs one set at a time until these accounts are served; returns whose tasks the sets had. */
  async function setsUntilServed(set_max: number, ids: readonly string[]): Promise<string[][]> {
    const left = new Set(ids);
    const sets: string[][] = [];
    const handle = async (set: TaskSet) => {
      if (left.size > 0) sets.push(set.tasks.map((task) => task.account_id));
      await finishWithEffects(database, set, "worker");
      for (const task of set.tasks) left.delete(task.account_id);
    };
    const handler = { kind: "plain", set_max, sets_at_once: 1, handle };
    fixture.startWorker([handler], { database });
    await waitFor(() => left.size === 0);
    return sets;
  }

  test("soon contain few tasks of an account, however many accounts have however many", async () => {
    const floods = await addAccounts(10, 150);
    const others = await addAccounts(90, 1);
    const sets = await setsUntilServed(20, others);
    // The first set is of who came first; then each account has its turn.
    expect(floods).toContain(sets[0]![0]);
    expect(sets.length).toBeLessThanOrEqual(by_account ? 1 + 100 : 1 + 100 / 20 + 1);
    for (const accounts of sets.slice(1)) {
      const first = accounts.slice(0, new Set(accounts).size);
      expect(new Set(first).size, "each account, before any a second time").toBe(first.length);
    }
    await waitFor(async () => (await fixture.countTasks()) === 0);
    expect(await fixture.listEffects()).toHaveLength(10 * 150 + 90);
  });

  test("of a kind that is claimed one by one are of each account in turn", async () => {
    await addAccounts(3, 100);
    const others = await addAccounts(7, 2);
    expect((await setsUntilServed(1, others)).length).toBeLessThanOrEqual(1 + 10);
  });

  test("are full where only one account has due tasks", async () => {
    const tomorrow = new Date(fixture.clock.now().getTime() + 86_400_000);
    await addAccounts(30, 1, tomorrow);
    const [alone] = await addAccounts(1, 100);
    await addAccounts(30, 1, tomorrow);
    const sets: string[][] = [];
    const handle = async (set: TaskSet) => {
      sets.push(set.tasks.map((task) => task.account_id));
      await finishWithEffects(database, set, "worker");
    };
    const handler = { kind: "plain", set_max: 20, sets_at_once: 1, handle };
    fixture.startWorker([handler], { database });
    await waitFor(async () => (await fixture.countTasks()) === 60);
    expect(sets).toEqual(Array(5).fill(Array(20).fill(alone)));
  });

  test("begin with the next account where they end early, without a backlog", async () => {
    const earlier = new Date(fixture.clock.now().getTime() - 1_000);
    await addAccounts(1, 10, earlier);
    // Some of their ids come before that of the first, some after it.
    const others = await addAccounts(6, 1);
    const done: string[] = [];
    const handle = (set: TaskSet) =>
      oneByOne(
        database,
        set,
        async (task) => {
          await sleep(20);
          await finishWithEffects(database, set, "worker", [task]);
          done.push(task.account_id);
        },
        10,
      );
    fixture.startWorker([{ kind: "plain", set_max: 20, sets_at_once: 1, handle }], { database });
    await waitFor(() => others.every((account_id) => done.includes(account_id)));
    expect(done.length).toBeLessThanOrEqual(1 + 6 + 1);
    await waitFor(async () => (await fixture.countTasks()) === 0);
  });

  test("of tasks that failed are of each account in turn, however long others take", async () => {
    const floods = await addAccounts(2, 60);
    const others = await addAccounts(5, 2);
    await fixture.database.query("update tasks set attempts = 1");
    const done: string[] = [];
    const handle = async (set: TaskSet) => {
      const [{ account_id } = { account_id: "" }] = set.tasks;
      if (floods.includes(account_id)) await sleep(100);
      await finishWithEffects(database, set, "worker");
      done.push(account_id);
    };
    fixture.startWorker([{ kind: "plain", set_max: 20, handle }], { database });
    const countOthers = () => done.filter((account_id) => others.includes(account_id)).length;
    await waitFor(() => countOthers() === 10);
    // The first places are of the oldest; then each account has its turn twice.
    expect(done.length - countOthers()).toBeLessThanOrEqual(12);
    await waitFor(async () => (await fixture.countTasks()) === 0);
  });

  test.each([false, true])(
    "are claimed without reading a backlog, whatever the planner expects (failed: %s)",
    async (failed) => {
      const attempts = failed ? 1 : 0;
      // The statistics say that the table is as good as empty.
      await addAccounts(5, 2_000, undefined, attempts);
      await database.query("delete from tasks");
      await database.query("vacuum analyze tasks");
      await addAccounts(1, 1, undefined, attempts);
      await database.query("analyze tasks");
      await addAccounts(1, 20_000, undefined, attempts);
      const others = new Set(await addAccounts(50, 1, undefined, attempts));
      const claim = (turn: string | null) => {
        const [now, real_now] = [fixture.clock.now(), realTime(fixture.clock)];
        const lease = { lease_ms: 60_000, lease_id: randomUUID() };
        const query = { kind: "plain", failed, limit: 20, now, real_now, turn, ...lease };
        return claimTasks(database, query);
      };
      let { turn } = await claim(null);
      const statements: ObservedStatement[] = [];
      observeStatements((statement) => void statements.push(statement));
      try {
        for (let claims = 0; others.size > 0; claims += 1) {
          expect(claims, "claims until every account is served").toBeLessThanOrEqual(51);
          const claimed = await claim(turn);
          turn = claimed.turn;
          for (const { account_id } of claimed.tasks) others.delete(account_id);
        }
      } finally {
        observeStatements(undefined);
      }
      const claims = statements.filter(({ text }) => text.includes("from tasks"));
      for (const { text, values } of [...claims.slice(0, 5), ...claims.slice(-5)]) {
        expect(await countRowsRead(database, text, values), text).toBeLessThan(500);
      }
    },
  );
});

/** How many rows the statement finds in tables and indexes, also those that it does not use. */
async function countRowsRead(
  database: Database,
  text: string,
  values: readonly unknown[],
): Promise<number> {
  const [row] = await database.transaction(async (tx) => {
    await tx.query(
      `select set_config('enable_sort', 'off', true),
         set_config('enable_incremental_sort', 'off', true)`,
    );
    return tx.query<{ "QUERY PLAN": [{ Plan: PlanNode }] }>(
      `explain (analyze, format json) ${text}`,
      values,
    );
  });
  return rowsOf(row!["QUERY PLAN"][0].Plan);
}

type PlanNode = {
  "Actual Rows": number;
  "Actual Loops": number;
  "Rows Removed by Filter"?: number;
  "Relation Name"?: string;
  Plans?: PlanNode[];
};

function rowsOf(node: PlanNode): number {
  const read = node["Actual Rows"] + (node["Rows Removed by Filter"] ?? 0);
  const own = node["Relation Name"] === "tasks" ? read * node["Actual Loops"] : 0;
  return (node.Plans ?? []).reduce((sum, next) => sum + rowsOf(next), own);
}
