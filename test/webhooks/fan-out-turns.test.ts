import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { sealAll, signingKey } from "../../src/platform/sealing/seal.ts";
import { signingSeed } from "../../src/platform/sealing/signing-seed.ts";
import type { TaskSet } from "../../src/platform/tasks/task-set.ts";
import type { Task } from "../../src/platform/tasks/tasks.ts";
import { fanOutTask } from "../../src/webhooks/fan-out.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { addApp, emit } from "./webhook-fixture.ts";

const BLOCK = 1_000;
const APPS = 10;

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ without_worker: true });
});
afterAll(() => server?.close());

/** One turn of each; returns which have more to do. */
async function turn(...account_ids: string[]): Promise<Record<string, string>> {
  const tasks = account_ids.map((account_id) => ({ account_id }) as Task);
  const ended: Record<string, string> = {};
  const end = (how: string) => (_tx: unknown, tasks: readonly Task[]) => {
    for (const { account_id } of tasks) ended[account_id] = how;
  };
  const set = { tasks, lock: async () => tasks, finish: end("done"), repeat: end("more") };
  const { database, clock, config } = server.core;
  const log = { info: () => {}, warn: () => {}, error: () => {} };
  const signing_key = signingKey(signingSeed(config));
  const deps = { database, clock, log, signing_key, wakeDeliveries: () => {} };
  await fanOutTask(deps, 0).handle(set as unknown as TaskSet);
  return ended;
}

async function placed(account_id: string): Promise<number> {
  const [row] = await server.core.database.query<{ count: number }>(
    "select count(*)::int as count from event_positions where account_id = $1",
    [account_id],
  );
  return row!.count;
}

it("an account with many events has its turn, then the others: nobody waits for its end", async () => {
  const many = (await server.addAccount("Many events")).account_id;
  const few = (await server.addAccount("Few events")).account_id;
  await emit(server, ...Array.from({ length: 2 * BLOCK + 1 }, () => ({ account_id: many })));
  await emit(server, { account_id: few });
  expect(await turn(many, few)).toEqual({ [many]: "more", [few]: "more" });
  expect([await placed(many), await placed(few)]).toEqual([BLOCK, 1]);
  expect(await turn(few)).toEqual({ [few]: "done" });
  expect(await turn(many)).toEqual({ [many]: "more" });
  expect(await turn(many)).toEqual({ [many]: "more" });
  expect(await turn(many)).toEqual({ [many]: "done" });
  expect(await placed(many)).toBe(2 * BLOCK + 1);
});

it("a turn ends by the number of deliveries, and a record's events stay in order", async () => {
  const { account_id, key } = await server.addAccount("Many applications");
  const { database } = server.core;
  await database.query("update accounts set webhooks_enabled_at = created_at where id = $1", [
    account_id,
  ]);
  const webhook_url = "https://receiver.test/hooks";
  for (let at = 0; at < APPS; at += 1) await addApp(server, { webhook_url }, key);
  // All events in one block; the last by id is the first of their record.
  const record_id = randomUUID();
  const others = Array.from({ length: 148 }, () => ({ account_id }));
  const own = [3, 2, 1].map((sequence) => ({ account_id, record_id, sequence }));
  await emit(server, own[0]!, ...others, own[1]!, ...others, own[2]!);
  const counts: number[] = [];
  while ((await turn(account_id))[account_id] === "more") counts.push(await placed(account_id));
  expect(counts).toEqual([100, 200, 299]);
  const [row] = await database.query(
    `select (select count(*)::int from webhook_deliveries where account_id = $1) as deliveries,
       (select max(position)::int from event_positions where account_id = $1) as last,
       (select array_agg(e.sequence order by p.position) from event_positions p
        join events e on e.account_id = p.account_id and e.id = p.event_id
        where e.account_id = $1 and e.record_id = $2) as sequences`,
    [account_id, record_id],
  );
  expect(row).toEqual({ deliveries: 299 * APPS, last: 299, sequences: [1, 2, 3] });
});

it("events are sealed a few thousand in a turn, and the rest is not forgotten", async () => {
  const { account_id } = await server.addAccount("Very many events");
  for (let at = 0; at < 6; at += 1) {
    await emit(server, ...Array.from({ length: BLOCK }, () => ({ account_id })));
  }
  expect(await turn(account_id)).toEqual({ [account_id]: "more" });
  expect(await countBlocks(account_id)).toBe(5);
  let turns = 1;
  while ((await turn(account_id))[account_id] === "more") turns += 1;
  expect(turns).toBeLessThan(10);
  expect(await placed(account_id)).toBe(6 * BLOCK);
});

/*
 * Each turn sealed what was new and handed over one block: on a busy machine an account that was
 * ten blocks behind stayed ten blocks behind, and its webhooks came half a minute late.
 */
it("what is sealed is handed over before more is sealed", async () => {
  const { account_id } = await server.addAccount("Behind");
  const { database, config, clock } = server.core;
  const key = signingKey(signingSeed(config));
  for (let block = 1; block <= 3; block += 1) {
    await emit(server, { account_id });
    await sealAll(database, key, clock.now());
  }
  const before = await countBlocks(account_id);
  for (let turns = 1; turns <= 3; turns += 1) {
    await emit(server, { account_id });
    expect(await turn(account_id)).toEqual({ [account_id]: "more" });
    expect([await countBlocks(account_id), await placed(account_id)]).toEqual([before, turns]);
  }
  while ((await turn(account_id))[account_id] === "more");
  expect([await countBlocks(account_id), await placed(account_id)]).toEqual([before + 1, 6]);
});

async function countBlocks(account_id: string): Promise<number> {
  const [row] = await server.core.database.query<{ count: number }>(
    "select count(*)::int as count from seal_blocks where account_id = $1 and log = 'events'",
    [account_id],
  );
  return row!.count;
}
