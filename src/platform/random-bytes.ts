import { randomFillSync } from "node:crypto";

const POOL_BYTES = 8 * 1024;
const pool = Buffer.alloc(POOL_BYTES);
let used = POOL_BYTES;

/**
 * Random bytes for ids and nonces, read from the system in large blocks: a system call for a dozen
 * bytes costs more than everything else a row needs. Keys use randomBytes directly.
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
