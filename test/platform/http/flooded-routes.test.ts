import { setImmediate } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type BrowserMember, signInMember } from "../../dashboard/dashboard-server.ts";
import { callExample, readDocument } from "../../harness/api-document.ts";
import { type HeldStatements, holdStatements } from "../../harness/hold-statements.ts";
import { createRecords, type RecordIds } from "../../harness/records.ts";
import { listRoutes } from "../../harness/routes.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";

const CONNECTIONS = 8;
/** More than there are connections. */
const REQUESTS = 12;
/** How long they may take to arrive at the database; those of some routes never do. */
const ARRIVE_MAX_MS = 40;
/** Far beyond what is needed. */
const ANSWER_MAX_MS = 3_000;
/** Each takes as long: these are enough to see that nothing limits a flood. */
const STARVED_MAX = 10;
const ID = "01a1dd11-4aee-7000-adc7-78aca4556f62";

let server: TestServer;
let flooding: { key: string; ids: RecordIds; member: BrowserMember };
let other: { account_id: string; key: string };

beforeAll(async () => {
  const environment = {
    SLIPROAD_DATABASE_CONNECTIONS: String(CONNECTIONS),
    SLIPROAD_SECOND_FACTOR: "optional",
  };
  server = await startTestServer({ environment });
  const { account_id, key } = await server.addAccount("Flooding");
  const email = "flooding@example.test";
  flooding = {
    key,
    ids: await createRecords(server, key),
    member: await signInMember(server, { account_id, role: "admin", email }),
  };
  other = await server.addAccount("Other");
}, 60_000);
afterAll(() => server.close());

type Flood = {
  /** Whether any of its requests needed the database. */
  is_held: boolean;
  /** The answer that the other account got meanwhile. */
  answered: number | "nothing";
};

/** The database answers nothing to many requests; then another account sends a simple one. */
async function flood(send: () => Promise<unknown>): Promise<Flood> {
  // Keys that were used a moment ago are not looked up again.
  for (const { key } of [flooding, other]) await read(key);
  const held = holdStatements(other.account_id);
  try {
    let answers = 0;
    const sent = Array.from({ length: REQUESTS }, async () => {
      await send();
      answers += 1;
    });
    await arrive(held, () => answers);
    const answered = await read(other.key);
    const is_held = held.connections() > 0;
    held.letGo();
    await Promise.all(sent);
    return { is_held, answered };
  } finally {
    held.letGo();
  }
}

async function arrive(held: HeldStatements, countAnswers: () => number): Promise<void> {
  const until_ms = performance.now() + ARRIVE_MAX_MS;
  const { database } = server.core;
  const count = () => held.connections() + database.pool().waiting + countAnswers();
  while (count() < REQUESTS && performance.now() < until_ms) await setImmediate();
}

async function read(key: string): Promise<Flood["answered"]> {
  const headers = { authorization: `Bearer ${key}` };
  const signal = AbortSignal.timeout(ANSWER_MAX_MS);
  const answer = await fetch(`${server.url}/users?limit=1`, { headers, signal }).catch(() => null);
  await answer?.text();
  return answer?.status ?? "nothing";
}

/** Streams never end: their beginning is enough. */
async function visit(method: string, path: string, headers: Record<string, string>): Promise<void> {
  const has_body = /POST|PUT|PATCH/.test(method);
  const answer = await fetch(`${server.url}${path.replaceAll(/:\w+|\*/g, ID)}`, {
    method,
    headers: { ...headers, ...(has_body ? { "content-type": "application/json" } : {}) },
    ...(has_body ? { body: "{}" } : {}),
    redirect: "manual",
  });
  await answer.body?.cancel();
}

/** Floods each; returns those that kept the other account waiting, and counts the effective ones. */
async function floodAll<Route>(
  routes: readonly Route[],
  nameOf: (route: Route) => string,
  send: (route: Route) => Promise<unknown>,
): Promise<{ starved: string[]; held: number }> {
  const starved: string[] = [];
  let held = 0;
  for (const route of routes) {
    const { is_held, answered } = await flood(() => send(route));
    if (answered !== 200) starved.push(`${nameOf(route)}: ${answered}`);
    if (is_held) held += 1;
    if (starved.length === STARVED_MAX) break;
  }
  return { starved, held };
}

it("an account that floods any operation of the API does not keep another one waiting", async () => {
  const { operations } = readDocument(server.app.server);
  const { key, ids } = flooding;
  const { starved, held } = await floodAll(
    operations,
    ({ name }) => name,
    (operation) => callExample(server, key, operation, ids),
  );
  expect(starved).toEqual([]);
  expect(held).toBeGreaterThan(operations.length / 2);
}, 300_000);

/** Every route but the pages of the documentation, which are all served in the same way. */
const listFlooded = () =>
  listRoutes(server.app.server).filter(({ path }) => !/^\/(docs|assets)\/./.test(path));
const nameOf = ({ method, path }: { method: string; path: string }) => `${method} ${path}`;

it("nor does somebody with made-up credentials, at any route", async () => {
  const routes = listFlooded();
  expect(routes.length).toBeGreaterThan(150);
  let made_up = 0;
  const { starved, held } = await floodAll(routes, nameOf, ({ method, path }) => {
    made_up += 1;
    const token = String(made_up).padStart(76, "x");
    return visit(method, path.replaceAll(":token", token.slice(-43)), {
      authorization: `Bearer ${token}`,
      cookie: `sliproad_session=${token}`,
    });
  });
  expect(starved).toEqual([]);
  expect(held).toBeGreaterThan(routes.length / 2);
}, 300_000);

it("nor does a member who is signed in, at any page", async () => {
  const { visitor } = flooding.member;
  const cookie = [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  const headers = { cookie, "x-csrf-token": visitor.csrf };
  const operations = readDocument(server.app.server).operations.map(({ path }) => path);
  const is_operation = new Set(operations.map((path) => path.replaceAll(/\{(\w+)\}/g, ":$1")));
  const routes = listFlooded().filter(
    ({ method, path }) =>
      path.startsWith("/dashboard/api/") || (method === "GET" && !is_operation.has(path)),
  );
  const { starved, held } = await floodAll(routes, nameOf, ({ method, path }) =>
    visit(method, path, headers),
  );
  expect(starved).toEqual([]);
  expect(held).toBeGreaterThan(routes.length / 2);
}, 300_000);
