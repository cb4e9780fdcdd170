import { once } from "node:events";
import { createServer, IncomingMessage, type Server } from "node:http";
import { type AddressInfo, connect, Socket } from "node:net";
import { buffer } from "node:stream/consumers";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, expect, it } from "vitest";
import { gatherChunks } from "../../../src/platform/http/gather-chunks.ts";
import { LoopTurns } from "../../../src/platform/http/loop-turns.ts";
import { gateReading, readInTurns } from "../../../src/platform/http/read-in-turns.ts";

const BLOCK_BYTES = 64 * 1024;
const BODY_BYTES = 16 * BLOCK_BYTES;
const PER_TURN = 3;

let server: Server | undefined;
const clients: Socket[] = [];
afterEach(() => {
  for (const client of clients.splice(0)) client.destroy();
  server?.close();
});

type Options = { is_file: boolean; onRequest: (request: IncomingMessage) => void };

async function start({ is_file, onRequest }: Options): Promise<void> {
  const turns = new LoopTurns(PER_TURN);
  server = createServer((request, answer) => {
    readInTurns(request, request.headers.host!, turns);
    gatherChunks(request, is_file);
    onRequest(request);
    request.once("end", () => answer.end("yes"));
  });
  server.on("connection", gateReading);
  await once(server.listen(0, "127.0.0.1"), "listening");
}

function open(head: string): Socket {
  const client = connect((server!.address() as AddressInfo).port, "127.0.0.1");
  clients.push(client.on("error", () => {}));
  client.write(`POST / HTTP/1.1\r\n${head}\r\n\r\n`);
  return client;
}

/** For each turn of the event loop, how much was read of all connections in it. */
function countTurns(opened: readonly IncomingMessage[]) {
  const bytes: number[] = [];
  let [before, is_over] = [0, false];
  const look = () => {
    const now = opened.reduce((sum, { socket }) => sum + socket.bytesRead, 0);
    bytes.push(now - before);
    before = now;
    if (!is_over) setImmediate(look);
  };
  look();
  return () => {
    is_over = true;
    return bytes;
  };
}

it.each([true, false])(
  "of all bodies a few blocks are read in a turn (files: %s)",
  async (is_file) => {
    const opened: IncomingMessage[] = [];
    const bodies: Promise<Buffer>[] = [];
    const onRequest = (request: IncomingMessage) => {
      opened.push(request);
      bodies.push(buffer(request));
    };
    await start({ is_file, onRequest });
    const sockets = Array.from({ length: 40 }, () =>
      open(`Host: a\r\nContent-Length: ${BODY_BYTES}`),
    );
    const body = Buffer.alloc(BODY_BYTES, "a sample ");
    // The first part of each is read when it arrives.
    for (const socket of sockets) socket.write(body.subarray(0, 2 * BLOCK_BYTES));
    while (opened.length < 40) await nextTurn();
    for (let turn = 0; turn < 200; turn += 1) await nextTurn();
    const end = countTurns(opened);
    await nextTurn();
    for (const socket of sockets) socket.write(body.subarray(2 * BLOCK_BYTES));
    const received = await Promise.all(bodies);
    // Beside the blocks in turns each may read one that it has waited for.
    const [, , ...turns] = end();
    const many = turns.filter((bytes) => bytes > PER_TURN * BLOCK_BYTES);
    expect(many.length).toBeLessThanOrEqual(2);
    expect(received.every((one) => one.equals(body))).toBe(true);
  },
);

it("a sender with many bodies does not delay another's", async () => {
  const ended: string[] = [];
  await start({
    is_file: false,
    onRequest: (request) =>
      request.on("data", () => {}).once("end", () => ended.push(request.headers.host!)),
  });
  const body = Buffer.alloc(BODY_BYTES);
  for (let count = 0; count < 40; count += 1) {
    open(`Host: many\r\nContent-Length: ${BODY_BYTES}`).write(body);
  }
  for (let turn = 0; turn < 20; turn += 1) await nextTurn();
  open(`Host: one\r\nContent-Length: ${BODY_BYTES}`).write(body);
  await expect.poll(() => ended.length, { timeout: 20_000 }).toBe(41);
  expect(ended.indexOf("one")).toBeLessThan(20);
});

it("the bodies of a sender that arrived first are complete before others are read", async () => {
  const opened: IncomingMessage[] = [];
  let [ended, read_of_last] = [0, 0];
  await start({
    is_file: false,
    onRequest: (request) => {
      opened.push(request);
      request
        .on("data", () => {})
        .once("end", () => {
          ended += 1;
          if (ended !== 10) return;
          read_of_last = opened.slice(20).reduce((sum, { socket }) => sum + socket.bytesRead, 0);
        });
    },
  });
  const body = Buffer.alloc(BODY_BYTES);
  for (let count = 0; count < 40; count += 1) {
    open(`Host: a\r\nContent-Length: ${BODY_BYTES}`).write(body);
  }
  await expect.poll(() => ended, { timeout: 20_000 }).toBe(40);
  expect(read_of_last).toBeLessThan(0.3 * 20 * BODY_BYTES);
});

it("the first bytes of a file are passed on, though no more arrive", async () => {
  const parts: string[] = [];
  await start({
    is_file: true,
    onRequest: (request) => request.on("data", (part: Buffer) => parts.push(part.toString())),
  });
  const client = open("Host: a\r\nTransfer-Encoding: chunked");
  client.write("1\r\na\r\n1\r\nb\r\n1\r\nc\r\n");
  await expect.poll(() => parts.join("")).toBe("abc");
  expect(parts.length).toBe(1);
});

it("whose client is gone takes no turn any more", async () => {
  const turns = new LoopTurns(1);
  const order: string[] = [];
  const make = (name: string) => {
    const socket = new Socket();
    socket.resume = () => {
      order.push(name);
      return socket;
    };
    gateReading(socket);
    const request = new IncomingMessage(socket);
    readInTurns(request, name, turns);
    request.push(Buffer.alloc(10));
    return request;
  };
  const [first, gone, last] = [make("first"), make("gone"), make("last")];
  for (const { socket } of [first, gone, last]) socket.resume();
  gone.emit("close");
  for (let turn = 0; turn < 5; turn += 1) await nextTurn();
  expect(order).toEqual(["first", "last"]);
});
