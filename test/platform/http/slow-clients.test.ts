import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { setTimeout } from "node:timers/promises";
import { afterEach, expect, it } from "vitest";
import { drain } from "../../../src/platform/http/drain.ts";
import { createSlowClients, noteAccount } from "../../../src/platform/http/slow-clients.ts";

const MEGABYTE = 1024 * 1024;
const BYTES_MAX = 10 * MEGABYTE;
const LOOK_EVERY_MS = 250;
const SOON = { timeout: 20_000 };
/** More than the buffers of the network take. */
const ANSWER = "x".repeat(4 * MEGABYTE);

let server: Server;
const clients: Socket[] = [];
afterEach(() => {
  for (const client of clients.splice(0)) client.destroy();
  server.close();
});

/** A server with the limit; `ended` are the connections that it has closed, by their numbers. */
async function start(
  handle: (request: IncomingMessage) => string | null,
  onClosed = () => {},
): Promise<number[]> {
  const ended: number[] = [];
  const networkOf = (request: IncomingMessage) => `network of ${request.headers.host}`;
  const watch = createSlowClients(networkOf, onClosed, {
    accounts_max: BYTES_MAX,
    strangers_max: BYTES_MAX,
  });
  let connections = 0;
  server = createServer((request, answer) => {
    const number = connections++;
    request.socket.once("close", () => ended.push(number));
    watch(request, answer, undefined);
    const content = handle(request);
    if (content !== null) answer.end(content);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return ended;
}

/** A client that reads nothing until it is resumed; the next one connects after its request. */
async function send(text: string): Promise<Socket> {
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  clients.push(socket);
  socket.pause().on("error", () => {});
  socket.write(text);
  await once(server, "request");
  return socket;
}

const GET = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
const post = (bytes: number, type = "application/json", headers = "") =>
  `POST / HTTP/1.1\r\nHost: x\r\n${headers}Content-Type: ${type}\r\nContent-Length: ${bytes + 1}\r\n\r\n` +
  " ".repeat(bytes);

it("clients that do not read are disconnected above the limit, the oldest first", async () => {
  const ended = await start(() => ANSWER);
  for (let count = 0; count < 3; count += 1) await send(GET);
  const last = await send(GET);
  // A look at three of them leaves one, and so does a look at all four.
  await expect.poll(() => ended, SOON).toEqual(expect.arrayContaining([0, 1]));
  let bytes = 0;
  last.on("data", (part) => {
    bytes += part.length;
  });
  last.resume();
  await once(last, "end");
  expect(bytes).toBeGreaterThan(ANSWER.length);
});

it("clients that do not finish their bodies are disconnected above the limit", async () => {
  const ended = await start((request) => {
    request.resume();
    return null;
  });
  for (let count = 0; count < 4; count += 1) await send(post(4 * MEGABYTE));
  await expect.poll(() => ended, SOON).toEqual(expect.arrayContaining([0, 1]));
  expect(ended).not.toContain(3);
});

it.each([
  [
    "an account",
    (request: IncomingMessage) => noteAccount(request, String(request.headers.cookie)),
  ],
  ["a network, whatever credentials it makes up,", () => {}],
])(
  "%s that occupies most is disconnected first, however old others' requests are",
  async (_who, name) => {
    let number = 0;
    const ended = await start((request) => {
      name(request);
      request.resume();
      return null;
    });
    const sendAs = (who: string, host: string) => {
      const headers = `Cookie: ${who}\r\nAuthorization: Bearer ${number++}\r\n`;
      const bytes = (who === "honest" ? 2 : 3) * MEGABYTE;
      return send(post(bytes, "application/json", headers).replace("Host: x", `Host: ${host}`));
    };
    await sendAs("honest", "one");
    for (let count = 0; count < 4; count += 1) await sendAs("greedy", "two");
    await expect.poll(() => ended, SOON).toEqual(expect.arrayContaining([1, 2, 3]));
    expect(ended).not.toContain(0);
    expect(ended).not.toContain(4);
  },
);

it("files and discarded bodies are not in memory, and do not count", async () => {
  let [posts, bytes] = [0, 0];
  const ended = await start((request) => {
    if (request.method === "GET") return ANSWER;
    request.on("data", (part) => {
      bytes += part.length;
    });
    posts += 1;
    if (posts > 4) drain(request, "network");
    return null;
  });
  const types = [...Array(4).fill("multipart/form-data; boundary=x"), ...Array(4).fill("text/x")];
  for (const type of types) await send(post(4 * MEGABYTE, type));
  await expect.poll(() => bytes, SOON).toBe(32 * MEGABYTE);
  for (let count = 0; count < 3; count += 1) await send(GET);
  await expect.poll(() => ended, SOON).toEqual(expect.arrayContaining([8, 9]));
  expect(Math.min(...ended)).toBe(8);
});

it("answers that a client who left did not wait for do not count", async () => {
  let [requests, closed] = [0, 0];
  const ended = await start(
    () => {
      requests += 1;
      return ANSWER;
    },
    () => {
      closed += 1;
    },
  );
  const ahead = GET.replace("Connection: close\r\n", "");
  for (const sent of [2, 4, 6, 8]) {
    const socket = await send(ahead + GET);
    await expect.poll(() => requests, SOON).toBe(sent);
    socket.destroy();
    await expect.poll(() => ended.length, SOON).toBe(sent);
  }
  await setTimeout(2 * LOOK_EVERY_MS);
  expect(closed).toBe(0);
});

it("of thousands who send nothing more, each from a network of its own, the oldest are disconnected", async () => {
  const ended = await start((request) => {
    request.resume();
    return null;
  });
  const CLIENTS = 800;
  for (let count = 0; count < CLIENTS; count += 1) {
    await send(post(1).replace("Host: x", `Host: ${count}`));
  }
  // Each occupies 16 KiB and more, though it has sent a line.
  await expect.poll(() => ended.length, SOON).toBeGreaterThan(100);
  await setTimeout(2 * LOOK_EVERY_MS);
  expect(ended.length).toBeLessThan(CLIENTS / 2 + 100);
  expect(Math.max(...ended)).toBeLessThan(ended.length + 5);
});

it("strangers do not disconnect an account, whose limit is another", async () => {
  const ended = await start((request) => {
    const { cookie } = request.headers;
    if (cookie) noteAccount(request, cookie);
    request.resume();
    return null;
  });
  await send(post(4 * MEGABYTE, "application/json", "Cookie: account\r\n"));
  for (let count = 0; count < 8; count += 1) {
    await send(post(2 * MEGABYTE).replace("Host: x", `Host: ${count}`));
  }
  await expect.poll(() => ended.length, SOON).toBeGreaterThan(1);
  await setTimeout(2 * LOOK_EVERY_MS);
  expect(ended).not.toContain(0);
});
