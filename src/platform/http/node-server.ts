import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from "node:http";
import type { Socket } from "node:net";
import { runForNobody } from "../db/caller-context.ts";
import { callerNetwork } from "./caller-network.ts";
import { createConnectionOrder } from "./connection-order.ts";
import { closeAfterBody } from "./drain.ts";
import { gatherChunks } from "./gather-chunks.ts";
import { createIdleConnections } from "./idle-connections.ts";
import { LoopTurns } from "./loop-turns.ts";
import { createOverload, type OverloadOptions } from "./overload.ts";
import { gateReading, readInTurns } from "./read-in-turns.ts";
import { createSlowClients, isFile } from "./slow-clients.ts";

/** How many requests a client may send ahead of their answers. */
export const AHEAD_MAX = 100;
/**
 * Requests without an account that begin in one turn of the event loop, if more have arrived. A few
 * new connections are accepted in each turn (`listeners.ts`), so turns must be short.
 */
const NETWORKS_BEGIN = 2;
/** Blocks of bodies that are read in one turn of the event loop. */
const ACCOUNTS_READ = 4;
const NETWORKS_READ = 2;
/** A connection of an account with so many ahead is closed with a refusal. */
const REFUSED_AHEAD_MAX = 10;
/** Thousands of short ones would take ten times the memory of their text. */
const HEADERS_MAX = 200;
/** To Node's parser: nothing follows that is a request. */
const SKIP_REST = 2;

/** Chunks that a body may have, however small they are; more must have a size on average. */
const CHUNKS_MAX = 100;
const CHUNK_BYTES_MIN = 128;
const LAST_ANSWER_MS = 1_000;
export const TINY_CHUNKS = "ERR_TINY_CHUNKS";
export const TOO_MANY_HEADERS = "ERR_TOO_MANY_HEADERS";

type Limits = OverloadOptions & {
  keep_alive_ms: number;
  request_ms: number;
  connection_ms: number;
  /** Clients were disconnected because together they were too slow. */
  onSlowClosed: (connections: number) => void;
  /** Refuses a request because too many arrive: it must cost little. */
  refuse: (answer: ServerResponse) => void;
};

/**
 * Node's HTTP server. Only what comes too fast or in too many chunks is refused here: a request
 * with an unknown `Expect` or without `Host` reaches the handler, which refuses it like any other.
 */
export function createNodeServer(handle: RequestListener, limits: Limits): Server {
  const idle = createIdleConnections();
  const countOpen = createCount();
  const admit = createOverload(limits);
  const watchClient = createSlowClients(limits.addressOf, limits.onSlowClosed);
  const afterEarlier = createConnectionOrder();
  const turns = new LoopTurns(NETWORKS_BEGIN);
  const reads = {
    of_accounts: new LoopTurns(ACCOUNTS_READ),
    of_networks: new LoopTurns(NETWORKS_READ),
  };
  const onRequest = (request: IncomingMessage, answer: ServerResponse) => {
    const { socket } = request;
    if (ended.has(socket)) return;
    idle.delete(socket);
    if (request.rawHeaders.length > 2 * HEADERS_MAX) {
      ended.add(socket);
      refuseUnread(server, socket, answer, TOO_MANY_HEADERS);
      return;
    }
    const { name, is_account, is_refused } = admit(request, answer);
    const ahead = countOpen(socket, answer, () => idle.add(socket, name, is_account));
    // To refuse more of a connection, too, takes time.
    const ahead_max = is_refused ? (is_account ? REFUSED_AHEAD_MAX : 1) : AHEAD_MAX;
    if (ahead >= ahead_max) answer.shouldKeepAlive = false;
    if (!answer.shouldKeepAlive) ended.add(socket);
    const { "content-length": length, "transfer-encoding": encoding } = request.headers;
    if (encoding !== undefined || Number(length) > 0) {
      readInTurns(request, name, is_account ? reads.of_accounts : reads.of_networks);
      gatherChunks(request, isFile(request));
      if (encoding !== undefined) limitChunks(server, request, answer);
      if (is_refused) discardBody(request, answer);
    }
    if (is_refused) {
      limits.refuse(answer);
      return;
    }
    watchClient(request, answer, is_account ? name : undefined);
    const begin = () => runForNobody(() => handle(request, answer as never));
    // Of a client that is gone by then nothing begins: there may be any number of them.
    const waitForTurn = () => void answer.once("close", turns.wait(name, begin));
    afterEarlier(request, answer, is_account ? begin : waitForTurn);
  };
  const server: Server = createServer({ requireHostHeader: false }, onRequest);
  server.on("checkExpectation", onRequest);
  server.on("connection", (socket) => {
    skipAfterLast(socket);
    gateReading(socket);
    idle.add(socket, callerNetwork(socket.remoteAddress), false);
    socket.once("close", () => idle.delete(socket));
  });
  // Events of connections run in the context in which the server began to listen.
  const listen = server.listen.bind(server) as (...given: unknown[]) => Server;
  server.listen = (...given: unknown[]) => runForNobody(() => listen(...given));
  server.keepAliveTimeout = limits.keep_alive_ms;
  server.requestTimeout = limits.request_ms;
  server.setTimeout(limits.connection_ms);
  return server;
}

type CountOpen = (socket: Socket, answer: ServerResponse, onNone: () => void) => number;

/** How many requests of the connection are not answered yet, or were in this turn. */
function createCount(): CountOpen {
  const open = new WeakMap<Socket, number>();
  return (socket, answer, onNone) => {
    const count = (open.get(socket) ?? 0) + 1;
    open.set(socket, count);
    const decrease = () => {
      const left = open.get(socket)! - 1;
      open.set(socket, left);
      if (left === 0) onNone();
    };
    answer.once("close", () => setImmediate(decrease));
    return count;
  };
}

/** Connections of which no further request is answered: the last answer closes them. */
const ended = new WeakSet<Socket>();

/** Node's own function for each request; not part of its documented interface. */
type Parser = Record<string, unknown> & {
  onIncoming?: (request: IncomingMessage, keep_alive: boolean) => number;
};
type ParsedSocket = Socket & { parser?: Parser };

/**
 * Node parses what arrives in blocks of 64 KiB, which can be thousands of requests, and makes all
 * of them before another connection has its turn, even if this one is paused or destroyed: a few
 * hundred connections would stop everybody for ten seconds. After the last request that is
 * answered the parser is told to stop, as it does when a connection is upgraded.
 */
function skipAfterLast(socket: ParsedSocket): void {
  const { parser } = socket;
  const begin = parser?.onIncoming;
  if (!parser || !begin) return;
  parser.onIncoming = (request, keep_alive) => {
    if (!ended.has(socket)) return begin(request, keep_alive);
    stopReading(socket);
    return SKIP_REST;
  };
}

/** For good: Node would resume it when an earlier answer is sent, or a body is read on. */
function stopReading(socket: Socket): void {
  socket.pause();
  socket.resume = () => socket;
}

/**
 * Its parser tells nobody of the chunks that follow: the rest of a block, up to 64 KiB, is parsed
 * all the same, but in an eighth of the time. Node uses the parser again once the connection is
 * closed, also for answers to its own requests.
 */
function dropBody(socket: ParsedSocket): void {
  const { parser } = socket;
  const own = Object.entries(parser ?? {}).find(
    ([, value]) => typeof value === "function" && value.name === "parserOnBody",
  );
  if (!parser || !own) return;
  const [name, onBody] = own;
  parser[name] = null;
  socket.once("close", () => {
    parser[name] = onBody;
  });
}

/**
 * Node passes on each chunk of a body by itself, which takes some microseconds and some hundred
 * bytes: a body of 1 MiB in chunks of one byte would take seconds in which nobody else is answered.
 */
function limitChunks(server: Server, request: IncomingMessage, answer: ServerResponse): void {
  const { socket } = request;
  const push = request.push.bind(request);
  let [chunks, bytes, is_refused] = [0, 0, false];
  request.push = (chunk: Buffer | null, encoding) => {
    if (is_refused) return false;
    if (chunk === null) return push(chunk, encoding);
    chunks += 1;
    bytes += chunk.length;
    if (chunks <= CHUNKS_MAX || bytes >= chunks * CHUNK_BYTES_MIN) return push(chunk, encoding);
    is_refused = true;
    dropBody(socket);
    // Otherwise what arrived of it stays in memory as long as the connection: a gigabyte of many.
    request.removeAllListeners("data").resume();
    refuseUnread(server, socket, answer, TINY_CHUNKS);
    return false;
  };
}

/**
 * Read in turns like others until it is complete, so that the client gets to read the answer; after
 * a moment the connection is closed. Node would discard it without turns.
 */
function discardBody(request: IncomingMessage, answer: ServerResponse): void {
  const { socket } = request;
  closeAfterBody(request);
  // Earlier answers of the connection are sent before.
  answer.once("finish", () => {
    if (request.complete) return;
    const timer = setTimeout(() => socket.destroy(), LAST_ANSWER_MS).unref();
    request.once("end", () => clearTimeout(timer));
  });
  request.on("error", () => {}).resume();
}

/** Nothing more of the connection is read, and it is closed, also if nobody reads the answer. */
function refuseUnread(server: Server, socket: Socket, answer: ServerResponse, code: string): void {
  stopReading(socket);
  if (answer.headersSent) socket.destroySoon();
  else server.emit("clientError", Object.assign(new Error(), { code }), socket);
  setTimeout(() => socket.destroy(), LAST_ANSWER_MS).unref();
}
