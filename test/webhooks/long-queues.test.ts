import { randomUUID } from "node:crypto";
import { once } from "node:events";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import type { SandboxClock } from "../../src/platform/clock.ts";
import { type ObservedStatement, observeStatements } from "../../src/platform/db/observe.ts";
import { SECOND_MS } from "../../src/platform/durations.ts";
import { LongQueues, type SearchResult } from "../../src/webhooks/delivery/long-queues.ts";
import { LOOKED_AT_MAX } from "../../src/webhooks/delivery/search-store.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";
import { addApp, advance, emit, MINUTE_MS } from "./webhook-fixture.ts";

/** Records whose first event is refused: fewer than refusals in a row that open the circuit. */
const RECORDS = 4;
const EVENTS = 130;
const WAITING = RECORDS * (EVENTS - 1);

let server: TestServer;
let app_id: string;
let got: string[] = [];
let refused = new Set<string>();
const receiver = http.createServer((request, response) => {
  const chunks: Buffer[] = [];
  request
    .on("data", (chunk: Buffer) => chunks.push(chunk))
    .on("end", () => {
      const { invoice } = JSON.parse(Buffer.concat(chunks).toString());
      const event = `${invoice.id} ${request.headers["x-webhook-sequence"]}`;
      if (!refused.has(event)) got.push(event);
      response.writeHead(refused.has(event) ? 500 : 200).end();
    });
});

beforeAll(async () => {
  receiver.listen(0, "127.0.0.1");
  await once(receiver, "listening");
});
afterEach(async () => {
  observeStatements(undefined);
  await server?.close();
});
afterAll(() => {
  receiver.closeAllConnections();
  receiver.close();
});

/** The endpoint refuses the first event of these records only, and its circuit stays closed. */
async function addWaiting(): Promise<string[]> {
  server = await startTestServer();
  const { port } = receiver.address() as AddressInfo;
  app_id = (await addApp(server, { webhook_url: `http://127.0.0.1:${port}/` })).id;
  got = [];
  const record_ids = Array.from({ length: RECORDS }, () => randomUUID());
  refused = new Set(record_ids.map((record_id) => `${record_id} 1`));
  const events = record_ids.flatMap((record_id) => [
    ...Array.from({ length: EVENTS }, (_, at) => ({ record_id, sequence: at + 1 })),
    { record_id: randomUUID() },
  ]);
  await emit(server, ...events);
  await waitFor(async () => got.length === RECORDS && (await countQueued()) === RECORDS + WAITING);
  // After the second attempt the next one is five minutes later.
  await advance(server, 7 * SECOND_MS);
  await sendOne();
  await waitFor(async () => (await countQueued()) === RECORDS + WAITING);
  return record_ids;
}

async function countQueued(): Promise<number> {
  const [row] = await server.core.database.query<{ count: number }>(
    "select count(*)::integer as count from webhook_queue",
  );
  return row!.count;
}

async function sendOne(): Promise<void> {
  const record_id = randomUUID();
  await emit(server, { record_id });
  await waitFor(() => got.includes(`${record_id} 1`));
}

type PlanNode = {
  "Actual Rows": number;
  "Actual Loops": number;
  "Rows Removed by Filter"?: number;
  Alias?: string;
  Plans?: PlanNode[];
};

/** How many entries the page looked at. */
async function countLookedAt({ text, values }: ObservedStatement): Promise<number> {
  const rows = await server.core.database.query<{ "QUERY PLAN": [{ Plan: PlanNode }] }>(
    `explain (analyze, format json) ${text}`,
    values,
  );
  const countOf = (node: PlanNode): number => {
    const read =
      (node["Actual Rows"] + (node["Rows Removed by Filter"] ?? 0)) * node["Actual Loops"];
    return (node.Plans ?? []).reduce(
      (sum, next) => sum + countOf(next),
      node.Alias === "w" ? read : 0,
    );
  };
  return countOf(rows[0]!["QUERY PLAN"][0].Plan);
}

it("what waits for refused events is not looked at again for each delivery", async () => {
  await addWaiting();
  // Entries are looked at again until their due time is some seconds ago.
  await advance(server, 20 * SECOND_MS);
  await sendOne();
  const begun_ms = performance.now();
  const pages: ObservedStatement[] = [];
  observeStatements((statement) => {
    if (statement.text.includes("has_next")) pages.push(statement);
  });
  for (let sent = 0; sent < 30; sent += 1) await sendOne();
  observeStatements(undefined);
  const looks = 1 + Math.floor((performance.now() - begun_ms) / (5 * SECOND_MS));
  let looked_at = 0;
  for (const page of pages) looked_at += await countLookedAt(page);
  expect(pages.length).toBeGreaterThanOrEqual(30);
  expect(looked_at).toBeLessThan((looks + 1) * WAITING);
}, 60_000);

it("what waited arrives in order once the refused events do", async () => {
  const record_ids = await addWaiting();
  for (let sent = 0; sent < 3; sent += 1) await sendOne();
  refused.clear();
  // As the sandbox's clock is moved, without waiting until all is done.
  const clock = server.core.clock as unknown as SandboxClock;
  await clock.advance(6 * MINUTE_MS);
  const ofRecord = (id: string) => got.filter((event) => event.startsWith(id));
  // Of each record one after the other: all of them would take long.
  const isEnough = () => record_ids.every((id) => ofRecord(id).length >= 25);
  await waitFor(isEnough, 60_000);
  for (const id of record_ids) {
    const own = ofRecord(id);
    expect(own).toEqual(own.map((_, at) => `${id} ${at + 1}`));
  }
}, 120_000);

it("what another process left behind is found within seconds", async () => {
  const [record_id] = await addWaiting();
  for (let sent = 0; sent < 3; sent += 1) await sendOne();
  // It gave up the first event and was stopped before the second.
  const { database } = server.core;
  const [head] = await database.query<{ id: string }>(
    `delete from webhook_queue where record_id = $1 and sequence = 1 returning delivery_id as id`,
    [record_id],
  );
  await database.query(
    "update webhook_deliveries set status = 'skipped', next_attempt_at = null where id = $1",
    [head!.id],
  );
  await waitFor(() => got.includes(`${record_id} ${EVENTS}`), 20_000);
}, 60_000);

it("an application without order gets at once what waited", async () => {
  const record_ids = await addWaiting();
  for (let sent = 0; sent < 3; sent += 1) await sendOne();
  const changed = await server.call("PATCH", `/apps/${app_id}`, { app: { is_ordered: false } });
  expect(changed.status).toBe(200);
  await waitFor(async () => (await countQueued()) === RECORDS, 4 * SECOND_MS);
  for (const record_id of record_ids) expect(got).toContain(`${record_id} ${EVENTS}`);
  await server.call("PATCH", `/apps/${app_id}`, { app: { is_ordered: true } });
}, 60_000);

const FOUND: SearchResult = {
  start: { after: null, is_long: true, record_ids: [] },
  ...{ looked_at: 0, sent_until: new Date(), reached: null, left: [], all_wait: true },
};

it("the long queues of an account are looked at from their start for a twentieth of the time", () => {
  let now_ms = 0;
  const queues = new LongQueues(() => now_ms);
  const account_id = "greedy";
  const apps = Array.from({ length: 20 }, (_, at) => ({ account_id, id: `${at}` }));
  const other = { account_id: "other", id: "other" };
  for (const app of [...apps, other]) queues.ended(app, FOUND);
  const looked = { greedy: 0, other: 0 };
  for (; now_ms < 600 * SECOND_MS; now_ms += 1_000) {
    for (const app of [...apps, other]) {
      const start = queues.begin(app);
      const is_own = app.account_id === account_id;
      const looked_at = start.after === null ? (is_own ? 5 : 1) * LOOKED_AT_MAX : 0;
      looked[is_own ? "greedy" : "other"] += looked_at;
      queues.ended(app, { ...FOUND, start, looked_at });
    }
  }
  // At 5 µs each.
  expect(looked.greedy * 0.005).toBeLessThan(0.06 * now_ms);
  expect(looked.other).toBeGreaterThan(100 * LOOKED_AT_MAX);
});

it("a search that is always stopped goes on where it was, with what it had not sent", () => {
  const now_ms = 0;
  const queues = new LongQueues(() => now_ms);
  const app = { account_id: "a", id: "app" };
  const stop = (result: Partial<SearchResult>) => {
    const start = queues.begin(app);
    queues.ended(app, { ...FOUND, start, sent_until: null, ...result });
    return start;
  };
  stop({});
  const reached = { due_at: "2026-11-19 03:00:00+00", id: randomUUID() };
  const left = [randomUUID()];
  expect(stop({ reached, left })).toEqual({ after: null, is_long: true, record_ids: [] });
  expect(stop({ all_wait: null })).toEqual({ after: reached, is_long: true, record_ids: left });
  expect(stop({ all_wait: false })).toEqual({ after: reached, is_long: true, record_ids: [] });
  queues.ended(app, { ...FOUND, all_wait: false });
  expect(queues.begin(app).is_long).toBe(false);
});
