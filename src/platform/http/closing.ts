import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { FastifyInstance } from "fastify";
import { SECOND_MS } from "../durations.ts";

const LOOK_EVERY_MS = 100;
/** For requests to arrive completely and answers to be read; Node ends its own limits. */
const SLOW_MAX_MS = 10 * SECOND_MS;

/**
 * Callers keep their connections open for the next request. While closing, answers announce the end
 * of the connection, and idle connections are closed. After a while all others are closed for which
 * nothing is worked on: otherwise one slow caller could delay the stop as long as it likes.
 */
export function addClosing(app: FastifyInstance, slow_max_ms = SLOW_MAX_MS): void {
  let closing_since_ms: number | undefined;
  let timer: NodeJS.Timeout | undefined;
  const sockets = new Set<Socket>();
  const answers = new WeakMap<Socket, ServerResponse>();
  app.server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  const isWorkedOn = (socket: Socket): boolean => {
    const answer = answers.get(socket);
    return answer?.req.complete === true && !answer.writableEnded;
  };
  const look = () => {
    app.server.closeIdleConnections();
    if (performance.now() - closing_since_ms! < slow_max_ms) return;
    for (const socket of sockets) if (!isWorkedOn(socket)) socket.destroy();
  };
  app.addHook("onRequest", (request, reply, done) => {
    answers.set(request.raw.socket, reply.raw);
    done();
  });
  app.addHook("preClose", async () => {
    closing_since_ms = performance.now();
    timer = setInterval(look, LOOK_EVERY_MS).unref();
  });
  app.addHook("onClose", async () => clearInterval(timer));
  app.addHook("onSend", (_request, reply, _payload, done) => {
    if (closing_since_ms !== undefined) reply.header("Connection", "close");
    done();
  });
}
