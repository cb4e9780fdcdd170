import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from "node:http";
import type { Socket } from "node:net";
import { runForNobody } from "../db/caller-context.ts";
import type { AddressOf } from "./caller-network.ts";
import { createOverload } from "./overload.ts";
import { createSlowClients } from "./slow-clients.ts";

/** How many requests a client may send ahead of their answers. */
export const AHEAD_MAX = 100;
/** A client that sends even more is disconnected at once. */
const UNREAD_MAX = 1000;

/** Chunks that a body may have, however small they are; more must have a size on average. */
const CHUNKS_MAX = 500;
const CHUNK_BYTES_MIN = 32;
const LAST_ANSWER_MS = 1_000;
export const TINY_CHUNKS = "ERR_TINY_CHUNKS";

type Limits = {
  keep_alive_ms: number;
  request_ms: number;
  connection_ms: number;
  /** Clients were disconnected because together they were too slow. */
  onSlowClosed: (connections: number) => void;
  addressOf: AddressOf;
  refuse: (answer: ServerResponse) => void;
  /** So many requests were refused since the last call, because too many arrive. */
  onRefused: (requests: number) => void;
};

/**
 * Node's HTTP server. It answers nothing by itself: a request with an unknown `Expect` or without
 * `Host` reaches the handler, which refuses it like any other.
 */
export function createNodeServer(handle: RequestListener, limits: Limits): Server {
  const admit = createAdmission();
  const isAdmitted = createOverload(limits);
  const watchClient = createSlowClients(limits.addressOf, limits.onSlowClosed);
  const onRequest = (request: IncomingMessage, answer: ServerResponse) => {
    if (!admit(request.socket, answer) || !isAdmitted(request, answer)) return;
    watchClient(request, answer);
    if (request.headers["transfer-encoding"] !== undefined) limitChunks(server, request, answer);
    handle(request, answer as never);
  };
  const server: Server = createServer({ requireHostHeader: false }, onRequest);
  server.on("checkExpectation", onRequest);
  // Events of connections run in the context in which the server began to listen.
  const listen = server.listen.bind(server) as (...given: unknown[]) => Server;
  server.listen = (...given: unknown[]) => runForNobody(() => listen(...given));
  server.keepAliveTimeout = limits.keep_alive_ms;
  server.requestTimeout = limits.request_ms;
  server.setTimeout(limits.connection_ms);
  return server;
}

/**
 * Node reads requests as fast as they arrive, each kept in memory until the ones before it are
 * answered, and up to 2 MB of them without a pause for other connections. After `AHEAD_MAX`
 * requests nothing more is taken from the connection; it is closed after the last answer.
 */
function createAdmission(): (socket: Socket, answer: ServerResponse) => boolean {
  const connections = new WeakMap<Socket, { open: number; unread: number }>();
  return (socket, answer) => {
    const connection = connections.get(socket) ?? { open: 0, unread: 0 };
    connections.set(socket, connection);
    if (connection.open >= AHEAD_MAX || connection.unread > 0) {
      connection.unread += 1;
      if (connection.unread > UNREAD_MAX) socket.destroy();
      else socket.pause();
      return false;
    }
    connection.open += 1;
    answer.once("close", () => {
      connection.open -= 1;
    });
    if (connection.open === AHEAD_MAX) answer.shouldKeepAlive = false;
    return true;
  };
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
    // Node then stops reading.
    if (is_refused) return false;
    if (chunk === null) return push(chunk, encoding);
    chunks += 1;
    bytes += chunk.length;
    if (chunks <= CHUNKS_MAX || bytes >= chunks * CHUNK_BYTES_MIN) return push(chunk, encoding);
    is_refused = true;
    if (answer.headersSent) socket.destroySoon();
    else server.emit("clientError", Object.assign(new Error(), { code: TINY_CHUNKS }), socket);
    setTimeout(() => socket.destroy(), LAST_ANSWER_MS).unref();
    return false;
  };
}
