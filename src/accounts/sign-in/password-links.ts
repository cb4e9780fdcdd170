import type { Transaction } from "../../platform/db/database.ts";
import { HOUR_MS } from "../../platform/durations.ts";
import { keyedHash } from "../../platform/encryption/cipher.ts";
import { insertPasswordLink, type LinkKind } from "./password-store.ts";
import { makeToken } from "./sessions.ts";

export const SET_PASSWORD_PATH = "/set-password";
const LINK_MS = HOUR_MS;

/** Stores a new link and returns its path and when it expires; its token is stored nowhere. */
export function createPasswordLink(
  tx: Transaction,
  index_key: Buffer,
  link: { person_id: string; kind: LinkKind },
  now: Date,
): { path: string; expires_at: Date } {
  const token = makeToken();
  const expires_at = new Date(now.getTime() + LINK_MS);
  const token_hash = hashLinkToken(index_key, token);
  insertPasswordLink(tx, { token_hash, ...link, created_at: now, expires_at });
  return { path: `${SET_PASSWORD_PATH}?token=${token}`, expires_at };
}

export function hashLinkToken(index_key: Buffer, token: string): Buffer {
  return keyedHash(index_key, "password link", token);
}
