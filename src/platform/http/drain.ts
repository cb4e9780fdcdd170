import type { IncomingMessage } from "node:http";

// How much a refused client may still send, so that it gets to read the refusal.
const DRAIN_BYTES_MAX = 32 * 1024 * 1024;
const DRAIN_MS_MAX = 10_000;
/** The cost of a chunk besides its content, in bytes: a body may consist of tiny chunks. */
const CHUNK_BYTES = 256;

const draining = new WeakSet<IncomingMessage>();

/** Whether the rest of this body is discarded. */
export function isDrained(raw: IncomingMessage): boolean {
  return draining.has(raw);
}

/**
 * Discards the rest of an unread body, up to a limit. If the connection were closed while the
 * client still sends, the client would see a broken connection instead of the answer.
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
