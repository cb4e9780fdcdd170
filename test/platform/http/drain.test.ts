import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, it } from "vitest";
import { drain } from "../../../src/platform/http/drain.ts";
import { countChunks, gatherChunks } from "../../../src/platform/http/gather-chunks.ts";

const MEGABYTE = 1024 * 1024;
const BODY_BYTES = 4 * MEGABYTE;
/** What refused bodies may send, all together, and what the buffers of each may take. */
const BYTES_PER_SECOND = 40 * MEGABYTE;
const BUFFERED_MAX = 256 * 1024;

let server: Server;
let opened: IncomingMessage[] = [];
const clients: Socket[] = [];
afterEach(() => {
  for (const client of clients.splice(0)) client.destroy();
  opened = [];
  server.close();
});

/** A server that refuses everything before it has read the body; the sender is the host. */
async function start(): Promise<void> {
  server = createServer((request, answer) => {
    opened.push(request);
    gatherChunks(request, false);
    answer.writeHead(401, { "Content-Length": 2 }).end("no");
    drain(request, request.headers.host!);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
}

/** Sends all of a body before it reads the answer. */
async function upload(host: string): Promise<{ socket: Socket; sent: Promise<void> }> {
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  clients.push(socket);
  socket.pause().on("error", () => {});
  const head = `POST / HTTP/1.1\r\nHost: ${host}\r\nContent-Length: ${BODY_BYTES}\r\n\r\n`;
  socket.write(head);
  const sent = new Promise<void>((done) => socket.write(Buffer.alloc(BODY_BYTES), () => done()));
  return { socket, sent };
}

const readBytes = () => opened.reduce((sum, { socket }) => sum + socket.bytesRead, 0);

it("many refused bodies are read at a limited rate, and those of others in turn", async () => {
  await start();
  for (let count = 0; count < 100; count += 1) await upload("flood");
  await expect.poll(() => opened.length, { timeout: 20_000 }).toBe(100);
  const [begun_ms, before] = [performance.now(), readBytes()];
  await sleep(500);
  const seconds = (performance.now() - begun_ms) / 1_000;
  const most = (seconds + 0.1) * BYTES_PER_SECOND + 100 * BUFFERED_MAX;
  expect(readBytes() - before).toBeLessThan(most);
  const { socket, sent } = await upload("other");
  await sent;
  expect(performance.now() - begun_ms).toBeLessThan(5_000);
  socket.resume();
  const [answer] = await once(socket, "data");
  expect(String(answer)).toContain("401");
  // The flood is still being read: what was begun comes to its end first.
  const countEnded = () => opened.filter((request) => request.readableEnded).length;
  expect(countEnded()).toBeLessThan(100);
  await expect.poll(countEnded, { timeout: 10_000 }).toBeGreaterThan(10);
});

it("a single refused body is read to its end, and the next request is answered", async () => {
  await start();
  const { socket, sent } = await upload("one");
  await sent;
  socket.write("GET / HTTP/1.1\r\nHost: one\r\n\r\n");
  await expect.poll(() => opened.length, { timeout: 5_000 }).toBe(2);
  socket.resume();
  const [answer] = await once(socket, "data");
  expect(String(answer)).toContain("401");
});

it("of refused bodies in small chunks fewer bytes are read: each chunk takes time", async () => {
  await start();
  const CHUNK = 40;
  const chunks = `28\r\n${"x".repeat(CHUNK)}\r\n`.repeat(100_000);
  for (let count = 0; count < 10; count += 1) {
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
    clients.push(socket);
    socket.on("error", () => {});
    socket.write(
      `POST / HTTP/1.1\r\nHost: ${count}\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}`,
    );
  }
  await expect.poll(() => opened.length, { timeout: 20_000 }).toBe(10);
  const countAll = () => opened.reduce((sum, request) => sum + countChunks(request), 0);
  const [begun_ms, before] = [performance.now(), countAll()];
  await sleep(1_000);
  const seconds = (performance.now() - begun_ms) / 1_000;
  const cost = CHUNK + 256;
  const most = ((seconds + 0.3) * BYTES_PER_SECOND) / cost + (10 * BUFFERED_MAX) / CHUNK;
  expect(countAll() - before).toBeLessThan(most);
});

it("bodies of which much has arrived before the refusal are read at the limited rate, too", async () => {
  const REFUSED_AFTER_MS = 200;
  const CONNECTIONS = 8;
  server = createServer((request, answer) => {
    opened.push(request);
    setTimeout(() => {
      answer.writeHead(401, { "Content-Length": 2 }).end("no");
      drain(request, "flood");
    }, REFUSED_AFTER_MS);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  for (let count = 0; count < CONNECTIONS; count += 1) {
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
    clients.push(socket);
    socket.on("error", () => {});
    socket.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${1024 * MEGABYTE}\r\n\r\n`);
    const part = Buffer.alloc(MEGABYTE);
    const send = () => {
      while (socket.write(part));
    };
    socket.on("drain", send);
    send();
  }
  await expect.poll(() => opened.length, { timeout: 20_000 }).toBe(CONNECTIONS);
  await sleep(2 * REFUSED_AFTER_MS);
  const [begun_ms, before] = [performance.now(), readBytes()];
  await sleep(1_000);
  const seconds = (performance.now() - begun_ms) / 1_000;
  const most = (seconds + 0.3) * BYTES_PER_SECOND + CONNECTIONS * BUFFERED_MAX;
  expect(readBytes() - before).toBeLessThan(most);
});
