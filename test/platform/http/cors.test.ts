import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { addApp } from "../../harness/oauth.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";

const { paths }: { paths: Record<string, unknown> } = JSON.parse(
  await readFile(new URL("../../../openapi.json", import.meta.url), "utf8"),
);
const ORIGIN = { origin: "https://shop.example.test" };

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({
    environment: { SLIPROAD_RATE_LIMIT: "1", SLIPROAD_RATE_LIMIT_ANONYMOUS: "1" },
  });
});
afterAll(() => server.close());

function preflight(path: string, method: string) {
  const asked = { "access-control-request-method": method };
  const headers = { ...ORIGIN, ...asked, "access-control-request-headers": "authorization" };
  return server.call("OPTIONS", path, undefined, { key: null, headers });
}

describe("pages of other origins", () => {
  it("may send unlimited preflight requests to routes that accept tokens", async () => {
    for (const [path, method] of [
      ["/me", "GET"],
      ["/invoices", "GET"],
      ["/invoices", "POST"],
      [`/invoices/${crypto.randomUUID()}/changes`, "POST"],
      [`/invoices/${crypto.randomUUID()}/pdf`, "GET"],
    ] as const) {
      const { status, headers, text } = await preflight(path, method);
      expect([status, text]).toEqual([204, ""]);
      expect(headers.get("access-control-allow-origin")).toBe("*");
      expect(headers.get("access-control-allow-credentials")).toBeNull();
      expect(headers.get("access-control-allow-methods")).toContain(method);
      for (const name of ["authorization", "content-type", "idempotency-key", "sliproad-version"]) {
        expect(headers.get("access-control-allow-headers")!.toLowerCase()).toContain(name);
      }
      expect(headers.get("ratelimit-limit")).toBeNull();
    }
  });

  it("may send a body with a preflight request that nobody reads", async () => {
    const { status } = await server.call("OPTIONS", "/invoices", undefined, {
      key: null,
      headers: { ...ORIGIN, "content-type": "application/json" },
      raw: "[".repeat(1_000_000),
    });
    expect(status).toBe(204);
  });

  it("may read answers and refusals, with the headers that clients need", async () => {
    const call = (key: string | null) =>
      server.call("GET", "/me", undefined, { key, headers: ORIGIN });
    const answers = [await call(server.key), await call(null), await call(null)];
    const limited = await call(null);
    expect(answers.slice(0, 2).map(({ status }) => status)).toEqual([200, 401]);
    for (const { headers } of [...answers, limited]) {
      expect(headers.get("access-control-allow-origin")).toBe("*");
      expect(headers.get("access-control-expose-headers")).toMatch(/Retry-After.*X-Request-Id/);
    }
  });

  it("get no CORS headers anywhere else", async () => {
    const by_key = Object.keys(paths)
      .filter((path) => !/^\/(me|invoices)\b/.test(path))
      .map((path) => path.replaceAll(/\{\w+\}/g, crypto.randomUUID()));
    expect(by_key.length).toBeGreaterThan(30);
    const pages = [
      "/sign-in",
      "/dashboard",
      "/dashboard/people/reviews",
      "/kyc/abc",
      "/authorize",
      "/docs",
    ];
    for (const path of [...by_key, ...pages, "/oauth/token", "/health", "/nowhere"]) {
      for (const method of ["GET", "OPTIONS"]) {
        const { status, headers } = await server.call(method, path, undefined, { headers: ORIGIN });
        const given = [...headers.keys()].filter((name) => name.startsWith("access-control-"));
        expect(given, `${method} ${path} ${status}`).toEqual([]);
      }
    }
  });

  it("read OAuth's public documents, but no token answer to an application", async () => {
    const shop = await addApp(server, server.account_id, { flow: "client_credentials" });
    const ask = async (path: string, init: RequestInit = {}) => {
      const headers = { ...ORIGIN, ...init.headers };
      const answer = await fetch(`${server.url}${path}`, { ...init, headers });
      expect(answer.headers.get("access-control-allow-credentials")).toBeNull();
      return [answer.status, answer.headers.get("access-control-allow-origin")];
    };
    for (const path of ["/.well-known/openid-configuration", "/.well-known/jwks.json"]) {
      expect(await ask(path)).toEqual([200, ORIGIN.origin]);
    }
    const askToken = (secret: string) => {
      const fields = { grant_type: "client_credentials", client_id: shop.id };
      const body = new URLSearchParams({ ...fields, client_secret: secret });
      return ask("/oauth/token", { method: "POST", body });
    };
    expect(await askToken(shop.secret)).toEqual([400, null]);
    expect(await askToken("wrong")).toEqual([400, null]);
    expect(await ask("/oauth/token", { method: "POST", body: new URLSearchParams() })).toEqual([
      400,
      ORIGIN.origin,
    ]);
    const headers = { authorization: "Bearer nobody's" };
    expect(await ask("/userinfo", { headers })).toEqual([401, ORIGIN.origin]);
    for (const path of ["/oauth/token", "/oauth/revoke", "/oauth/introspect", "/userinfo"]) {
      expect((await preflight(path, "POST")).headers.get("access-control-allow-origin")).toBeNull();
    }
  });
});
