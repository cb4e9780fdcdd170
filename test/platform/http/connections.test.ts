import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { EventEmitter, once } from "node:events";
import type { ServerResponse } from "node:http";
import { connect, Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createConnectionOrder } from "../../../src/platform/http/connection-order.ts";
import { AHEAD_MAX } from "../../../src/platform/http/node-server.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

const HEALTH = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
const LAST = "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

/** Sends the text; returns everything that is answered until the server closes the connection. */
async function exchange(text: string): Promise<string> {
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  socket.setEncoding("utf8");
  let answers = "";
  socket.on("data", (part: string) => {
    answers += part;
  });
  // The server may close while the client still sends.
  socket.on("error", () => {});
  const closed = new Promise((done) => socket.once("close", done));
  socket.write(text);
  await closed;
  return answers;
}

const countAnswers = (answers: string) => answers.split("HTTP/1.1 200 OK").length - 1;

describe("a client that sends requests without waiting for answers", () => {
  it(`gets ${AHEAD_MAX} answers, and the last closes the connection`, async () => {
    const answers = await exchange(HEALTH.repeat(AHEAD_MAX + 50));
    expect(countAnswers(answers)).toBe(AHEAD_MAX);
    expect(answers.toLowerCase().split("connection: close")).toHaveLength(2);
  });

  it("has no more than these parsed, however many have arrived", async () => {
    let parsed = 0;
    const count = () => {
      parsed += 1;
    };
    // Node publishes each request that it makes.
    subscribe("http.server.request.start", count);
    // The first is answered later, the other at once.
    await exchange(HEALTH.repeat(1_500));
    expect(parsed).toBe(AHEAD_MAX);
    const POST = "POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nabcde";
    const answers = await exchange(POST.repeat(300) + LAST);
    unsubscribe("http.server.request.start", count);
    expect([parsed, countAnswers(answers)]).toEqual([2 * AHEAD_MAX, 0]);
  });

  it("has all of these answered when what follows arrives in parts that end anywhere", async () => {
    let [finished, unreadable] = [0, 0];
    const onFinish = () => {
      finished += 1;
    };
    const onError = () => {
      unreadable += 1;
    };
    subscribe("http.server.response.finish", onFinish);
    server.app.server.server.on("clientError", onError);
    // Node reads 64 KiB at a time. What is not read at the end may cost this client its answers.
    await exchange(HEALTH.repeat(3_000));
    unsubscribe("http.server.response.finish", onFinish);
    server.app.server.server.off("clientError", onError);
    expect([finished, unreadable]).toEqual([AHEAD_MAX, 0]);
  });

  it("is answered completely within that number, as often as it likes", async () => {
    const answers = await exchange(HEALTH.repeat(AHEAD_MAX - 1) + LAST);
    expect(countAnswers(answers)).toBe(AHEAD_MAX);
    const { hostname, port } = new URL(server.url);
    const socket = connect(Number(port), hostname);
    socket.setEncoding("utf8");
    const sent = AHEAD_MAX - 1;
    for (let round = 0; round < 5; round += 1) {
      socket.write(HEALTH.repeat(sent));
      let answered = 0;
      while (answered < sent) {
        const [part] = await once(socket, "data");
        // Every answer ends with this body.
        answered += String(part).split('{"status":"ok"}').length - 1;
      }
      expect(answered).toBe(sent);
    }
    socket.destroy();
  });

  it("lets other connections have their turn after each answer", async () => {
    let [turn, is_over] = [0, false];
    const next = () => {
      turn += 1;
      if (!is_over) setImmediate(next);
    };
    next();
    const answered_in: number[] = [];
    const note = (_request: unknown, answer: ServerResponse) =>
      answer.once("finish", () => answered_in.push(turn));
    server.app.server.server.on("request", note);
    await exchange(HEALTH.repeat(49) + LAST);
    is_over = true;
    server.app.server.server.off("request", note);
    expect(new Set(answered_in).size).toBe(50);
  });

  it("has no work begun for it once it is gone", async () => {
    const afterEarlier = createConnectionOrder();
    const begun = async (is_gone: boolean) => {
      const socket = new Socket();
      const [first, second] = [new EventEmitter(), new EventEmitter()];
      afterEarlier({ socket } as never, first as never, () => {});
      let is_begun = false;
      afterEarlier({ socket } as never, second as never, () => {
        is_begun = true;
      });
      if (is_gone) socket.destroy();
      first.emit("close");
      for (let turn = 0; turn < 3; turn += 1) await nextTurn();
      return is_begun;
    };
    expect(await begun(false)).toBe(true);
    expect(await begun(true)).toBe(false);
  });

  it("is disconnected if it goes on and reads nothing", async () => {
    const { hostname, port } = new URL(server.url);
    const socket = connect(Number(port), hostname);
    socket.pause();
    socket.on("error", () => {});
    const block = HEALTH.repeat(1000);
    let is_open = true;
    socket.once("close", () => {
      is_open = false;
    });
    let sent = 0;
    while (is_open) {
      sent += 1000;
      expect(sent).toBeLessThan(1_000_000);
      if (!socket.write(block)) {
        await Promise.race([once(socket, "drain"), once(socket, "close")]).catch(() => {});
      }
    }
    expect((await server.call("GET", "/healthz")).status).toBe(200);
  });
});

describe("a body in tiny chunks", () => {
  const PATH = "/users/x/quotes/x/offramps";
  const post = (path: string, body: string, headers: Record<string, string> = {}) => {
    const all = {
      Host: "x",
      Authorization: `Bearer ${server.key}`,
      "Content-Type": "application/json",
      "Transfer-Encoding": "chunked",
      Connection: "close",
      ...headers,
    };
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
    return exchange(`POST ${path} HTTP/1.1\r\n${lines.join("")}\r\n${body}`);
  };
  const inChunks = (text: string, size: number) => {
    const chunks: string[] = [];
    for (let at = 0; at < text.length; at += size) {
      const part = text.slice(at, at + size);
      chunks.push(`${part.length.toString(16)}\r\n${part}\r\n`);
    }
    return `${chunks.join("")}0\r\n\r\n`;
  };

  it.each([
    ["JSON", {}],
    ["a file", { "Content-Type": "multipart/form-data; boundary=x" }],
  ])("400 bad_request for %s, before all of it is read", async (_name, headers) => {
    const path = "Content-Type" in headers ? "/offramps/x/supporting-documents" : PATH;
    const start = '--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n%PDF-';
    const text = ("Content-Type" in headers ? start : "").padEnd(1024 * 1024, " ");
    const answer = await post(path, inChunks(text, 1), headers as Record<string, string>);
    if ("Content-Type" in headers) expect(answer).toMatch(/^HTTP\/1\.1 40[04] /);
    else expect(answer).toContain('"message":"Send the body in larger chunks."');
  });

  it("ends the connection after a refusal that the client does not wait for", async () => {
    const answer = await post(PATH, inChunks(" ".repeat(1024 * 1024), 1), { Authorization: "no" });
    expect(answer).toMatch(/^HTTP\/1\.1 401 /);
    expect(answer.split("HTTP/1.1")).toHaveLength(2);
  });

  it("is accepted up to 100 of them, and beyond if they are not tiny", async () => {
    const refused = /"error_code":"record_not_found"|"error_code":"parameter_missing"/;
    expect(await post(PATH, inChunks("{}".padEnd(90), 1))).toMatch(refused);
    expect(await post(PATH, inChunks("{}".padEnd(1024 * 1024), 160))).toMatch(refused);
    // Hundreds of connections with as many chunks as this stopped everybody for ten seconds.
    const tiny = await post(PATH, inChunks("{}".padEnd(200), 1));
    expect(tiny).toContain('"message":"Send the body in larger chunks."');
  });
});

describe("headers that concern the connection", () => {
  it.each([
    ["no Host", ""],
    ["Host twice", "Host: one\r\nHost: two\r\n"],
    ["the same Host twice", "Host: one\r\nHost: one\r\n"],
    ["a Host with a path", "Host: one/two\r\n"],
    ["a Host with a user", "Host: me@one\r\n"],
    ["a Host with a space", "Host: one two\r\n"],
    ["a port that is no number", "Host: one:port\r\n"],
    ["an unknown Expect", "Host: x\r\nExpect: 200-ok\r\n"],
    ["more than one Expect", "Host: x\r\nExpect: 100-continue, 200-ok\r\n"],
    ["an Expect twice", "Host: x\r\nExpect: 100-continue\r\nExpect: nothing\r\n"],
  ])("400 bad_request for %s", async (_name, headers) => {
    for (const path of ["/healthz", "/users", "/sign-in", "/nowhere"]) {
      const answer = await exchange(`GET ${path} HTTP/1.1\r\n${headers}Connection: close\r\n\r\n`);
      expect(answer, path).toContain("HTTP/1.1 400 Bad Request\r\n");
      const body = JSON.parse(answer.split("\r\n\r\n").at(-1)!);
      expect([body.error_code, body.status]).toEqual(["bad_request", 400]);
      expect(answer.toLowerCase()).toContain(`x-request-id: ${body.request_id}`);
    }
  });

  it.each([
    ["a name and a port", "1.1", "Host: pay.example.com:4000\r\n"],
    ["an IPv6 address", "1.1", "Host: [::1]:4000\r\n"],
    ["an empty Host", "1.1", "Host: \r\n"],
    ["HTTP/1.0 without Host", "1.0", ""],
    ["Expect: 100-continue", "1.1", "Host: x\r\nExpect: 100-Continue\r\n"],
  ])("accepts %s", async (_name, version, headers) => {
    const request = `GET /healthz HTTP/${version}\r\n${headers}Connection: close\r\n\r\n`;
    expect(await exchange(request)).toMatch(/HTTP\/1\.1 200 OK\r\n/);
  });
});
