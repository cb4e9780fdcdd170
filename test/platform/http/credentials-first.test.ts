import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { formCsrfOf } from "../../../src/accounts/sign-in/sessions.ts";
import { holdStatements } from "../../harness/hold-statements.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";
import { waitFor } from "../../harness/wait-for.ts";
import { addUser, openLink, PageVisitor } from "../../kyc/kyc-fixture.ts";

const MIB = 1024 * 1024;
const ID = "01900000-0000-7000-8000-000000000000";
const DRAINED_MAX = 64 * MIB;

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

function open(): Promise<Socket> {
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  socket.setEncoding("utf8");
  return once(socket, "connect").then(() => socket);
}

function head(method: string, path: string, bytes: number, headers: Record<string, string>) {
  const all = { Host: "x", "Content-Length": String(bytes), ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n`;
}

/** The first line of the answer to a request of which only the head is sent. */
async function answerToHead(
  method: string,
  path: string,
  headers: Record<string, string>,
): Promise<string> {
  const socket = await open();
  try {
    socket.write(head(method, path, MIB, { "Content-Type": "application/json", ...headers }));
    const [text] = await once(socket, "data");
    return String(text).split("\r\n")[0]!;
  } finally {
    socket.destroy();
  }
}

const FORM = { "Content-Type": "application/x-www-form-urlencoded" };
const OWN_PAGE = { "X-Kyc-Page": "1" };

describe("an unauthenticated request is refused before the body is read", () => {
  it.each([
    ["an API route without a key", "POST", "/users", {}, 401],
    ["one with a wrong key", "POST", "/users", { Authorization: "Bearer sk_test_no" }, 401],
    ["one of 16 MiB", "POST", `/users/${ID}/quotes/${ID}/offramps`, {}, 401],
    ["an upload", "POST", `/offramps/${ID}/supporting-documents`, {}, 401],
    ["a route that does not exist", "POST", "/nowhere", {}, 404],
    ["a KYC session without a cookie", "PATCH", "/kyc/session/identity", OWN_PAGE, 401],
    ["a KYC session's submission", "POST", "/kyc/session/submit", OWN_PAGE, 401],
    ["a file of a KYC session", "PUT", "/kyc/session/files/selfie", OWN_PAGE, 401],
    ["a KYC link that is not known", "POST", "/kyc/nobody/session", OWN_PAGE, 404],
    ["the sign-in form without its cookie", "POST", "/sign-in", FORM, 403],
    ["an invoice's page without a link", "POST", "/invoices/view/nobody", FORM, 404],
  ])("%s", async (_name, method, path, headers, status) => {
    const line = await answerToHead(method, path, headers as Record<string, string>);
    expect(line).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  });

  it.each(["/dashboard/screening/x", "/sign-out", "/dashboard/switch"])(
    "a page of members: %s",
    async (path) => {
      expect(await answerToHead("POST", path, FORM)).toMatch(/^HTTP\/1\.1 (303|403|404) /);
    },
  );

  it("such refusals count: after ten the IP address has to wait", async () => {
    const other = await startTestServer();
    try {
      const statuses: number[] = [];
      for (let sent = 0; sent < 12; sent += 1) {
        const headers = { "x-kyc-page": "1" };
        const answer = await other.call(
          "PATCH",
          "/kyc/session/identity",
          {},
          { key: null, headers },
        );
        statuses.push(answer.status);
      }
      expect(statuses.slice(0, 10)).toEqual(Array(10).fill(401));
      expect(statuses.slice(10)).toEqual([429, 429]);
    } finally {
      await other.close();
    }
  });
});

const LOOKUP_MS = 100;
const token = (n: number) => String(n).padStart(43, "x");
const sessionToken = (n: number) => `sliproad_session=${String(n).padStart(76, "x")}`;

describe.each([
  {
    what: "keys",
    table: "from api_key_hashes",
    head: (n: number) => `GET /users HTTP/1.1\r\nAuthorization: Bearer made-up-${n}`,
  },
  {
    what: "sessions of members",
    table: "from sessions",
    head: (n: number) => `GET /users HTTP/1.1\r\nX-CSRF-Token: x\r\nCookie: ${sessionToken(n)}`,
  },
  {
    what: "sessions on pages",
    table: "from sessions",
    head: (n: number) => `GET /dashboard HTTP/1.1\r\nCookie: ${sessionToken(n)}`,
  },
  {
    what: "tokens of applications",
    table: "from oauth_artifacts artifact",
    head: (n: number) => `GET /userinfo HTTP/1.1\r\nAuthorization: Bearer ${token(n)}`,
  },
  {
    what: "links that set a password",
    table: "from password_links",
    head: (n: number) => `GET /set-password?token=${token(n)} HTTP/1.1`,
  },
  {
    what: "passkeys",
    table: "from passkeys",
    head: () =>
      `POST /sign-in/passkey HTTP/1.1\r\nCookie: sliproad_form=${token(0)}\r\n` +
      "Content-Type: application/x-www-form-urlencoded",
    body: (n: number) => {
      const clientDataJSON = Buffer.from('{"challenge":"x"}').toString("base64url");
      const credential = JSON.stringify({ id: token(n), response: { clientDataJSON } });
      const csrf = formCsrfOf(server.core.index_key, token(0));
      return new URLSearchParams({ csrf, credential }).toString();
    },
  },
])("$what that somebody made up", ({ table, head, body = () => "" }) => {
  const REQUESTS = 24;
  const request = (n: number, last: boolean) => {
    const form = body(n);
    const length = form === "" ? "" : `Content-Length: ${form.length}\r\n`;
    const ending = last ? "Connection: close\r\n" : "";
    return `${head(n)}\r\nHost: x\r\n${length}${ending}\r\n${form}`;
  };

  /** Sends the requests over so many connections; returns how many were answered. */
  async function send(requests: number, connections: number): Promise<number> {
    let answers = 0;
    const each = requests / connections;
    const sockets = await Promise.all(Array.from({ length: connections }, open));
    const ends = sockets.map((socket) => {
      socket.on("data", (text: string) => {
        answers += text.split("HTTP/1.1 ").length - 1;
      });
      return once(socket, "close");
    });
    for (const [at, socket] of sockets.entries()) {
      const numbers = Array.from({ length: each }, (_, n) => n);
      socket.write(numbers.map((n) => request(at * each + n, n === each - 1)).join(""));
    }
    await Promise.all(ends);
    return answers;
  }

  it("are looked up one after the other if they arrive over one connection", async () => {
    let [running, at_once] = [0, 0];
    const { database } = server.core;
    const query = database.query.bind(database);
    const spy = vi.spyOn(database, "query").mockImplementation(async (text, values) => {
      if (!text.includes(table)) return query(text, values);
      running += 1;
      at_once = Math.max(at_once, running);
      // Long enough for the other requests to arrive.
      await sleep(LOOKUP_MS);
      return query(text, values).finally(() => {
        running -= 1;
      });
    });
    try {
      expect(await send(5, 1)).toBe(5);
      expect(at_once).toBe(1);
    } finally {
      spy.mockRestore();
    }
  });

  it("use at most half of the database's connections", async () => {
    // Work in the background has connections of its own.
    const held = holdStatements("tasks of");
    try {
      const answers = send(REQUESTS, REQUESTS);
      const { database } = server.core;
      await waitFor(() => held.connections() + database.pool().waiting >= REQUESTS);
      expect(held.connections()).toBe(6);
      held.letGo();
      expect(await answers).toBe(REQUESTS);
    } finally {
      held.letGo();
    }
  });
});

describe("bodies from people, who have no key", () => {
  it("a KYC session accepts 16 KiB", async () => {
    const user_id = await addUser(server);
    const visitor = new PageVisitor(server);
    await visitor.open(await openLink(server, user_id));
    const identity = (bytes: number) => {
      const [head, tail] = ['{"identity":{"first_name":"', '"}}'];
      return `${head}${"x".repeat(bytes - head.length - tail.length)}${tail}`;
    };
    const exact = identity(16 * 1024);
    expect(Buffer.byteLength(exact)).toBe(16 * 1024);
    const send = (text: string) =>
      visitor.send("PATCH", "/kyc/session/identity", undefined, {
        raw: Buffer.from(text),
        headers: { "content-type": "application/json" },
      });
    expect((await send(exact)).status).toBe(422);
    expect((await send(`${exact} `)).status).toBe(413);
  });

  it("a form accepts 16 KiB", async () => {
    const page = await fetch(`${server.url}/sign-in`);
    const cookie = page.headers.get("set-cookie")!.split(";")[0]!;
    const post = (body: string) =>
      fetch(`${server.url}/sign-in`, {
        method: "POST",
        headers: { cookie, "content-type": "application/x-www-form-urlencoded" },
        body,
      });
    const form = `email=${"x".repeat(16 * 1024 - 6)}`;
    expect((await post(form)).status).toBe(403);
    expect((await post(`${form}x`)).status).toBe(413);
  });

  it("a page accepts no JSON", async () => {
    const page = await fetch(`${server.url}/sign-in`);
    const cookie = page.headers.get("set-cookie")!.split(";")[0]!;
    const headers = { cookie, "content-type": "application/json" };
    const answer = await fetch(`${server.url}/sign-in`, { method: "POST", headers, body: "{}" });
    expect(answer.status).toBe(415);
  });
});

describe("a client that still sends can read 413", () => {
  /** `npm run soak` sends each a dozen times. */
  const times = process.env.LONG_TESTS ? 12 : 4;
  it.each([
    [2, "/users"],
    [8, "/users"],
    [20, "/users/x/quotes/x/offramps"],
  ])(`with fetch, %i MiB to %s, ${times} times`, async (mib, path) => {
    const body = Buffer.alloc(mib * MIB, "x");
    for (let sent = 0; sent < times; sent += 1) {
      const answer = await server.call("POST", path, undefined, { raw: body });
      expect([answer.status, answer.body.error_code]).toEqual([413, "body_too_large"]);
    }
  });

  it("it can read 401 too, and the connection serves the next request", async () => {
    const socket = await open();
    const body = "x".repeat(4 * MIB);
    socket.write(head("POST", "/users", body.length, { "Content-Type": "application/json" }));
    socket.write(body);
    socket.write("GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    let text = "";
    for await (const chunk of socket) text += chunk;
    expect(text).toMatch(/^HTTP\/1\.1 401 /);
    expect(text).toContain('{"status":"ok"}');
  });

  it("on a raw socket, sent in full before the answer is read", async () => {
    const socket = await open();
    const headers = {
      "Content-Type": "application/json",
      Authorization: `Bearer ${server.key}`,
      Connection: "close",
    };
    socket.write(head("POST", "/users", 8 * MIB, headers));
    socket.write("x".repeat(8 * MIB));
    let text = "";
    for await (const chunk of socket) text += chunk;
    expect(text).toMatch(/^HTTP\/1\.1 413 /);
    expect(text).toContain('"error_code":"body_too_large"');
  });

  it("a client that never stops is disconnected", async () => {
    const socket = await open();
    const headers = { "Content-Type": "application/json", Authorization: `Bearer ${server.key}` };
    socket.on("error", () => {});
    socket.write(head("POST", "/users", 1024 * MIB, headers));
    const sent = await sendUntilClosed(socket, Buffer.alloc(MIB, "x"), DRAINED_MAX * 2);
    expect(sent).toBeLessThan(DRAINED_MAX);
  });

  it("a client that sends many tiny chunks is disconnected much sooner", async () => {
    const socket = await open();
    socket.on("error", () => {});
    socket.write("POST /users HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
    const chunks = Buffer.from("1\r\nx\r\n".repeat(10_000));
    const sent = await sendUntilClosed(socket, chunks, 20 * MIB);
    expect(sent).toBeLessThan(10 * MIB);
  });

  /** How many bytes were sent until the connection was closed, or all. */
  async function sendUntilClosed(socket: Socket, bytes: Buffer, bytes_max: number) {
    let sent = 0;
    const closed = new Promise<void>((resolve) => void socket.once("close", () => resolve()));
    const send = () => {
      while (!socket.destroyed && sent < bytes_max) {
        sent += bytes.length;
        if (!socket.write(bytes)) return;
      }
      socket.destroy();
    };
    socket.on("drain", send);
    send();
    await closed;
    return sent;
  }
});

describe("every answer of the API", () => {
  it.each([
    ["a success", "GET", "/users", {}],
    ["a refusal", "GET", `/users/${ID}`, {}],
    ["an unknown route", "DELETE", "/nowhere", {}],
    ["a caller who is nobody", "GET", "/users", { key: null }],
    ["a body that is too large", "POST", "/users", { raw: Buffer.alloc(2 * MIB) }],
    ["a body that is no JSON", "POST", "/users", { raw: "{" }],
  ])("%s is never cached, and its type is never guessed", async (_name, method, path, options) => {
    const { headers } = await server.call(method, path, undefined, options);
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
    expect(headers.get("sliproad-version")).toBe("2026-11-15");
  });
});
