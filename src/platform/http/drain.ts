import type { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import type { FastifyRequest } from "fastify";
import { callerNetwork } from "./caller-network.ts";
import { type Drained, DrainTurns } from "./drain-turns.ts";
import { countChunks } from "./gather-chunks.ts";

// How much a refused client may still send, so that it gets to read the refusal.
const DRAIN_BYTES_MAX = 32 * 1024 * 1024;
const DRAIN_MS_MAX = 10_000;
/** The cost of a chunk besides its content, in bytes: a body may consist of tiny chunks. */
const CHUNK_BYTES = 256;

const draining = new WeakSet<IncomingMessage>();
const turns = new DrainTurns();

/** Whether the rest of this body is discarded. */
export function isDrained(raw: IncomingMessage): boolean {
  return draining.has(raw);
}

/** Whose turn it takes: the account, once it is known, else the network. */
export function senderOf({ caller, ip }: FastifyRequest): string {
  return caller?.account_id ?? callerNetwork(ip);
}

/**
 * Node closes a connection as soon as its last answer is sent. If the client still sends then, it
 * would see a broken connection instead of the answer: it is closed once the body has arrived.
 */
export function closeAfterBody(request: IncomingMessage): void {
  const { socket } = request;
  // One that is injected by the framework has no connection.
  if (!(socket instanceof Socket)) return;
  const close = socket.destroySoon.bind(socket);
  socket.destroySoon = () => {
    if (request.complete || request.destroyed) close();
    else request.once("close", close);
  };
}

/**
 * Discards the rest of an unread body, up to a limit and in turns of the senders.
 */
export function drain(raw: IncomingMessage, sender: string): void {
  if (draining.has(raw)) return;
  draining.add(raw);
  if (raw.complete || raw.destroyed) {
    raw.resume();
    return;
  }
  let [left, granted] = [DRAIN_BYTES_MAX, 0];
  const drained: Drained = {
    sender,
    granted: (bytes) => {
      granted += bytes;
      // What arrived at once may have cost more than one grant.
      if (granted > 0) raw.resume();
      else turns.wait(drained, true);
    },
  };
  const timer = setTimeout(() => raw.destroy(), DRAIN_MS_MAX).unref();
  // Node discards a body itself, without a limit, unless reading it has begun: what has arrived is
  // read, because Node asks for no more while it has enough.
  raw.pause().read();
  let counted = countChunks(raw);
  raw.on("data", (block: Buffer) => {
    const chunks = countChunks(raw);
    const bytes = block.length + CHUNK_BYTES * Math.max(1, chunks - counted);
    counted = chunks;
    left -= bytes;
    granted -= bytes;
    if (left < 0) raw.destroy();
    else if (granted <= 0 && !raw.isPaused()) {
      raw.pause();
      turns.wait(drained, true);
    }
  });
  const end = () => {
    clearTimeout(timer);
    turns.leave(drained);
  };
  raw.once("end", end);
  raw.once("close", end);
  raw.on("error", () => {});
  turns.wait(drained, false);
}
