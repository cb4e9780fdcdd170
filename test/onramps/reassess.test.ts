import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { onrampTasks } from "../../src/onramps/tasks.ts";
import { observeStatements } from "../../src/platform/db/observe.ts";
import type { TaskSet } from "../../src/platform/tasks/task-set.ts";
import type { Task } from "../../src/platform/tasks/tasks.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { openStory } from "../offramps/story.ts";

const WAITING = 1_500;
const CHANGES = 20;

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ without_worker: true });
});
afterAll(() => server?.close());

/** A user with so many payouts that a gate holds, each with a task that is due in an hour. */
async function openWaiting(): Promise<string> {
  const { user_id, quote_id } = await openStory(server);
  const { database } = server.db;
  await database.query(
    `with waiting as (
       insert into offramps select made.* from offramps o, generate_series(1, $2::int) as n,
         lateral jsonb_populate_record(o, jsonb_build_object('id', gen_random_uuid(), 'n', n,
           'status', case when n % 2 = 0 then 'ongoing_checks' else 'sending_fiat' end)) as made
       where o.quote_id = $1 returning account_id, id)
     insert into tasks (account_id, id, kind, record_id, due_at, created_at)
     select account_id, gen_random_uuid(), 'assess-offramp', id, $3, $3 from waiting`,
    [quote_id, WAITING, new Date(server.core.clock.now().getTime() + 3_600_000)],
  );
  return user_id;
}

async function countDue(): Promise<number> {
  const [row] = await server.db.database.query<{ count: number }>(
    "select count(*)::int as count from tasks where kind = 'assess-offramp' and due_at <= $1",
    [server.core.clock.now()],
  );
  return row!.count;
}

/** The set of tasks that changes of the user's payment details leave; which of them it ended. */
async function reassess(user_id: string): Promise<{ ended: number; statements: number }> {
  const { database } = server.core;
  const handler = onrampTasks({ database } as never).find(({ kind }) => kind === "reassess-user")!;
  const tasks = Array.from({ length: CHANGES }, () => {
    return { account_id: server.account_id, record_id: user_id, id: randomUUID() } as Task;
  });
  const ended = new Set<Task>();
  const set = {
    tasks,
    now: server.core.clock.now(),
    lock: async (_tx: unknown, wanted: readonly Task[] = tasks) => wanted,
    finish: (_tx: unknown, done: readonly Task[]) => {
      for (const task of done) ended.add(task);
    },
  };
  let statements = 0;
  observeStatements(({ text }) => {
    if (/^update tasks set due_at/.test(text)) statements += 1;
  });
  try {
    await handler.handle(set as unknown as TaskSet);
  } finally {
    observeStatements(undefined);
  }
  return { ended: ended.size, statements };
}

/*
 * For each change all payouts of the user were made due, in one transaction: 200 changes of a user
 * with 5,000 payouts that waited took two seconds, in which nobody else's payouts were looked at.
 */
it("a user's payouts are made due once, in parts, however often the user changes", async () => {
  const user_id = await openWaiting();
  const { ended, statements } = await reassess(user_id);
  expect(ended).toBe(CHANGES);
  expect(await countDue()).toBe(WAITING);
  expect(statements).toBeLessThanOrEqual(3);
});
