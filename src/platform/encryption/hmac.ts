import { hash } from "node:crypto";

/**
 * A key as HMAC needs it: the block that each of its two hashes begins with. The outer one has room
 * for the digest of the inner, and is written to.
 */
export type HmacKey = { inner: Buffer; outer: Buffer };

const BLOCK_BYTES = 64;
const DIGEST_BYTES = 32;
const MESSAGE_BYTES = 16 * 1024;

/** The inner hash's input is put together here; nothing in between can run. */
let scratch = Buffer.alloc(BLOCK_BYTES + MESSAGE_BYTES);

export function hmacKey(secret: Buffer): HmacKey {
  const block = Buffer.alloc(BLOCK_BYTES);
  (secret.length > BLOCK_BYTES ? hash("sha256", secret, "buffer") : secret).copy(block);
  const inner = Buffer.from(block.map((byte) => byte ^ 0x36));
  const outer = Buffer.alloc(BLOCK_BYTES + DIGEST_BYTES);
  outer.set(block.map((byte) => byte ^ 0x5c));
  return { inner, outer };
}

/**
 * HMAC-SHA256 (RFC 2104) of a text followed by bytes. Where thousands of short messages a second
 * are signed, Node's `createHmac` costs twice as much: it makes an object of OpenSSL's for each.
 */
export function hmacSha256(
  { inner, outer }: HmacKey,
  head: string,
  body: Buffer,
  encoding: "hex" | "base64",
): string {
  const length = BLOCK_BYTES + Buffer.byteLength(head) + body.length;
  if (length > scratch.length) scratch = Buffer.alloc(length);
  scratch.set(inner);
  const at = BLOCK_BYTES + scratch.write(head, BLOCK_BYTES);
  scratch.set(body, at);
  outer.set(hash("sha256", scratch.subarray(0, length), "buffer"), BLOCK_BYTES);
  return hash("sha256", outer, encoding);
}
