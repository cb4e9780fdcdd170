import type { IncomingMessage } from "node:http";

// How long a refused client may go on sending, so that it comes to read the refusal.
const DRAIN_BYTES_MAX = 32 * 1024 * 1024;
const DRAIN_MS_MAX = 10_000;
/** What a chunk costs us beside its content, counted in bytes: a body may consist of tiny ones. */
const CHUNK_BYTES = 256;

const draining = new WeakSet<IncomingMessage>();

/**
 * Takes what is left of a body that nobody reads, up to a limit, and throws it away. A connection
 * that is closed while its client still sends would reach the client as broken, without the answer.
 */
export function drain(raw: IncomingMessage): void {
  if (draining.has(raw)) return;
  draining.add(raw);
  if (raw.complete || raw.destroyed) {
    raw.resume();
    return;
  }
  let left = DRAIN_BYTES_MAX;
  const timer = setTimeout(() => raw.destroy(), DRAIN_MS_MAX).unref();
  raw.on("data", (chunk: Buffer) => {
    left -= chunk.length + CHUNK_BYTES;
    if (left < 0) raw.destroy();
  });
  raw.once("end", () => clearTimeout(timer));
  raw.once("close", () => clearTimeout(timer));
  raw.on("error", () => {});
}
