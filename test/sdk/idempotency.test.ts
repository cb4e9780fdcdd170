import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Sliproad } from "@sliproad/sdk";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type CuttingProxy, startCuttingProxy } from "../harness/cutting-proxy.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";

/** Connects to the database directly; the other one connects through the proxy. */
let direct: TestServer;
let proxy: CuttingProxy;
let behind: TestServer;
beforeAll(async () => {
  direct = await startTestServer();
  proxy = await startCuttingProxy(direct.db.url);
  const db = { ...direct.db, url: proxy.url };
  behind = await startTestServer({ beside: { ...direct, db } });
});
afterAll(async () => {
  await behind.close();
  await proxy.close();
  await direct.close();
});

let addresses = 0;
function newUser() {
  addresses += 1;
  const email = `cut${addresses}@example.com`;
  const name = { first_name: "Ana", last_name: "Invented" };
  return { beneficiary_type: "individual" as const, email, ...name };
}

/** The ids of users with this e-mail, read through the direct connection. */
async function listIds(email: string): Promise<string[]> {
  const sliproad = new Sliproad({ baseUrl: direct.url, apiKey: direct.key });
  const ids: string[] = [];
  for await (const user of sliproad.users.list()) if (user.email === email) ids.push(user.id);
  return ids;
}

it("a response lost between service and client is requested again and creates one record", async () => {
  const losing = await startLosingProxy(direct.url, 2);
  try {
    const sliproad = new Sliproad({ baseUrl: losing.url, apiKey: direct.key });
    const user = await sliproad.users.create(newUser());
    expect(losing.replayed()).toEqual([null, "true", "true"]);
    expect(await listIds(user.email)).toEqual([user.id]);
  } finally {
    await losing.close();
  }
});

it("a failed call repeated with its key, even by another client, creates one record", async () => {
  const losing = await startLosingProxy(direct.url, 1);
  try {
    const wanted = newUser();
    const first = new Sliproad({ baseUrl: losing.url, apiKey: direct.key, retries_max: 0 });
    const error = await first.users.create(wanted).catch((thrown) => thrown);
    expect(error.error_code).toBe("connection_failed");
    const { idempotency_key } = error;
    const second = new Sliproad({ baseUrl: direct.url, apiKey: direct.key });
    const user = await second.users.create(wanted, { idempotency_key });
    expect(await listIds(wanted.email)).toEqual([user.id]);
  } finally {
    await losing.close();
  }
});

it.each(["lose_statement", "lose_commit", "lose_answer"] as const)(
  "a lost database connection (%s) leaves one record",
  async (how) => {
    const sliproad = new Sliproad({ baseUrl: behind.url, apiKey: behind.key, retries_max: 5 });
    // On new connections every statement is sent as text, which the proxy recognises.
    proxy.goDown();
    proxy.comeUp();
    const before = proxy.cuts();
    proxy.spoil({ matches: (statement) => statement.includes("insert into users"), how });
    const user = await sliproad.users.create(newUser());
    expect(proxy.cuts()).toBe(before + 1);
    expect(await listIds(user.email)).toEqual([user.id]);
  },
);

/** Forwards requests and drops the first responses of the service. */
async function startLosingProxy(target: string, losses: number) {
  const replayed: (string | null)[] = [];
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray());
    const { host: _, connection: __, "content-length": ___, ...headers } = request.headers;
    const answer = await fetch(`${target}${request.url}`, {
      method: request.method!,
      headers: headers as Record<string, string>,
      ...(body.length > 0 ? { body } : {}),
    });
    const text = await answer.text();
    replayed.push(answer.headers.get("idempotent-replayed"));
    if (replayed.length <= losses) request.socket.resetAndDestroy();
    else response.writeHead(answer.status, { "content-type": "application/json" }).end(text);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    replayed: () => replayed,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
