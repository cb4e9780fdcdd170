import { createHash } from "node:crypto";
import { sha256 as nobleSha256 } from "@noble/hashes/sha2.js";
import { base58, createBase58check } from "@scure/base";

/** Decoding takes quadratic time; no address or signature is longer than this. */
const LENGTH_MAX = 100;
const checked = createBase58check(nobleSha256);

/** Base58, solana's encoding of addresses and signatures. */
export function toBase58(bytes: Uint8Array): string {
  return base58.encode(bytes);
}

/** Undefined if the text is not base58. */
export function fromBase58(text: string): Uint8Array | undefined {
  return read(base58.decode, text);
}

/** With four bytes of a double hash at the end, which detect typos: tron's format. */
export function toBase58Check(bytes: Uint8Array): string {
  return checked.encode(bytes);
}

/** Undefined if the text is not base58 or its checksum is wrong. */
export function fromBase58Check(text: string): Uint8Array | undefined {
  return read(checked.decode, text);
}

function read(decode: (text: string) => Uint8Array, text: string): Uint8Array | undefined {
  if (text.length === 0 || text.length > LENGTH_MAX) return undefined;
  try {
    return decode(text);
  } catch {
    return undefined;
  }
}

export function sha256(...parts: (string | Buffer)[]): Buffer {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest();
}
