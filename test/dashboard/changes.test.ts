import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openEventStream } from "../../src/dashboard/changes/event-stream.ts";
import { openChangeWatch, type Told } from "../../src/dashboard/changes/watch-changes.ts";
import { newId } from "../../src/platform/ids.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";
import { type BrowserMember, signInMember } from "./dashboard-server.ts";

let server: TestServer;
let ada: BrowserMember;

beforeAll(async () => {
  server = await startTestServer({ environment: { SLIPROAD_SECOND_FACTOR: "optional" } });
  const { account_id } = server;
  ada = await signInMember(server, { account_id, role: "admin", email: "ada@example.test" });
});

afterAll(() => server.close());

function headersOf({ visitor }: BrowserMember) {
  const cookie = [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  return { cookie, "x-csrf-token": visitor.csrf };
}

/** What the page of this member is told, until it is closed. */
async function openStream(member: BrowserMember) {
  const closing = new AbortController();
  const answer = await fetch(`${server.url}/dashboard/api/changes`, {
    headers: headersOf(member),
    signal: closing.signal,
  });
  const told = { text: "" };
  const read = async () => {
    const decoder = new TextDecoder();
    for await (const part of answer.body!) told.text += decoder.decode(part);
  };
  const ended = read().catch(() => {});
  const { status, headers } = answer;
  return { status, headers, told, ended, close: () => closing.abort() };
}

async function createUser(key: string): Promise<string> {
  const email = `${crypto.randomUUID()}@example.com`;
  const user = { beneficiary_type: "individual", email, first_name: "Ana", last_name: "Sample" };
  return (await server.call("POST", "/users", { user }, { key })).body.user.id;
}

it("an open page is told which records of its account changed, and of no other account", async () => {
  const other = await server.addAccount("other");
  const stream = await openStream(ada);
  expect(stream.status).toBe(200);
  await waitFor(async () => stream.told.text.includes(": open"));
  const [own_id, other_id] = [await createUser(server.key), await createUser(other.key)];
  const kyc = { status: "failed" };
  await server.call("PATCH", `/sandbox/users/${other_id}/kycs`, { kyc }, { key: other.key });
  // Before the first look of the server: a page that was just opened misses nothing.
  await server.call("PATCH", `/sandbox/users/${own_id}/kycs`, { kyc });
  await waitFor(async () => stream.told.text.includes("kyc_update"));
  expect(stream.told.text).toContain(own_id);
  expect(stream.told.text).not.toContain(other_id);
  stream.close();
  await stream.ended;
});

it("what changes after the end of a page that does not read is no error", async () => {
  const errors: Error[] = [];
  const told = Promise.withResolvers<void>();
  const listener = createServer((_request, raw) => {
    const { tell, end } = openEventStream(raw);
    raw.on("error", (error) => errors.push(error));
    // More than the buffers of the network take: the answer cannot end.
    tell("x".repeat(16 * 1024 * 1024));
    end();
    for (const text of ["a", "b"]) tell(text);
    end();
    setTimeout(told.resolve, 100);
  });
  await once(listener.listen(0, "127.0.0.1"), "listening");
  const client = connect((listener.address() as AddressInfo).port, "127.0.0.1").pause();
  client.on("error", () => {}).write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  await told.promise;
  client.destroy();
  listener.close();
  expect(errors).toEqual([]);
});

it("needs a member: an API key is refused", async () => {
  expect((await server.call("GET", "/dashboard/api/changes")).status).toBe(403);
});

it("does not delay the end of the server", async () => {
  const second = await startTestServer({
    beside: server,
    environment: { SLIPROAD_SECOND_FACTOR: "optional" },
  });
  const url = `${second.url}/dashboard/api/changes`;
  const answer = await fetch(url, { headers: headersOf(ada) });
  expect(answer.status).toBe(200);
  const text = answer.text();
  await second.close();
  expect(await text).toBe(": open\n\n");
});

it("has the headers of every answer", async () => {
  const { headers, ended, close } = await openStream(ada);
  expect(headers.get("content-type")).toBe("text/event-stream");
  expect(headers.get("cache-control")).toBe("no-store");
  expect(headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
  expect(headers.get("sliproad-version")).toBe("2026-11-15");
  close();
  await ended;
});

it("a page that is closed before it is answered occupies no stream", async () => {
  const { hostname, port } = new URL(server.url);
  const { cookie, "x-csrf-token": csrf } = headersOf(ada);
  const request =
    "GET /dashboard/api/changes HTTP/1.1\r\nHost: localhost\r\n" +
    `Cookie: ${cookie}\r\nX-CSRF-Token: ${csrf}\r\n\r\n`;
  // More than an account may have open.
  await server.core.database.transaction(async (tx) => {
    await tx.query("lock table sessions in access exclusive mode");
    const answers: ServerResponse[] = [];
    const note = (_request: unknown, answer: ServerResponse) => answers.push(answer);
    server.app.server.server.on("request", note);
    const sockets = Array.from({ length: 60 }, () => connect(Number(port), hostname));
    for (const socket of sockets) socket.write(request);
    await waitFor(async () => answers.length >= sockets.length);
    for (const socket of sockets) socket.destroy();
    await waitFor(async () => answers.every(({ closed }) => closed));
    server.app.server.server.off("request", note);
  });
  await waitFor(async () => server.core.database.pool().waiting === 0);
  const { status, ended, close } = await openStream(ada);
  close();
  await ended;
  expect(status).toBe(200);
});

it("an account with very many changes reads all again; the others do not", async () => {
  const { clock, database } = server.core;
  const [busy, quiet] = [newId(clock.now()), newId(clock.now())];
  const changes = (account_id: string, count: number) =>
    Array.from({ length: count }, () => ({
      ...{ account_id, id: newId(clock.now()), name: "kyc_update" },
      record_id: newId(clock.now()),
    }));
  const answers = [[], [...changes(busy, 200), ...changes(quiet, 1)]];
  const query = async () => answers.shift() ?? [];
  const watch = openChangeWatch({
    ...{ clock, log: { warn() {} } as never },
    database: { ...database, query: query as typeof database.query },
  });
  const told: Record<string, Told[]> = { [busy]: [], [quiet]: [] };
  for (const account_id of [busy, quiet]) {
    watch.watch(account_id, (change) => told[account_id]!.push(change));
  }
  await waitFor(async () => told[quiet]!.length > 0);
  watch.close();
  expect(told[busy]).toEqual([null]);
  expect(told[quiet]).toMatchObject([{ account_id: quiet, name: "kyc_update" }]);
});
