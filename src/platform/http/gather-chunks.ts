import type { IncomingMessage } from "node:http";

const BLOCK_BYTES = 16 * 1024;
const counts = new WeakMap<IncomingMessage, number>();

/** How many chunks of a body in blocks have arrived: each takes time of its own. */
export function countChunks(request: IncomingMessage): number {
  return counts.get(request) ?? 0;
}

/**
 * Passes a body on in blocks. Node makes an object of some hundred bytes of each chunk, and of what
 * each packet brings, and whoever reads a body keeps these until its end: a body in small chunks
 * would take ten times its size. With `at_once` what arrived together is passed on, however little:
 * the first bytes of a file tell whether it is accepted.
 */
export function gatherChunks(request: IncomingMessage, at_once: boolean): void {
  const push = request.push.bind(request);
  let block: Buffer | null = null;
  let [used, chunks] = [0, 0];
  const passOn = () => {
    const full = block?.subarray(0, used);
    block = null;
    used = 0;
    return full === undefined || push(full);
  };
  request.push = (chunk: Buffer | null) => {
    if (chunk === null) {
      passOn();
      return push(null);
    }
    chunks += 1;
    counts.set(request, chunks);
    const is_room = used + chunk.length <= BLOCK_BYTES || passOn();
    if (chunk.length > BLOCK_BYTES) return push(chunk);
    if (at_once && !block) setImmediate(passOn);
    block = block ? append(block, used, chunk) : chunk;
    used += chunk.length;
    return is_room && !at_once;
  };
}

/** With room for as much again, so that not every chunk copies those before it. */
function append(block: Buffer, used: number, chunk: Buffer): Buffer {
  const needed = used + chunk.length;
  let grown = block;
  if (needed > block.length) {
    grown = Buffer.allocUnsafeSlow(Math.min(2 * needed, BLOCK_BYTES));
    block.copy(grown, 0, 0, used);
  }
  chunk.copy(grown, used);
  return grown;
}
