import Fastify from "fastify";
import { afterEach, expect, it, vi } from "vitest";
import type { Caller } from "../../../src/platform/http/route-spec.ts";
import { addRequestLog } from "../../../src/platform/request-log/request-log.ts";
import { createTestDatabase } from "../../harness/database.ts";

afterEach(() => {
  vi.useRealTimers();
});

it("an account that sends too many pushes out none of another's", async () => {
  // Nothing is written before the end.
  vi.useFakeTimers({ toFake: ["setInterval"] });
  const { database, drop } = await createTestDatabase();
  const server = Fastify({ genReqId: () => crypto.randomUUID() });
  server.decorateRequest("caller", null);
  server.decorateReply("refusal", null);
  server.addHook("onRequest", async (request) => {
    const account_id = request.headers.account as string;
    request.caller = { account_id, credential_id: account_id, key_label: "" } satisfies Caller;
  });
  const log = addRequestLog(server, database);
  server.post("/users/:user_id", async () => "");
  const [busy, quiet] = [crypto.randomUUID(), crypto.randomUUID()];
  const send = (account: string) =>
    server.inject({ method: "POST", url: "/users/x", headers: { account } });
  for (let sent = 0; sent < 5_100; sent += 100) {
    await Promise.all(Array.from({ length: 100 }, () => send(busy)));
  }
  await send(quiet);
  await log.close();
  const rows = await database.query<{ account_id: string; count: number }>(
    "select account_id, count(*)::integer as count from requests group by account_id",
  );
  const counts = new Map(rows.map(({ account_id, count }) => [account_id, count]));
  expect(counts).toEqual(
    new Map([
      [busy, 1_000],
      [quiet, 1],
    ]),
  );
  await server.close();
  await drop();
});
