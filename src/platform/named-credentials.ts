import { randomBytes, timingSafeEqual } from "node:crypto";
import { crc32 } from "node:zlib";
import { keyedHash } from "./encryption/cipher.ts";

/*
 * The keys, tokens and sessions that we issue name their account, with a MAC: a process knows whose
 * a request is before the database was asked. That decides only who is served while more arrives
 * than can be processed; what a credential may do, the database says (decision 44).
 *
 * Layout: 32 random bytes, the 16 bytes of the account's id, and 9 bytes of HMAC-SHA-256. In
 * base64url that is 76 characters without unused bits.
 */
const RANDOM_BYTES = 32;
const MAC_AT = 48;
const MAC_BYTES = 9;
const CREDENTIAL = /^(sk_(?:test|live)_)?([\w-]{76})([0-9a-z]{6})?$/;
const BARE_CREDENTIAL = /^[\w-]{76}$/;
const CHECKSUM_LENGTH = 6;
const DEVICE = "device";

/**
 * A prefix is covered by the MAC and followed by a checksum of all before, so that a scanner of
 * source code can tell a key from a text that looks like one (docs/reference/roles.md).
 */
export function makeCredential(index_key: Buffer, account_id: string, prefix = ""): string {
  const text = `${prefix}${makeNamed(index_key, account_id, prefix)}`;
  return prefix === "" ? text : `${text}${checksumOf(text)}`;
}

/** The account that a credential was issued for; undefined if it is not one of ours. */
export function readAccount(index_key: Buffer, text: string): string | undefined {
  const [, prefix = "", encoded, checksum] = CREDENTIAL.exec(text) ?? [];
  if (encoded === undefined) return undefined;
  const expected = prefix === "" ? undefined : checksumOf(`${prefix}${encoded}`);
  if (checksum !== expected) return undefined;
  return readNamed(index_key, prefix, encoded);
}

/** What a known browser keeps: no credential, so it is another kind for the MAC. */
export function makeDeviceName(index_key: Buffer, account_id: string): string {
  return makeNamed(index_key, account_id, DEVICE);
}

export function readDeviceAccount(index_key: Buffer, text: string): string | undefined {
  return BARE_CREDENTIAL.test(text) ? readNamed(index_key, DEVICE, text) : undefined;
}

/** Whether it has the form of a token or session: not whether it is one. */
export function isBareCredential(text: string): boolean {
  return BARE_CREDENTIAL.test(text);
}

function makeNamed(index_key: Buffer, account_id: string, kind: string): string {
  const account = Buffer.from(account_id.replaceAll("-", ""), "hex");
  const named = Buffer.concat([randomBytes(RANDOM_BYTES), account]);
  return Buffer.concat([named, macOf(index_key, kind, named)]).toString("base64url");
}

function readNamed(index_key: Buffer, kind: string, encoded: string): string | undefined {
  const bytes = Buffer.from(encoded, "base64url");
  const named = bytes.subarray(0, MAC_AT);
  if (!timingSafeEqual(macOf(index_key, kind, named), bytes.subarray(MAC_AT))) return undefined;
  return named.toString("hex", RANDOM_BYTES).replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

function macOf(index_key: Buffer, kind: string, named: Buffer): Buffer {
  return keyedHash(index_key, `credential mac ${kind}`, named).subarray(0, MAC_BYTES);
}

function checksumOf(text: string): string {
  return crc32(text)
    .toString(36)
    .padStart(CHECKSUM_LENGTH + 1, "0")
    .slice(-CHECKSUM_LENGTH);
}
