import { randomBytes } from "node:crypto";
import { keyedHash } from "../platform/encryption/cipher.ts";

const TOKEN_BYTES = 32;
const TOKEN = /^[A-Za-z0-9_-]{43}$/;

/** 256 random bits; only the hash is stored. */
export function makeKycToken(): string {
  return randomBytes(TOKEN_BYTES).toString("base64url");
}

export function isKycToken(text: string | undefined): text is string {
  return text !== undefined && TOKEN.test(text);
}

/** The hash is bound to its session, and is useless without the person's key. */
export function hashBirthDate(subject_key: Buffer, session_id: string, date: string): Buffer {
  return keyedHash(subject_key, "kyc birth date", session_id, date);
}

/** `link`: the token in the URL. `visit`: the token in the cookie. */
export function hashKycToken(index_key: Buffer, kind: "link" | "visit", token: string): Buffer {
  return keyedHash(index_key, `kyc ${kind}`, token);
}
