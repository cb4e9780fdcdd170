import { createHmac, randomBytes, randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { createSubjectKeys } from "../../src/platform/encryption/keyring.ts";
import { listDueDeliveries } from "../../src/webhooks/delivery/store.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";
import {
  addApp,
  authorise,
  deliveriesOf,
  emit,
  expectQueue,
  idle,
  revoke,
  use,
} from "./webhook-fixture.ts";

type Arrival = { at_ms: number; path: string; raw: Buffer; headers: IncomingMessage["headers"] };

/** Changes by the owner of an endpoint while requests to it are open. */
let server: TestServer;
let receiver: Server;
let url: string;
let arrived: Arrival[];
let answer: (response: ServerResponse, arrival: Arrival) => void;

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(async () => {
  await expectQueue(server);
  await server.close();
});
beforeEach(async () => {
  arrived = [];
  answer = (response) => response.end();
  receiver = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { url: path, headers } = request;
      const at_ms = performance.now();
      const arrival = { at_ms, path: path!, raw: Buffer.concat(chunks), headers };
      arrived.push(arrival);
      answer(response, arrival);
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
});
afterEach(async () => {
  await server.db.database.query("update apps set deleted_at = created_at");
  receiver.closeAllConnections();
  await new Promise((resolve) => receiver.close(resolve));
});

/** The longest a change may take to apply to everything loaded, on a busy machine. */
const SOON_MS = 500;
const many = (count: number) => Array.from({ length: count }, () => ({}));
const webhookOf = async (id: string) => (await server.call("GET", `/apps/${id}`)).body.app.webhook;
const deliveriesTo = (app_id: string) =>
  server.db.database.query<{ status: string; attempts: number }>(
    "select status, attempts from webhook_deliveries where app_id = $1 order by id",
    [app_id],
  );
const answerSlowly = () => {
  answer = (response) => void setTimeout(() => response.end(), 200);
};

async function addSubjects(count: number): Promise<{ subject_id: string; key: Buffer }[]> {
  const { database, keyring, clock } = server.core;
  const { account_id } = server;
  const account_keys = await keyring.openAccounts(database, [{ account_id }]);
  const subjects = Array.from({ length: count }, () => {
    return { account_id, subject_id: randomUUID(), key: randomBytes(32) };
  });
  await database.transaction(async (tx) =>
    createSubjectKeys(tx, account_keys, subjects, clock.now()),
  );
  return subjects;
}

it("events during a pause wait, even if an open request is answered 410", async () => {
  const held: ServerResponse[] = [];
  answer = (response) => void held.push(response);
  const app = await addApp(server, { webhook_url: url });
  await emit(server, {});
  await waitFor(() => held.length === 1);
  await server.call("POST", `/apps/${app.id}/pause`);
  await emit(server, {});
  await waitFor(async () => (await deliveriesTo(app.id)).length === 2);
  held[0]!.writeHead(410).end();
  await idle(server);
  expect((await deliveriesTo(app.id)).map((one) => one.status)).toEqual(["failed", "pending"]);
  expect(await webhookOf(app.id)).toMatchObject({ state: "paused" });
  answer = (response) => response.end();
  await server.call("POST", `/apps/${app.id}/resume`);
  await idle(server);
  expect((await deliveriesTo(app.id)).map((one) => one.status)).toEqual(["failed", "delivered"]);
});

it("a failure of the old URL does not count for the new one", async () => {
  const held: ServerResponse[] = [];
  answer = (response) => void held.push(response);
  const app = await addApp(server, { webhook_url: url });
  await emit(server, {});
  await waitFor(() => held.length === 1);
  await server.call("PATCH", `/apps/${app.id}`, { app: { webhook_url: `${url}/new` } });
  held[0]!.writeHead(500).end();
  await waitFor(async () => (await deliveriesTo(app.id))[0]!.attempts === 1);
  expect(await webhookOf(app.id)).toMatchObject({ failing_since: null, state: "active" });
});

it("a pause stops loaded deliveries, and all of them arrive after resuming", async () => {
  answerSlowly();
  const app = await addApp(server, { webhook_url: url });
  await emit(server, ...many(600));
  await waitFor(() => arrived.length >= 5);
  await server.call("POST", `/apps/${app.id}/pause`);
  const paused_ms = performance.now();
  await idle(server);
  expect(arrived.length).toBeLessThan(600);
  expect(arrived.at(-1)!.at_ms - paused_ms).toBeLessThan(SOON_MS);
  answer = (response) => response.end();
  await server.call("POST", `/apps/${app.id}/resume`);
  await idle(server);
  expect(new Set(arrived.map((one) => one.headers["webhook-id"])).size).toBe(600);
});

it("a new secret and a new URL apply at once to loaded deliveries", async () => {
  answerSlowly();
  const app = await addApp(server, { webhook_url: url });
  await emit(server, ...many(600));
  await waitFor(() => arrived.length >= 5);
  const rotated = await server.call("POST", `/apps/${app.id}/rotate_webhook_secret`, {
    grace_hours: 0,
  });
  const rotated_ms = performance.now();
  const later = (since_ms: number) => arrived.filter((one) => one.at_ms - since_ms > SOON_MS);
  await waitFor(() => later(rotated_ms).length >= 5);
  await server.call("PATCH", `/apps/${app.id}`, { app: { webhook_url: `${url}/new` } });
  const moved_ms = performance.now();
  await waitFor(() => later(moved_ms).length >= 5);
  const key: string = rotated.body.webhook_secret;
  for (const { raw, headers } of later(rotated_ms)) {
    const hex = createHmac("sha256", key).update(raw).digest("hex");
    expect(headers["x-webhook-signature"]).toBe(hex);
  }
  expect(new Set(later(moved_ms).map((one) => one.path))).toEqual(new Set(["/hook/new"]));
});

it("a revoked consent applies to loaded deliveries", async () => {
  answerSlowly();
  const { account_id } = await server.addAccount("Granting");
  const app = await addApp(server, { webhook_url: url });
  await use(server, app.id);
  const person_id = await authorise(server, app.id, account_id);
  await emit(server, ...many(600).map(() => ({ account_id })));
  await waitFor(() => arrived.length >= 5);
  await revoke(server, app.id, account_id, person_id);
  const revoked_ms = performance.now();
  await waitFor(async () => {
    const skipped = (await deliveriesTo(app.id)).filter(({ status }) => status === "skipped");
    return skipped.length === 600 - arrived.length;
  });
  expect(arrived.at(-1)!.at_ms - revoked_ms).toBeLessThan(SOON_MS);
});

it("a revoked consent of its own account applies to loaded deliveries", async () => {
  answerSlowly();
  const { account_id } = server;
  const app = await addApp(server, { webhook_url: url });
  await use(server, app.id);
  const person_id = await authorise(server, app.id, account_id);
  await emit(server, ...many(600));
  await waitFor(() => arrived.length >= 5);
  await revoke(server, app.id, account_id, person_id);
  const revoked_ms = performance.now();
  await waitFor(async () => {
    const skipped = (await deliveriesTo(app.id)).filter(({ status }) => status === "skipped");
    return skipped.length === 600 - arrived.length;
  });
  expect(arrived.at(-1)!.at_ms - revoked_ms).toBeLessThan(SOON_MS);
});

it("an erasure, also by another process, applies to loaded deliveries", async () => {
  answerSlowly();
  const { database } = server.db;
  const { account_id } = server;
  const app = await addApp(server, { webhook_url: url, events: ["kyc_update"] });
  const [gone, stays] = await addSubjects(2);
  const event = { name: "kyc_update", invoice: null } as const;
  await emit(
    server,
    ...many(300).flatMap(() => [gone!, stays!].map((subject) => ({ ...event, subject }))),
  );
  await waitFor(() => arrived.length >= 5);
  await database.transaction(async (tx) => {
    const key = [account_id, gone!.subject_id];
    tx.write("delete from subject_keys where account_id = $1 and subject_id = $2", key);
    tx.write("update installation set erasures = erasures + 1", []);
  });
  const erased_ms = performance.now();
  answer = (response) => response.end();
  await idle(server);
  const gone_ids = new Set(
    (
      await database.query<{ id: string }>("select id from events where subject_id = $1", [
        gone!.subject_id,
      ])
    ).map((row) => row.id),
  );
  const about_gone = arrived.filter((one) => gone_ids.has(one.headers["webhook-id"] as string));
  expect(about_gone.length).toBeLessThan(300);
  expect(about_gone.at(-1)!.at_ms - erased_ms).toBeLessThan(SOON_MS);
  expect(arrived).toHaveLength(300 + about_gone.length);
  const reasons = await database.query<{ reason: string }>(
    "select reason from webhook_deliveries where app_id = $1 and status = 'skipped'",
    [app.id],
  );
  expect(reasons).toHaveLength(300 - about_gone.length);
  expect(reasons[0]!.reason).toBe("The user's data was erased.");
});

it("late responses neither disable nor count for an endpoint that its owner has resumed", async () => {
  const held: ServerResponse[] = [];
  answer = (response) => void held.push(response);
  const app = await addApp(server, { webhook_url: url });
  await emit(server, ...many(8));
  await waitFor(() => held.length === 8);
  held[0]!.writeHead(410).end();
  await waitFor(async () => (await webhookOf(app.id)).state === "disabled");
  await server.call("POST", `/apps/${app.id}/resume`);
  answer = (response) => response.end();
  await emit(server, {});
  for (const response of held.slice(1)) response.writeHead(500).end();
  await idle(server);
  const well = { state: "active", failing_since: null, circuit_until: null };
  expect(await webhookOf(app.id)).toMatchObject(well);
  expect((await deliveriesTo(app.id)).map((one) => one.status)).toEqual([
    "failed",
    ...many(7).map(() => "pending"),
    "delivered",
  ]);
});

it("new events are sent on free slots while one request hangs", async () => {
  const held: ServerResponse[] = [];
  answer = (response, arrival) => {
    if (arrived.indexOf(arrival) === 0) held.push(response);
    else response.end();
  };
  const app = await addApp(server, { webhook_url: url });
  await emit(server, {});
  await waitFor(() => held.length === 1);
  for (let count = 2; count <= 4; count += 1) {
    const begun_ms = performance.now();
    await emit(server, {});
    await waitFor(() => arrived.length === count);
    expect(performance.now() - begun_ms).toBeLessThan(3_000);
  }
  held[0]!.end();
  await idle(server);
  expect(await deliveriesTo(app.id)).toEqual(
    many(4).map(() => ({ status: "delivered", attempts: 1 })),
  );
});

it("a delivery requested again during its request is sent again", async () => {
  const held: ServerResponse[] = [];
  answer = (response) => void held.push(response);
  const app = await addApp(server, { webhook_url: url });
  await emit(server, {});
  await waitFor(() => held.length === 1);
  const id = arrived[0]!.headers["webhook-id"] as string;
  await server.call("POST", `/webhook_events/${id}/redeliver`, {});
  answer = (response) => response.end();
  held[0]!.end();
  await waitFor(() => arrived.length === 2);
  await idle(server);
  expect(arrived.map((one) => one.headers["webhook-id"])).toEqual([id, id]);
  expect(await deliveriesTo(app.id)).toEqual([{ status: "delivered", attempts: 2 }]);
  const [delivery] = await deliveriesOf(server, id);
  expect(delivery.attempts).toMatchObject([
    { number: 1, status: 200 },
    { number: 2, status: 200 },
  ]);
});

it("nothing is read for an endpoint that is paused or has an open circuit", async () => {
  const { database } = server.db;
  const app = await addApp(server, { webhook_url: url });
  await server.call("POST", `/apps/${app.id}/pause`);
  await emit(server, {}, {});
  await idle(server);
  const read = async () => {
    const query = { account_id: server.account_id, app_id: app.id, after: null };
    const limits = { well: 10, failing: 1, bytes: 1_000_000 };
    return (await listDueDeliveries(database, [query], server.core.clock.now(), limits)).length;
  };
  expect(await read()).toBe(0);
  const write = (text: string) => database.query(`update apps set ${text} where id = $1`, [app.id]);
  await write("webhook_state = 'active'");
  expect(await read()).toBe(2);
  await write("failures_in_a_row = 1");
  expect(await read()).toBe(1);
  await write("circuit_until = '2100-01-01'");
  expect(await read()).toBe(0);
});

it("five failures in a row open the circuit, with a success in between they do not", async () => {
  answer = (response) => response.writeHead(500).end();
  const app = await addApp(server, { webhook_url: url });
  for (let sent = 0; sent < 4; sent += 1) {
    await emit(server, {});
    await idle(server);
  }
  expect(await webhookOf(app.id)).toMatchObject({ circuit_until: null });
  answer = (response) => response.end();
  await emit(server, {});
  await idle(server);
  expect(await webhookOf(app.id)).toMatchObject({ failing_since: null });
  answer = (response) => response.writeHead(500).end();
  for (let sent = 0; sent < 5; sent += 1) {
    await emit(server, {});
    await idle(server);
  }
  expect((await webhookOf(app.id)).circuit_until).not.toBeNull();
});

it("a 2xx whose body is cut off is a success", async () => {
  answer = (response) => {
    response.writeHead(200, { "content-length": "100" }).write("half");
    setTimeout(() => response.destroy(), 20);
  };
  const app = await addApp(server, { webhook_url: url });
  await emit(server, {});
  await idle(server);
  expect(await deliveriesTo(app.id)).toEqual([{ status: "delivered", attempts: 1 }]);
  const id = arrived[0]!.headers["webhook-id"] as string;
  const [delivery] = await deliveriesOf(server, id);
  expect(delivery.attempts).toMatchObject([{ status: 200, error: null, answer: "half" }]);
});
