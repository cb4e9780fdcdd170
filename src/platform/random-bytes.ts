import { randomFillSync } from "node:crypto";

const POOL_BYTES = 8 * 1024;
const pool = Buffer.alloc(POOL_BYTES);
let used = POOL_BYTES;

/**
 * Random bytes for ids and nonces, drawn from the system in large pieces: asking for a dozen at a
 * time costs more than everything else that a row needs. Keys are made with randomBytes directly.
 */
export function smallRandomBytes(count: number): Buffer {
  if (used + count > POOL_BYTES) {
    randomFillSync(pool);
    used = 0;
  }
  const bytes = Buffer.from(pool.subarray(used, used + count));
  used += count;
  return bytes;
}
