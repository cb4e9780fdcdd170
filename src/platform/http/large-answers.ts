import type { FastifyInstance } from "fastify";
import { callerNetwork } from "./caller-network.ts";
import { LoopTurns } from "./loop-turns.ts";

/** Writing more than this takes the thread that answers everybody about a millisecond. */
const LARGE_BYTES = 64 * 1024;

/**
 * Anybody can ask for the large files that need no key, on thousands of connections at once, and
 * need not read them. One such answer is sent per turn of the event loop; networks take turns.
 */
export function addLargeAnswers(app: FastifyInstance): void {
  const turns = new LoopTurns(1);
  app.addHook("onSend", (request, { raw }, payload, done) => {
    if (request.caller || raw.closed || sizeOf(payload) <= LARGE_BYTES) {
      done();
      return;
    }
    const leave = turns.wait(callerNetwork(request.ip), done);
    // To nobody it costs nothing.
    raw.once("close", () => leave() && done());
  });
}

function sizeOf(payload: unknown): number {
  return typeof payload === "string" || Buffer.isBuffer(payload) ? payload.length : 0;
}
