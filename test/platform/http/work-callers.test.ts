import type { AddressInfo } from "node:net";
import { setImmediate } from "node:timers/promises";
import type { FastifyInstance } from "fastify";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import {
  type CallerContext,
  currentCaller,
  setCaller,
} from "../../../src/platform/db/caller-context.ts";
import { createServer } from "../../../src/platform/http/server.ts";

let app: FastifyInstance;
let url: string;
let waiting: CallerContext | undefined;
const letGo = Promise.withResolvers<void>();

beforeAll(async () => {
  app = createServer({
    log_level: "silent",
    public_url: () => "http://127.0.0.1",
    trusted_proxies: ["127.0.0.1"],
    rate_limit: 0,
    rate_limit_anonymous: 0,
    stalled_seconds: 120,
    authenticate: async (key) => ({ account_id: key, credential_id: key, key_label: key }),
  });
  const answer = async () => ({ name: currentCaller()?.name ?? "the service" });
  app.get("/page", answer);
  app.post("/page", answer);
  app.get("/api", { config: { is_api: true } }, answer);
  app.post("/api", { config: { is_api: true } }, answer);
  app.get("/wait", async () => {
    waiting = currentCaller();
    await letGo.promise;
    return answer();
  });
  await app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser("application/json", (_request, payload, done) => {
      // The context of an event is that of its connection.
      payload.on("data", () => {});
      payload.on("end", () => {
        setCaller("somebody");
        done(null, currentCaller()?.name ?? "the service");
      });
    });
    scope.post("/lost", async ({ body }) => ({ in_event: body, ...(await answer()) }));
  });
  await app.listen({ host: "127.0.0.1", port: 0 });
  url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
});
afterAll(() => app.close());

async function send(
  method: string,
  path: string,
  from: string,
  headers: Record<string, string> = {},
): Promise<unknown> {
  const body = method === "POST" ? { body: "{}" } : {};
  const answer = await fetch(`${url}${path}`, {
    method,
    ...body,
    headers: { "content-type": "application/json", "x-forwarded-for": from, ...headers },
  });
  return answer.json();
}

it.each(["GET", "POST"])(
  "a caller without a key is the network it comes from: %s",
  async (method) => {
    expect(await send(method, "/page", "198.51.100.7")).toEqual({ name: "198.51.100.7" });
    const of_network = { name: "2001:db8:1:2::/64" };
    expect(await send(method, "/page", "2001:db8:1:2::7")).toEqual(of_network);
    expect(await send(method, "/page", "2001:db8:1:2:3::8")).toEqual(of_network);
  },
);

it.each(["GET", "POST"])("a caller with a key is its account: %s", async (method) => {
  const headers = { authorization: "Bearer account" };
  expect(await send(method, "/api", "198.51.100.7", headers)).toEqual({ name: "account" });
});

it("work that lost its request is nobody's, never the service's, and stays so", async () => {
  for (const _ of [1, 2]) {
    const found = await send("POST", "/lost", "198.51.100.7");
    expect(found).toEqual({ in_event: "", name: "198.51.100.7" });
  }
});

it("a caller who hangs up is gone, one who was answered is not", async () => {
  const from = { "x-forwarded-for": "198.51.100.7" };
  await fetch(`${url}/wait`, { headers: from, signal: AbortSignal.timeout(50) }).catch(() => {});
  await vi.waitFor(() => expect(waiting?.is_gone).toBe(true));
  letGo.resolve();
  await fetch(`${url}/wait`, { headers: from });
  await setImmediate();
  expect(waiting?.is_gone).toBe(false);
});
