import { once } from "node:events";
import { createServer, get, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createNodeServer } from "../../../src/platform/http/node-server.ts";

const UNDER_WAY_MAX = 1_000;
const AHEAD = 50;

let server: ReturnType<typeof createNodeServer>;
let waiting: ServerResponse[];
let onRequest: (request: IncomingMessage, answer: ServerResponse) => void;
beforeEach(async () => {
  waiting = [];
  onRequest = (_request, answer) => void waiting.push(answer);
  server = createNodeServer((request, answer) => onRequest(request, answer), {
    accountOf: ({ headers }) => (headers.authorization === "one" ? "account of one" : undefined),
    addressOf: (incoming) => incoming.socket.remoteAddress ?? "",
    keep_alive_ms: 60_000,
    request_ms: 60_000,
    connection_ms: 60_000,
    onSlowClosed: () => {},
    onRefused: () => {},
    refuse: (answer) => {
      answer.writeHead(503, { "Content-Length": 2 });
      answer.end("no");
    },
  });
  server.on("clientError", (_error, socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

function open() {
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  socket.setEncoding("utf8").on("error", () => {});
  const client = { socket, received: "", closed: once(socket, "close") };
  socket.on("data", (part: string) => {
    client.received += part;
  });
  return client;
}

const GET = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
const GET_AS_ONE = "GET / HTTP/1.1\r\nHost: x\r\nAuthorization: one\r\n\r\n";
const countRefused = (received: string) => received.split("HTTP/1.1 503").length - 1;

/** Nothing of them is answered: one more of the same sender is refused. */
async function fill(text: string): Promise<void> {
  // The server measures how late it is: not all at once.
  for (let sent = 0; sent < UNDER_WAY_MAX; sent += AHEAD) {
    const { socket } = open();
    socket.write(text.repeat(AHEAD));
  }
  // One of each connection begins; the rest is counted with it.
  while (waiting.length < UNDER_WAY_MAX / AHEAD) await new Promise((done) => setTimeout(done, 5));
}

it("who has no account is disconnected with the refusal, and what follows is not answered", async () => {
  await fill(GET);
  const client = open();
  client.socket.write(GET.repeat(10));
  await client.closed;
  expect(countRefused(client.received)).toBe(1);
  expect(client.received.toLowerCase()).toContain("connection: close");
});

it("a connection of an account stays open, unless it has sent several requests ahead", async () => {
  await fill(GET_AS_ONE);
  const client = open();
  for (let sent = 1; sent <= 3; sent += 1) {
    client.socket.write(GET_AS_ONE);
    while (countRefused(client.received) < sent) await once(client.socket, "data");
  }
  expect(client.received.toLowerCase()).not.toContain("connection: close");
  client.socket.write(GET_AS_ONE.repeat(20));
  await client.closed;
  expect(countRefused(client.received)).toBe(13);
  // Nobody else is refused.
  const other = open();
  const before = waiting.length;
  other.socket.write(GET);
  while (waiting.length === before) await new Promise((done) => setTimeout(done, 5));
  expect(other.received).toBe("");
});

it("closes the oldest of 3,000 connections that send nothing, and answers on the others", async () => {
  const clients = [];
  for (let opened = 0; opened < 3_001; opened += 1) {
    const client = open();
    clients.push(client);
    await once(client.socket, "connect");
  }
  await clients[0]!.closed;
  const last = clients.at(-1)!;
  last.socket.write(GET);
  while (waiting.length === 0) await new Promise((done) => setTimeout(done, 5));
  waiting[0]!.end("yes");
  while (!last.received.includes("yes")) await once(last.socket, "data");
  expect(clients.filter(({ socket }) => socket.destroyed)).toHaveLength(1);
});

it("is told of no chunk after a body is refused, and reads the bodies of later connections", async () => {
  let chunks = 0;
  onRequest = (request) => {
    const push = request.push.bind(request);
    request.push = (chunk, encoding) => {
      chunks += 1;
      return push(chunk, encoding);
    };
    request.on("error", () => {}).resume();
  };
  const head = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (let sent = 0; sent < 5; sent += 1) {
    const client = open();
    client.socket.write(`${head}${"1\r\nx\r\n".repeat(10_000)}`);
    await client.closed;
  }
  expect(chunks).toBeGreaterThan(5 * 100);
  expect(chunks).toBeLessThan(5 * 200);
  onRequest = (request, answer) => {
    let body = "";
    request.on("data", (part) => {
      body += part;
    });
    request.on("end", () => answer.end(`read ${body}`));
  };
  for (let sent = 0; sent < 10; sent += 1) {
    const client = open();
    client.socket.write(`${head}3\r\nabc\r\n0\r\n\r\n`);
    while (!client.received.includes("read abc")) await once(client.socket, "data");
    client.socket.destroy();
  }
});

it("reads nothing more of a connection after its body is refused", async () => {
  let socket: Socket | undefined;
  onRequest = (request) => {
    socket = request.socket;
    request.on("error", () => {}).pause();
  };
  const client = open();
  client.socket.write("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
  const sending = setInterval(() => client.socket.write("1\r\nx\r\n".repeat(10_000)), 5);
  // It is closed while the client sends, which is an error for the client.
  await client.closed.catch(() => {});
  clearInterval(sending);
  expect(client.received).toMatch(/^HTTP\/1\.1 400 /);
  // A block of 64 KiB at a time is read; it was refused in the first one.
  expect(socket!.bytesRead).toBeLessThan(3 * 64 * 1024);
});

it("keeps nothing of a refused body in memory, whether it is read or not", async () => {
  const TINY = "1\r\nx\r\n".repeat(10_000);
  const readers = [
    (request: IncomingMessage) => request.pause(),
    (request: IncomingMessage) => request.on("data", () => {}).pause(),
    (request: IncomingMessage) => request.pipe(new PassThrough()).pause(),
  ];
  for (const read of readers) {
    const requests: IncomingMessage[] = [];
    onRequest = (request) => {
      requests.push(request);
      read(request.on("error", () => {}));
    };
    const client = open();
    client.socket.write(`POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${TINY}`);
    await client.closed;
    expect(requests.map(({ readableLength }) => readableLength)).toEqual([0]);
  }
});

it("Node's own requests read their answers after bodies were refused", async () => {
  onRequest = (request) => request.on("error", () => {}).resume();
  const other = createServer((_request, answer) => answer.end("whole")).listen(0, "127.0.0.1");
  await once(other, "listening");
  for (let sent = 0; sent < 5; sent += 1) {
    const client = open();
    client.socket.write(
      `POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${"1\r\nx\r\n".repeat(1_000)}`,
    );
    await client.closed;
    const { port } = other.address() as AddressInfo;
    const [answer] = await once(get({ host: "127.0.0.1", port, agent: false }), "response");
    expect(await text(answer)).toBe("whole");
  }
  other.close();
});

it("begins no request of a stranger who is gone before its turn", async () => {
  const CLIENTS = 60;
  let begun = 0;
  onRequest = (_request, answer) => {
    begun += 1;
    answer.end();
  };
  const clients: ReturnType<typeof open>[] = [];
  for (let opened = 0; opened < CLIENTS; opened += 1) {
    const accepted = once(server, "connection");
    clients.push(open());
    await accepted;
  }
  let reached = 0;
  server.prependListener("request", (request: IncomingMessage) => {
    reached += 1;
    // As if the client had reset the connection.
    request.socket.destroy();
  });
  for (const { socket } of clients) socket.write(GET);
  await Promise.all(clients.map(({ closed }) => closed));
  expect(reached).toBe(CLIENTS);
  for (let turn = 0; turn < CLIENTS; turn += 1) await new Promise(setImmediate);
  expect(begun).toBeLessThan(CLIENTS / 2);
});

it("begins a probe of health before the strangers that wait", async () => {
  const order: string[] = [];
  onRequest = (request, answer) => {
    order.push(request.url!);
    answer.end();
  };
  const clients: ReturnType<typeof open>[] = [];
  while (clients.length < 60) {
    const accepted = once(server, "connection");
    clients.push(open());
    await accepted;
  }
  const probe = clients.pop()!;
  for (const { socket } of clients) socket.write(GET);
  probe.socket.write(GET.replace("/", "/healthz"));
  while (order.length < 60) await new Promise(setImmediate);
  // All arrive in a few turns, and two of the others begin in each.
  expect(order.indexOf("/healthz")).toBeLessThan(20);
});

it("refuses more than 200 headers, and reads nothing more", async () => {
  let requests = 0;
  onRequest = (_request, answer) => {
    requests += 1;
    answer.end("yes");
  };
  const get = (headers: number) => `GET / HTTP/1.1\r\n${"a: b\r\n".repeat(headers)}\r\n`;
  const refused = open();
  refused.socket.write(get(201) + GET);
  await refused.closed;
  expect(refused.received).toMatch(/^HTTP\/1\.1 400 /);
  expect(refused.received.split("HTTP/1.1")).toHaveLength(2);
  expect(requests).toBe(0);
  const answered = open();
  answered.socket.write(get(200));
  while (!answered.received.includes("yes")) await once(answered.socket, "data");
});

describe("a refused request with a body", () => {
  const MEGABYTE = 1024 * 1024;
  const post = (bytes: number) =>
    GET_AS_ONE.replace("GET", "POST").replace("\r\n\r\n", `\r\nContent-Length: ${bytes}\r\n\r\n`);

  it("is answered, and the connection of an account stays open", async () => {
    await fill(GET_AS_ONE);
    const client = open();
    const is_sent = new Promise((done) => client.socket.write(post(4 * MEGABYTE), done));
    await is_sent;
    client.socket.pause();
    await new Promise((done) => client.socket.write(Buffer.alloc(4 * MEGABYTE), done));
    client.socket.resume();
    client.socket.write(GET_AS_ONE);
    while (countRefused(client.received) < 2) await once(client.socket, "data");
  });

  it("is answered and closed, though the body does not end", async () => {
    await fill(GET_AS_ONE);
    const client = open();
    client.socket.write(`${post(4 * MEGABYTE)}abc`);
    await client.closed;
    expect(countRefused(client.received)).toBe(1);
  });

  it("closes the connection of a stranger, and says so: a proxy sends no more on it", async () => {
    await fill(GET);
    const client = open();
    const text = `${post(3).replace("Authorization: one\r\n", "")}abc`;
    client.socket.write(text);
    await client.closed;
    expect(countRefused(client.received)).toBe(1);
    expect(client.received.toLowerCase()).toContain("connection: close");
  });

  it("does not cut the answers to earlier requests of the connection", async () => {
    await fill(GET_AS_ONE);
    const other = GET_AS_ONE.replace("one", "nobody");
    const client = open();
    const before = waiting.length;
    client.socket.write(other);
    while (waiting.length === before) await new Promise((done) => setTimeout(done, 5));
    client.socket.write(`${post(3)}abc${post(5)}a`);
    await new Promise((done) => setTimeout(done, 1_500));
    waiting.at(-1)!.end("yes");
    await client.closed;
    expect(client.received).toContain("yes");
    expect(countRefused(client.received)).toBe(2);
  });

  it("is read in turns with others", async () => {
    await fill(GET_AS_ONE);
    const sockets: Socket[] = [];
    server.on("connection", (socket) => sockets.push(socket));
    const clients = Array.from({ length: 40 }, () => open());
    for (const { socket } of clients) socket.write(post(MEGABYTE));
    while (clients.some(({ received }) => received === "")) await new Promise(setImmediate);
    let [before, most, is_over] = [0, 0, false];
    const look = () => {
      const now = sockets.reduce((sum, { bytesRead }) => sum + bytesRead, 0);
      if (before > 40 * 2 * 64 * 1024) most = Math.max(most, now - before);
      before = now;
      if (!is_over) setImmediate(look);
    };
    look();
    for (const { socket } of clients) socket.write(Buffer.alloc(MEGABYTE));
    while (before < 40 * MEGABYTE) await new Promise(setImmediate);
    is_over = true;
    expect(most).toBeLessThanOrEqual(8 * 64 * 1024);
  });
});
