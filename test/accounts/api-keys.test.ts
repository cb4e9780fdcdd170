import { crc32 } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  listApiKeysOfAccount,
  lockApiKey,
  updateApiKeyExpiry,
  updateApiKeyRevoked,
} from "../../src/accounts/api-key-store.ts";
import { createApiKey } from "../../src/accounts/create-api-key.ts";
import { KEY_SCOPE_NAMES, KEY_SCOPES, scopeOf } from "../../src/accounts/key-scopes.ts";
import { makeApiKey } from "../../src/accounts/model.ts";
import {
  compileKeyCheck,
  type KeyRestrictions,
  readKeyScopes,
  readNetworks,
  UNRESTRICTED,
} from "../../src/accounts/restrict-key.ts";
import { rotateApiKey } from "../../src/accounts/rotate-api-key.ts";
import { HOUR_MS } from "../../src/platform/durations.ts";
import { readPage } from "../../src/platform/http/list.ts";
import { callExample, type Operation, readDocument } from "../harness/api-document.ts";
import { createRecords, type RecordIds } from "../harness/records.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";

const BY = { actor: "command line", reason: "test" } as const;

let server: TestServer;
let operations: Operation[];
let own: RecordIds;

beforeAll(async () => {
  server = await startTestServer();
  operations = readDocument(server.app.server).operations;
  own = await createRecords(server, server.key);
});
afterAll(() => server.close());

describe("the scopes of a key", () => {
  it("cover every operation of the API, each once", () => {
    const listed = KEY_SCOPE_NAMES.flatMap((scope) => [...KEY_SCOPES[scope].operations]);
    expect([...listed].sort()).toEqual(operations.map(({ name }) => name).sort());
  });

  it("webhooks changes where events go, not whom people let in with an application", async () => {
    const app = { name: "Web shop", redirect_uris: ["https://shop.example/back"] };
    const { app: created } = (await server.call("POST", "/apps", { app })).body;
    const path = `/apps/${created.id}`;
    const { key } = await addKey({ scopes: ["webhooks"] });
    for (const changed of [{ redirect_uris: ["https://evil.example/back"] }, { name: "Bank" }]) {
      const refused = await server.call("PATCH", path, { app: changed }, { key });
      expect(refused.body).toMatchObject({ status: 403, error_code: "insufficient_scope" });
    }
    const webhook_url = "https://hooks.example.com/sliproad";
    const moved = await server.call("PATCH", path, { app: { webhook_url } }, { key });
    expect(moved.body.app).toMatchObject({ ...app, webhook: { url: webhook_url } });
    const { key: admin } = await addKey({ scopes: ["admin", "webhooks"] });
    const renamed = await server.call("PATCH", path, { app: { name: "Shop" } }, { key: admin });
    expect(renamed.body.app.name).toBe("Shop");
  });

  it.each(KEY_SCOPE_NAMES)("%s permits its own operations and no other", async (scope) => {
    const { key } = await addKey({ scopes: [scope] });
    for (const operation of operations) {
      const answer = await callExample(server, key, operation, own, own);
      const is_refused = answer.body?.error_code === "insufficient_scope";
      // Some operations refuse a key for other reasons, with another message.
      const is_scope = is_refused && answer.body.message.includes("does not have the scope");
      expect(is_scope, `${operation.name} with ${scope}`).toBe(scopeOf(operation.name) !== scope);
    }
  });

  it("of a read key permit no method but GET, except calculations that write nothing", () => {
    const writes = operations.filter(({ name, method }) => {
      return method !== "GET" && scopeOf(name) === "read";
    });
    expect(writes.map(({ name }) => name).sort()).toEqual([
      "calculateConversion",
      "calculateQuoteRate",
      "validatePaymentDetail",
    ]);
  });

  it("are named in the refusal of an unknown one", () => {
    const read = readKeyScopes(["read", "everything"]);
    expect(read).toEqual({ reason: expect.stringContaining("There is no scope everything; use") });
  });
});

describe("the networks of a key", () => {
  it.each([
    [["127.0.0.1"], 200],
    [["127.0.0.0/8"], 200],
    [["10.0.0.0/8", "::1"], 401],
    [["203.0.113.7"], 401],
  ])("%j from 127.0.0.1: %i", async (networks, status) => {
    const { key } = await addKey({ networks });
    const answer = await server.call("GET", "/fees", undefined, { key });
    expect(answer.status, answer.text).toBe(status);
    if (status === 401) expect(answer.body.message).toContain("may not be used from 127.0.0.1");
  });

  it("refuse a proxy's text that is no address, and quote at most 100 characters of it", () => {
    const check = compileKeyCheck({ ...UNRESTRICTED, networks: ["10.0.0.0/8"] });
    const refusal = check({ operation: "listFees", ip: "a".repeat(8_000) });
    expect(refusal?.message).toBe(`This API key may not be used from ${"a".repeat(100)}.`);
  });

  it("are checked before the rate limit: who may not use a key cannot use up its limit", async () => {
    const environment = { SLIPROAD_RATE_LIMIT: "3" };
    const limited = await startTestServer({ beside: server, environment });
    const { key } = await addKey({ networks: ["192.0.2.0/24"] });
    const ask = async (remoteAddress: string) => {
      const headers = { authorization: `Bearer ${key}` };
      return (await limited.app.server.inject({ url: "/fees", headers, remoteAddress })).statusCode;
    };
    for (let sent = 0; sent < 10; sent += 1) expect(await ask("203.0.113.7")).toBe(401);
    expect(await ask("192.0.2.9")).toBe(200);
    await limited.close();
  });

  it("count an IPv4 address that arrives in its IPv6 form", async () => {
    const { app } = server;
    const { key } = await addKey({ networks: ["192.0.2.0/24"] });
    const ask = async (remoteAddress: string) => {
      const headers = { authorization: `Bearer ${key}` };
      return (await app.server.inject({ url: "/fees", headers, remoteAddress })).statusCode;
    };
    expect(await ask("::ffff:192.0.2.9")).toBe(200);
    expect(await ask("::ffff:192.0.3.9")).toBe(401);
    expect(await ask("2001:db8::1")).toBe(401);
  });

  it.each(["1.2.3", "1.2.3.4/33", "::1/129", "1.2.3.4/", "1.2.3.4/8/8", "host.test"])(
    "%s is refused, named",
    (text) => {
      expect(readNetworks(["10.0.0.1", text])).toEqual({ reason: expect.stringContaining(text) });
    },
  );
});

describe("the end of a key", () => {
  it("is the end for reads and for writes", async () => {
    const { key, id } = await addKey({ expires_at: new Date(Date.now() + HOUR_MS) });
    const write = () => server.call("POST", "/apps", { app: { name: "Ends" } }, { key });
    expect((await write()).status).toBe(200);
    await changeKey(id, { expires_at: new Date(Date.now() - 1) });
    // At once for writes, within a second for reads.
    expect((await write()).status).toBe(401);
    await waitFor(async () => {
      return (await server.call("GET", "/fees", undefined, { key })).status === 401;
    });
  });

  it("is not moved by the sandbox clock", async () => {
    const { key } = await addKey({ expires_at: new Date(Date.now() + HOUR_MS) });
    await server.call("POST", "/sandbox/clock", { advance_ms: 48 * HOUR_MS });
    const write = await server.call("POST", "/apps", { app: { name: "Later" } }, { key });
    expect(write.status, write.text).toBe(200);
  });
});

describe("the rotation of a key", () => {
  it("keeps name, scopes and networks, and the old key for the overlap", async () => {
    const { key, id, account_id } = await addKey({ scopes: ["read"], networks: ["127.0.0.1"] });
    const { database, index_key, clock } = server.core;
    const old_ends_at = new Date(Date.now() + HOUR_MS);
    const rotated = await rotateApiKey(
      database,
      index_key,
      { id, mode: "sandbox", old_ends_at, expires_at: null, real_time: new Date(), ...BY },
      clock.now(),
    );
    expect(rotated?.created).toMatchObject({
      account_id,
      name: "restricted",
      scopes: ["read"],
      networks: ["127.0.0.1"],
      expires_at: null,
    });
    expect(rotated?.old.expires_at).toEqual(old_ends_at);
    for (const one of [key, rotated!.key]) {
      expect((await server.call("GET", "/fees", undefined, { key: one })).status).toBe(200);
      const write = await server.call("POST", "/apps", { app: { name: "No" } }, { key: one });
      expect(write.status).toBe(403);
    }
  });

  it("never lets the old key live longer than before, and refuses a revoked one", async () => {
    const soon = new Date(Date.now() + 60_000);
    const { id } = await addKey({ expires_at: soon });
    const { database, index_key, clock } = server.core;
    const rotate = () =>
      rotateApiKey(
        database,
        index_key,
        {
          id,
          mode: "sandbox",
          old_ends_at: new Date(Date.now() + HOUR_MS),
          expires_at: null,
          real_time: new Date(),
          ...BY,
        },
        clock.now(),
      );
    expect((await rotate())?.old.expires_at).toEqual(soon);
    await changeKey(id, { revoked_at: new Date() });
    expect(await rotate()).toBeNull();
  });
});

describe("a key", () => {
  it("shows when it was last used", async () => {
    const { key, id, account_id } = await addKey({});
    const { page } = readPage({ limit: 100 });
    const find = async () =>
      (await listApiKeysOfAccount(server.core.database, account_id, page)).find(
        (one) => one.id === id,
      )!;
    expect((await find()).used_at).toBeNull();
    const asked_at = Date.now();
    await server.call("GET", "/fees", undefined, { key });
    const used_at = await waitFor(async () => (await find()).used_at);
    expect(Math.abs(used_at.getTime() - asked_at)).toBeLessThan(60_000);
  });

  it("that was revoked since the request began does nothing, also with idempotency", async () => {
    const keyed: Record<string, string>[] = [{}, { "idempotency-key": crypto.randomUUID() }];
    for (const headers of keyed) {
      const { key, id } = await addKey({});
      // From here on it is known for a second, as it is until a slow body has arrived.
      expect((await server.call("GET", "/fees", undefined, { key })).status).toBe(200);
      await changeKey(id, { revoked_at: new Date() });
      const { rows } = await countDeposits();
      const crypto_deposit = { quote_id: own.quote_id, amount: 1 };
      const path = "/sandbox/crypto_deposits";
      const refused = await server.call("POST", path, { crypto_deposit }, { key, headers });
      expect(refused.body).toMatchObject({ status: 401, error_code: "unauthorized" });
      expect(await countDeposits()).toEqual({ rows });
    }
  });

  it("ends with a checksum of what is before", () => {
    for (const mode of ["sandbox", "live"] as const) {
      const key = makeApiKey(server.core.index_key, mode, server.account_id);
      expect(key).toMatch(/^sk_(test|live)_[\w-]{76}[a-z0-9]{6}$/);
      const digits = crc32(key.slice(0, -6)).toString(36).padStart(6, "0").slice(-6);
      expect(key.slice(-6)).toBe(digits);
    }
  });

  it("is written to the audit log with its restrictions", async () => {
    const { id } = await addKey({ scopes: ["refunds"], networks: ["127.0.0.1"] });
    const [entry] = await server.core.database.query<{ detail: unknown }>(
      "select detail from audit_entries where record = $1",
      [`api_key:${id}`],
    );
    const expected = { scopes: ["refunds"], networks: ["127.0.0.1"], expires_at: null };
    const { detail } = entry!;
    expect(typeof detail === "string" ? JSON.parse(detail) : detail).toEqual(expected);
  });
});

/** As the service would write it, but at a time of its own. */
async function changeKey(id: string, change: { expires_at: Date } | { revoked_at: Date }) {
  await server.core.database.transaction(async (tx) => {
    const key = (await lockApiKey(tx, id))!;
    if ("expires_at" in change) updateApiKeyExpiry(tx, key, change.expires_at);
    else updateApiKeyRevoked(tx, key, change.revoked_at);
  });
}

async function countDeposits() {
  const [row] = await server.core.database.query<{ rows: string }>(
    "select count(*) as rows from sandbox_transfers",
  );
  return row!;
}

async function addKey(restrictions: Partial<KeyRestrictions>) {
  const { database, index_key, clock } = server.core;
  const { account_id } = server;
  const key = makeApiKey(index_key, "sandbox", account_id);
  const input = { account_id, name: "restricted", key, ...BY };
  const whole = { ...input, restrictions: { ...UNRESTRICTED, ...restrictions } };
  const { id } = await database.transaction(async (tx) =>
    createApiKey(tx, index_key, whole, clock.now()),
  );
  return { key, id, account_id };
}
