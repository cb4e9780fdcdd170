import { createHash } from "node:crypto";

const ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/** Base58, in which tron and solana write their addresses. */
export function toBase58(bytes: Buffer): string {
  let number = BigInt(`0x${bytes.toString("hex") || "0"}`);
  let text = "";
  while (number > 0n) {
    text = ALPHABET[Number(number % 58n)] + text;
    number /= 58n;
  }
  // Leading zero bytes are not part of the number; each is written as the alphabet's zero.
  for (const byte of bytes) {
    if (byte !== 0) break;
    text = ALPHABET[0] + text;
  }
  return text;
}

const BASE58_LENGTH_MAX = 100;

/** Undefined when a letter is not of the alphabet. */
export function fromBase58(text: string): Buffer | undefined {
  if (text.length === 0 || text.length > BASE58_LENGTH_MAX) return undefined;
  let number = 0n;
  for (const letter of text) {
    const digit = ALPHABET.indexOf(letter);
    if (digit < 0) return undefined;
    number = number * 58n + BigInt(digit);
  }
  const hex = number === 0n ? "" : number.toString(16);
  const body = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, "hex");
  const zeros = /^1*/.exec(text)![0].length;
  return Buffer.concat([Buffer.alloc(zeros), body]);
}

/** With four bytes of a double hash behind it, so that a typing error is noticed. */
export function toBase58Check(bytes: Buffer): string {
  return toBase58(Buffer.concat([bytes, sha256(sha256(bytes)).subarray(0, 4)]));
}

export function sha256(...parts: (string | Buffer)[]): Buffer {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest();
}
