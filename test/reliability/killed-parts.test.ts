import pg from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
import { runProposalKind } from "../../src/approvals/model.ts";
import { DELIVER_TASK } from "../../src/apps/model.ts";
import { PAY_QUOTE } from "../../src/offramps/quotes/late-payees.ts";
import { CLEAR_TRACES_TASK } from "../../src/retention/record-erasure.ts";
import { SKIPPED_AT_ONCE } from "../../src/webhooks/delivery/skip-store.ts";
import { addMember, showProposal } from "../approvals/proposal-fixture.ts";
import { startCommand } from "../harness/command-line.ts";
import { eraseUser } from "../harness/erase-user.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";
import { good, openStory } from "../offramps/story.ts";
import { addApp, type EventInput, emit } from "../webhooks/webhook-fixture.ts";

/*
 * Work that is done in parts, in a worker process that is killed while a part waits for a lock: the
 * parts before it are committed, this one is not. Another process does the rest.
 */

const REFUSING_URL = "http://127.0.0.1:9/";
const STEP_MAX_MS = 60_000;
/** One more than is described with the command. */
const PAYOUTS = 501;
const environment = { SLIPROAD_APPROVAL_ABOVE_USD: "100", SLIPROAD_DOCUMENTS: "never" };

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ environment, without_worker: true });
});
afterAll(() => server.close());

it("what is pending for a deleted application is skipped", { timeout: 180_000 }, async () => {
  const { id: app_id } = await addApp(server, { webhook_url: REFUSING_URL });
  const queued = 3 * SKIPPED_AT_ONCE + 1;
  const queue = () =>
    query<{ delivery_id: string }>(
      `select delivery_id from webhook_queue where app_id = $1 order by due_at, delivery_id`,
      [app_id],
    );
  await emit(server, ...Array<EventInput>(queued).fill({}));
  await withWorker(() => waitFor(async () => (await queue()).length === queued, STEP_MAX_MS));
  await query("update webhook_queue set due_at = due_at + interval '1 hour' where app_id = $1", [
    app_id,
  ]);
  good(await server.call("POST", `/apps/${app_id}/delete`));
  const skipped = () =>
    query<{ id: string; updated_at: Date; reason: string }>(
      `select id, updated_at, reason from webhook_deliveries
       where app_id = $1 and status = 'skipped' order by id`,
      [app_id],
    );
  const of_third_part = (await queue())[2 * SKIPPED_AT_ONCE + 10]!.delivery_id;
  let before: Awaited<ReturnType<typeof skipped>> = [];
  await killWhileWaiting(
    ["select from webhook_deliveries where id = $1 for update", [of_third_part]],
    "%delete from webhook_queue%",
    async () => {
      before = await skipped();
      expect(before).toHaveLength(2 * SKIPPED_AT_ONCE);
      expect(await queue()).toHaveLength(queued - 2 * SKIPPED_AT_ONCE);
    },
  );
  await withWorker(() =>
    waitFor(
      async () => (await skipped()).length === queued && !(await hasTask(app_id, DELIVER_TASK)),
      STEP_MAX_MS,
    ),
  );
  const after = await skipped();
  expect(new Set(after.map(({ reason }) => reason))).toEqual(
    new Set(["The application was deleted."]),
  );
  // What was skipped before the end of the first process was left alone.
  const times = new Map(after.map(({ id, updated_at }) => [id, updated_at]));
  for (const { id, updated_at } of before) expect(times.get(id)).toEqual(updated_at);
  expect(await queue()).toEqual([]);
});

it("references of an erased person are all cleared", { timeout: 180_000 }, async () => {
  const { user_id, quote_id } = await openStory(server, [{ amount: 10 }]);
  await query(
    `insert into offramps select made.* from offramps o, generate_series(1, 250) as n,
       lateral jsonb_populate_record(o, jsonb_build_object('id', gen_random_uuid(), 'n', n)) as made
     where o.quote_id = $1`,
    [quote_id],
  );
  await query(
    `update offramps set status = 'failed', reference_index = uuid_send(id) where user_id = $1`,
    [user_id],
  );
  const left = () =>
    query<{ id: string }>(
      `select id from offramps where user_id = $1 and reference_index is not null order by id`,
      [user_id],
    );
  const of_second_part = (await left())[150]!;
  await eraseUser(server.core, { account_id: server.account_id, user_id });
  expect(await left()).toHaveLength(251);
  await killWhileWaiting(
    ["select from offramps where id = $1 for update", [of_second_part.id]],
    "%update offramps set reference_index%",
    async () => expect(await left()).toHaveLength(151),
  );
  await withWorker(() =>
    waitFor(
      async () => (await left()).length === 0 && !(await hasTask(user_id, CLEAR_TRACES_TASK)),
      STEP_MAX_MS,
    ),
  );
});

it("a proposal of many payouts is described after all", { timeout: 240_000 }, async () => {
  const member = await addMember(server, "admin");
  await addMember(server, "approver");
  const story = await openStory(server, Array(500).fill({ amount: 1 }));
  good(await story.add(story.quote_id, Array(PAYOUTS - 500).fill({ amount: 2 })));
  const { proposal_id: id } = good(await story.execute()).approval;
  const detail = async (wanted: string) => {
    const { details } = await showProposal(server, id);
    return details.find(({ label }: { label: string }) => label === wanted)?.value;
  };
  await killWhileWaiting(
    ["select from proposals where id = $1 for update", [id]],
    "select id from proposals where%for no key update",
    async () => expect(await detail("To")).toBe("Its payouts are still being listed."),
  );
  expect(await hasTask(id, runProposalKind(PAY_QUOTE))).toBe(true);
  await withWorker(() =>
    waitFor(async () => !(await hasTask(id, runProposalKind(PAY_QUOTE))), STEP_MAX_MS),
  );
  expect(await detail("To")).toMatch(/: 2 eur by local/);
  expect(await query("select from proposals where record_id = $1", [story.quote_id])).toHaveLength(
    1,
  );
  expect((await member.confirm(id)).statusCode).toBe(200);
});

function query<Row>(text: string, values: readonly unknown[]): Promise<Row[]> {
  return server.db.database.query<Row>(text, values);
}

async function hasTask(record_id: string, kind: string): Promise<boolean> {
  const found = await query("select from tasks where record_id = $1 and kind = $2", [
    record_id,
    kind,
  ]);
  return found.length > 0;
}

function startWorker() {
  return startCommand(["worker"], {
    ...environment,
    DATABASE_URL: server.db.url,
    SLIPROAD_DATA_DIR: server.data_dir,
    SLIPROAD_LOG_LEVEL: "silent",
    SLIPROAD_WORKER_PORT: "0",
  });
}

/** Kills a worker as soon as one of its statements like this waits for the lock. */
async function killWhileWaiting(
  [lock, values]: [string, unknown[]],
  statement: string,
  check: () => Promise<void>,
): Promise<void> {
  const client = new pg.Client(server.db.url);
  await client.connect();
  const waiting = () =>
    query(
      `select from pg_stat_activity where datname = current_database()
         and wait_event_type = 'Lock' and query like $1`,
      [statement],
    );
  try {
    await client.query("begin");
    await client.query(lock, values);
    const worker = startWorker();
    try {
      await waitFor(async () => (await waiting()).length > 0, STEP_MAX_MS);
    } finally {
      worker.child.kill("SIGKILL");
      await worker.ended;
    }
    await check();
  } finally {
    await client.end();
  }
  await waitFor(async () => (await waiting()).length === 0, STEP_MAX_MS);
  // As if half a minute had passed: the dead worker's leases are not renewed.
  await query("update tasks set leased_until = leased_until - interval '1 minute'", []);
}

async function withWorker(work: () => Promise<unknown>): Promise<void> {
  const worker = startWorker();
  try {
    await work();
  } finally {
    worker.child.kill("SIGKILL");
    await worker.ended;
  }
}
