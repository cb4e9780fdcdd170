import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from "node:http";
import type { Socket } from "node:net";

/** How many requests a client may send ahead of their answers. */
export const AHEAD_MAX = 100;
/** A client that sends even more is disconnected at once. */
const UNREAD_MAX = 1000;

type Limits = { keep_alive_ms: number; request_ms: number; connection_ms: number };

/**
 * Node's HTTP server. It answers nothing by itself: a request with an unknown `Expect` or without
 * `Host` reaches the handler, which refuses it like any other.
 */
export function createNodeServer(handle: RequestListener, limits: Limits): Server {
  const admit = createAdmission();
  const onRequest = (request: IncomingMessage, answer: ServerResponse) => {
    if (admit(request.socket, answer)) handle(request, answer as never);
  };
  const server = createServer({ requireHostHeader: false }, onRequest);
  server.on("checkExpectation", onRequest);
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
