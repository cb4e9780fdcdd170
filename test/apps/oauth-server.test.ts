import { execFile } from "node:child_process";
import { connect } from "node:net";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { SWEEP_OAUTH_TASK } from "../../src/apps/oauth/tasks.ts";
import { attemptTime } from "../../src/platform/attempts/attempts.ts";
import { ConnectionTurns } from "../../src/platform/db/connection-turns.ts";
import { DAY_MS } from "../../src/platform/durations.ts";
import { Refusal } from "../../src/platform/errors.ts";
import {
  addApp,
  addMember,
  askFor,
  type Client,
  comeBack,
  exchangeCode,
  letIn,
  Person,
  post,
  REDIRECT_URI,
  refresh,
} from "../harness/oauth.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";

const SCOPE = "openid offline_access user:read";
const CREDENTIALS = { grant_type: "client_credentials" };

const log_lines: string[] = [];
let server: TestServer;
let person: Person;
let person_id: string;
let client: Client;

beforeAll(async () => {
  server = await startTestServer({ log_destination: { write: (line) => log_lines.push(line) } });
  person_id = await addMember(server, server.account_id, "ada@example.test");
  person = await Person.signedIn(server, server.account_id, person_id);
  client = await addApp(server, server.account_id);
});
afterAll(() => server?.close());

describe("discovery", () => {
  const wanted = {
    authorization_endpoint: "/authorize",
    token_endpoint: "/oauth/token",
    revocation_endpoint: "/oauth/revoke",
    introspection_endpoint: "/oauth/introspect",
    userinfo_endpoint: "/userinfo",
    jwks_uri: "/.well-known/jwks.json",
  };

  test.each(["/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"])(
    "%s says what is offered, and every address in it answers",
    async (path) => {
      const { body, headers } = await server.call("GET", path, undefined, { key: null });
      expect(headers.get("content-type")).toContain("application/json");
      expect(body).toMatchObject({
        issuer: server.url,
        code_challenge_methods_supported: ["S256"],
        response_types_supported: ["code"],
        grant_types_supported: expect.arrayContaining(["client_credentials", "refresh_token"]),
        token_endpoint_auth_methods_supported: ["client_secret_basic", "client_secret_post"],
        id_token_signing_alg_values_supported: ["RS256"],
        authorization_response_iss_parameter_supported: true,
      });
      expect(body.scopes_supported).toEqual(
        "openid profile email offline_access user:read invoices:read invoices:write".split(" "),
      );
      const addresses = Object.entries(body).filter(([name]) => /(_endpoint|_uri)$/.test(name));
      expect(Object.fromEntries(addresses)).toEqual(
        Object.fromEntries(
          Object.entries(wanted).map(([name, address]) => [name, server.url + address]),
        ),
      );
      for (const [, address] of addresses) {
        const [as_get, as_post] = await Promise.all([
          fetch(String(address), { headers: { accept: "application/json" } }),
          fetch(String(address), { method: "POST" }),
        ]);
        expect([as_get.status, as_post.status].some((status) => status !== 404)).toBe(true);
      }
    },
  );
});

describe("what is stored", () => {
  test("no table contains a token, code or secret in clear", async () => {
    const { url, verifier } = askFor(client, SCOPE, { prompt: "consent" });
    const page = await person.visit(url);
    const fields = { account_id: server.account_id, decision: "allow" };
    const { code } = comeBack(await person.follow(await person.post(page.url, fields)));
    const { body } = await exchangeCode(server, client, code!, verifier);
    const secrets = [code, body.access_token, body.refresh_token, client.secret, verifier];
    for (const secret of secrets) expect(secret).toMatch(/^\S{20,}$/);
    const tables = await server.db.database.query<{ name: string }>(
      "select tablename as name from pg_tables where schemaname = 'public'",
    );
    // The search itself finds values in bytea columns.
    const [control] = await server.db.database.query<{ row: string }>(
      "select to_jsonb(t)::text as row from (select 'findable'::bytea as bytes) t",
    );
    expect(hexAsText(control!.row)).toBe("findable");
    const found: string[] = [];
    for (const { name } of tables) {
      const rows = await server.db.database.query<{ row: string }>(
        `select to_jsonb(t)::text as row from "${name}" t`,
      );
      const bytes = rows.map(({ row }) => row + hexAsText(row)).join("\n");
      if (secrets.some((secret) => bytes.includes(secret))) found.push(name);
      if (bytes.includes('"kty":"RSA"')) found.push(`${name} holds a private key`);
    }
    expect(found).toEqual([]);
  });

  test("expired artifacts are deleted", async () => {
    const app = await addApp(server, server.account_id, { flow: "client_credentials" });
    await post(server, "/oauth/token", app, CREDENTIALS);
    const count = async () => {
      const [row] = await server.db.database.query<{ count: bigint }>(
        "select count(*) from oauth_artifacts where app_id = $1",
        [app.id],
      );
      return Number(row!.count);
    };
    expect(await count()).toBe(1);
    await server.db.database.query(
      "update oauth_artifacts set expires_at = expires_at - interval '2 days' where app_id = $1",
      [app.id],
    );
    await server.db.database.query("update tasks set due_at = created_at where kind = $1", [
      SWEEP_OAUTH_TASK,
    ]);
    server.app.worker.wake();
    await waitFor(async () => (await count()) === 0);
  });
});

describe("deployment", () => {
  test("a request begun in one process continues in another", async () => {
    const other = await startTestServer({
      beside: server,
      environment: { SLIPROAD_PUBLIC_URL: server.url },
    });
    try {
      const [keys, other_keys] = await Promise.all(
        [server, other].map((one) =>
          one.call("GET", "/.well-known/jwks.json", undefined, { key: null }),
        ),
      );
      expect(other_keys!.body).toEqual(keys!.body);
      const asking = askFor(client, SCOPE, { prompt: "consent" });
      const page = await person.visit(asking.url);
      const there = person.through(other);
      const fields = { account_id: server.account_id, decision: "allow" };
      const { code } = comeBack(await there.follow(await there.post(page.url, fields)));
      const { body: tokens } = await exchangeCode(server, client, code!, asking.verifier);
      const key = tokens.access_token;
      expect((await other.call("GET", "/me", undefined, { key })).status).toBe(200);
      const next = await refresh(other, client, tokens.refresh_token);
      expect(next.status).toBe(200);
      await post(other, "/oauth/revoke", client, { token: next.body.refresh_token });
      const after = await refresh(server, client, tokens.refresh_token);
      expect(after.body.error).toBe("invalid_grant");
      await waitFor(
        async () => (await server.call("GET", "/me", undefined, { key })).status === 401,
        1_500,
      );
    } finally {
      await other.close();
    }
  });

  test("behind a proxy, https is the issuer and all cookies are secure, regardless of the Host header", async () => {
    const public_url = "https://pay.example.test";
    const proxied = await startTestServer({
      environment: { SLIPROAD_PUBLIC_URL: public_url },
    });
    try {
      const headers = {
        "x-forwarded-host": "evil.example.test",
        "x-forwarded-proto": "http",
        forwarded: "host=evil.example.test",
      };
      const path = "/.well-known/openid-configuration";
      const { body } = await proxied.call("GET", path, undefined, { key: null, headers });
      expect(body.issuer).toBe(public_url);
      expect(body.token_endpoint).toBe(`${public_url}/oauth/token`);
      const member_id = await addMember(proxied, proxied.account_id, "ada@example.test");
      const member = await Person.signedIn(proxied, proxied.account_id, member_id);
      const app = await addApp(proxied, proxied.account_id);
      const started = await fetch(`${proxied.url}${askFor(app, "openid").url}`, {
        headers,
        redirect: "manual",
      });
      expect(started.headers.get("location")).toMatch(`${public_url}/consent/`);
      const cookies = started.headers.getSetCookie();
      expect(cookies.length).toBeGreaterThan(0);
      for (const cookie of cookies) {
        expect(cookie).toMatch(/^__Secure-.*; secure/i);
        expect(cookie).toMatch(/; httponly/i);
        expect(cookie).toMatch(/; samesite=lax/i);
      }
      const tokens = await letIn(proxied, member, app, SCOPE, proxied.account_id);
      const payload = Buffer.from(tokens.id_token!.split(".")[1]!, "base64url").toString();
      expect(JSON.parse(payload).iss).toBe(public_url);
    } finally {
      await proxied.close();
    }
  });

  test("loading the library prints nothing", async () => {
    const program =
      'import { loadLibrary } from "./src/apps/oauth/load-library.ts"; await loadLibrary();';
    const run = promisify(execFile);
    const { stdout, stderr } = await run(process.execPath, ["--input-type=module", "-e", program]);
    expect(stdout + stderr).toBe("");
  });

  test("a client that leaves while it waits for the database is no error of ours", async () => {
    const leaves = vi.spyOn(ConnectionTurns.prototype, "take");
    leaves.mockRejectedValueOnce(new Refusal("bad_request"));
    const before = log_lines.length;
    const answer = await fetch(`${server.url}/authorize?client_id=${client.id}`);
    leaves.mockRestore();
    expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "2"]);
    expect(log_lines.slice(before).filter((line) => line.includes('"level":50'))).toEqual([]);
  });

  test("a client that disconnects before its answer is no error of ours", async () => {
    const { hostname, port } = new URL(server.url);
    const request = "GET /userinfo HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer x\r\n\r\n";
    const askAndLeave = () => {
      const socket = connect(Number(port), hostname, () => {
        socket.write(request, () => socket.resetAndDestroy());
      }).on("error", () => {});
    };
    await waitFor(() => {
      askAndLeave();
      return log_lines.some((line) => line.includes("oauth answer"));
    });
    const line = log_lines.find((text) => text.includes("oauth answer"))!;
    expect(JSON.parse(line)).toMatchObject({ level: 30, msg: "oauth answer not read" });
  });

  test("moving the sandbox clock ends no token", async () => {
    const tokens = await letIn(server, person, client, SCOPE, server.account_id);
    const day_ms = DAY_MS;
    await server.call("POST", "/sandbox/clock", { advance_ms: 40 * day_ms });
    const key = tokens.access_token;
    expect((await server.call("GET", "/me", undefined, { key })).status).toBe(200);
    expect((await refresh(server, client, tokens.refresh_token!)).status).toBe(200);
  });
});

describe("limits", () => {
  test.each([
    ["GET", "/authorize", "Send at most 100 query parameters."],
    ["GET", "/userinfo", '"error":"invalid_request"'],
    ["POST", "/oauth/token", '"error":"invalid_request"'],
    ["GET", "/.well-known/openid-configuration", '"error":"invalid_request"'],
  ])("400 for %s %s with thousands of parameters", async (method, path, text) => {
    const ask = (parameters: number) =>
      fetch(`${server.url}${path}?${"a=&".repeat(parameters)}`, { method });
    const refused = await ask(4000);
    expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining(text)]);
    expect(await (await ask(90)).text()).not.toContain("at most 100");
  });

  test("400 for an authorization with a long URL, of which nothing is stored", async () => {
    const stored = async () =>
      (await server.db.database.query("select from oauth_artifacts where model = 'Interaction'"))
        .length;
    const ask = (state_length: number) =>
      fetch(
        `${server.url}/authorize?${new URLSearchParams({
          ...{ client_id: client.id, redirect_uri: REDIRECT_URI, response_type: "code" },
          ...{ scope: "openid", code_challenge: "x".repeat(43), code_challenge_method: "S256" },
          state: "s".repeat(state_length),
        })}`,
        { redirect: "manual" },
      );
    const before = await stored();
    const refused = await ask(4_000);
    const text = expect.stringContaining("Send a URL of at most 4096 characters.");
    expect([refused.status, await refused.text()]).toEqual([400, text]);
    expect(await stored()).toBe(before);
    expect((await ask(3_000)).status).toBe(303);
    expect(await stored()).toBe(before + 1);
  });

  test("after too many wrong secrets from one IP address, the correct one is refused too", async () => {
    const now = new Date();
    const stopped = vi.spyOn(attemptTime, "now").mockImplementation(() => now);
    const limited = await startTestServer();
    try {
      const app = await addApp(limited, limited.account_id, { flow: "client_credentials" });
      const wrong = { ...app, secret: "wrong" };
      const statuses: number[] = [];
      for (let at = 0; at < 21; at += 1) {
        statuses.push((await post(limited, "/oauth/token", wrong, CREDENTIALS)).status);
      }
      expect(statuses.slice(0, 20).every((status) => status === 401)).toBe(true);
      expect(statuses[20]).toBe(429);
      const right = await post(limited, "/oauth/token", app, CREDENTIALS);
      expect(right.status).toBe(429);
      expect(right.body.error).toBe("slow_down");
      expect(Number(right.headers.get("retry-after"))).toBeGreaterThan(0);
    } finally {
      stopped.mockRestore();
      await limited.close();
    }
  });

  test("many concurrent wrong secrets are limited too, and many correct ones all pass", async () => {
    const now = new Date();
    const stopped = vi.spyOn(attemptTime, "now").mockImplementation(() => now);
    const limited = await startTestServer();
    try {
      const app = await addApp(limited, limited.account_id, { flow: "client_credentials" });
      const tryAll = async (client: typeof app) => {
        const answers = await Promise.all(
          Array.from({ length: 60 }, () => post(limited, "/oauth/token", client, CREDENTIALS)),
        );
        return Map.groupBy(answers, ({ status }) => status);
      };
      expect((await tryAll(app)).get(200)).toHaveLength(60);
      const wrong = await tryAll({ ...app, secret: "wrong" });
      expect(wrong.get(401)).toHaveLength(20);
      expect(wrong.get(429)).toHaveLength(40);
    } finally {
      stopped.mockRestore();
      await limited.close();
    }
  });

  test("authorization requests from one IP address are limited", async () => {
    const now_ms = performance.now();
    const stopped = vi.spyOn(performance, "now").mockImplementation(() => now_ms);
    const limited = await startTestServer();
    try {
      const visitor = new Person(limited);
      const statuses: number[] = [];
      for (let at = 0; at < 121; at += 1) statuses.push((await visitor.get("/authorize")).status);
      expect(statuses[119]).toBe(400);
      expect(statuses[120]).toBe(429);
    } finally {
      stopped.mockRestore();
      await limited.close();
    }
  });
});

/** JSON shows bytes in hex: as text, their content can be searched. */
function hexAsText(row: string): string {
  const texts = [...row.matchAll(/\\\\x([0-9a-f]+)/g)];
  return texts.map((match) => Buffer.from(match[1]!, "hex").toString("latin1")).join("\n");
}
