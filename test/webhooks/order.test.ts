import { randomUUID } from "node:crypto";
import { once } from "node:events";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import { MINUTE_MS } from "../../src/platform/durations.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";
import { addApp, advance, emit, expectQueue } from "./webhook-fixture.ts";

const RECORDS = 120;
const EVENTS = 5;
const UNDER_WAY = 64;

type Got = { record_id: string; sequence: number; status: number };

let server: TestServer;
let got: Got[];
let under_way: number;
let most: number;
let begun: Map<string, number>;
let overtaken: Got[];
let held: (() => void)[];
/** Requests are answered once this many are open. */
let hold_until: (answered: number) => number;
let answer: (about: { record_id: string; sequence: number; tries: number }) => number;
const receiver = http.createServer((request, response) => {
  const chunks: Buffer[] = [];
  request
    .on("data", (chunk: Buffer) => chunks.push(chunk))
    .on("end", () => {
      const { invoice } = JSON.parse(Buffer.concat(chunks).toString());
      const sequence = Number(request.headers["x-webhook-sequence"]);
      const record_id: string = invoice.id;
      under_way += 1;
      most = Math.max(most, under_way);
      const tries = got.filter((one) => one.record_id === record_id && one.sequence === sequence);
      const status = answer({ record_id, sequence, tries: tries.length + 1 });
      // Another event of the record is being sent at this moment.
      const other = begun.get(record_id);
      if (other !== undefined) overtaken.push({ record_id, sequence, status });
      begun.set(record_id, sequence);
      const finish = () => {
        under_way -= 1;
        begun.delete(record_id);
        got.push({ record_id, sequence, status });
        response.writeHead(status).end();
      };
      held.push(finish);
      if (held.length < hold_until(got.length)) return;
      // In a different order than the requests.
      for (const release of held.splice(0).reverse()) release();
    });
});

beforeAll(async () => {
  server = await startTestServer();
  receiver.listen(0, "127.0.0.1");
  await once(receiver, "listening");
  const { port } = receiver.address() as AddressInfo;
  await addApp(server, { webhook_url: `http://127.0.0.1:${port}/` });
});
afterAll(async () => {
  await server?.close();
  receiver.closeAllConnections();
  receiver.close();
});

async function emitAll(record_ids: readonly string[]): Promise<void> {
  [got, under_way, most, begun, overtaken, held] = [[], 0, 0, new Map(), [], []];
  const sequences = Array.from({ length: EVENTS }, (_, at) => at + 1);
  // A record's events are adjacent, as after a change with several steps.
  const events = record_ids.flatMap((record_id) =>
    sequences.map((sequence) => ({ record_id, sequence })),
  );
  await emit(server, ...events);
}

const sequencesOf = (record_id: string, of = got) =>
  of.filter((one) => one.record_id === record_id).map((one) => one.sequence);
const ALL = Array.from({ length: EVENTS }, (_, at) => at + 1);

it("with 64 open requests the events of each record arrive one after the other", async () => {
  answer = () => 200;
  // An endpoint starts with 8 requests, and one more after each success.
  hold_until = (answered) => (answered >= RECORDS && most < UNDER_WAY ? UNDER_WAY : 1);
  const record_ids = Array.from({ length: RECORDS }, () => randomUUID());
  await emitAll(record_ids);
  await waitFor(() => got.length >= RECORDS * EVENTS, 60_000);
  expect(overtaken).toEqual([]);
  for (const record_id of record_ids) expect(sequencesOf(record_id)).toEqual(ALL);
  expect(most).toBe(UNDER_WAY);
  await expectQueue(server);
}, 90_000);

it("a failing event delays its record until it is delivered or failed, and no other record", async () => {
  hold_until = () => 1;
  const [late, given_up, ...well] = Array.from({ length: 20 }, () => randomUUID());
  answer = ({ record_id, sequence, tries }) => {
    if (record_id === late && sequence === 2) return tries <= 2 ? 503 : 200;
    return record_id === given_up && sequence === 3 ? 422 : 200;
  };
  await emitAll([late!, given_up!, ...well]);
  await waitFor(() => got.length >= well.length * EVENTS + 5);
  for (const record_id of well) expect(sequencesOf(record_id)).toEqual(ALL);
  expect(sequencesOf(late!)).toEqual([1, 2]);
  expect(sequencesOf(given_up!)).toEqual([1, 2, 3]);
  await advance(server, 6_000);
  expect(sequencesOf(late!)).toEqual([1, 2, 2]);
  await advance(server, 6 * MINUTE_MS);
  expect(sequencesOf(late!)).toEqual([1, 2, 2, 2, 3, 4, 5]);
  // Ten attempts over three days; then it has failed, and the next one is sent.
  await advance(server, 4 * 24 * 60 * MINUTE_MS);
  expect(sequencesOf(given_up!)).toEqual([1, 2, ...Array(10).fill(3), 4, 5]);
  expect(overtaken).toEqual([]);
  await expectQueue(server);
}, 90_000);
