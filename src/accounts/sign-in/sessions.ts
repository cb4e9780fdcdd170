import { randomBytes, timingSafeEqual } from "node:crypto";
import type { Database, Transaction } from "../../platform/db/database.ts";
import { HOUR_MS } from "../../platform/durations.ts";
import { keyedHash } from "../../platform/encryption/cipher.ts";
import { recordAudit } from "../audit.ts";
import type { Role } from "../model.ts";
import { openEmail } from "../person-email.ts";
import { findSessionByHash, insertSession } from "../store.ts";

/** The signed-in person and their current account. */
export type MemberSession = {
  person_id: string;
  account_id: string;
  account_name: string;
  role: Role;
  is_operator: boolean;
  email: string;
  /** Real time, not the sandbox clock. */
  signed_in_at: Date;
  /** Sent by every form of a page, in a field named `csrf`. */
  csrf: string;
  token: string;
};

/** Counted from sign-in and never extended. */
export const SESSION_MS = 12 * HOUR_MS;
const TOKEN_BYTES = 32;
const TOKEN = /^[A-Za-z0-9_-]{43}$/;

/** `now` is real time: moving the sandbox clock must not end sessions. */
export async function findSession(
  deps: { database: Database; index_key: Buffer },
  token: string | undefined,
  now: Date,
): Promise<MemberSession | null> {
  if (!isSessionToken(token)) return null;
  const { database, index_key } = deps;
  const row = await findSessionByHash(database, hashToken(index_key, token), now);
  if (!row) return null;
  const email = openEmail(index_key, row.person_id, row.email);
  return { ...row, email, token, csrf: csrfOf(index_key, token) };
}

/** Stores a new session and returns its token, which is stored nowhere. */
export function startSession(
  tx: Transaction,
  index_key: Buffer,
  member: { account_id: string; person_id: string },
  now: Date,
): string {
  const token = makeToken();
  const { account_id, person_id } = member;
  insertSession(tx, {
    token_hash: hashToken(index_key, token),
    account_id,
    person_id,
    created_at: now,
    expires_at: new Date(now.getTime() + SESSION_MS),
  });
  return token;
}

/** Records sign-ins and sign-outs in the audit log. */
export function recordSession(
  tx: Transaction,
  action: "session.create" | "session.refuse" | "session.delete" | "session.switch_account",
  member: { account_id: string; person_id: string },
  now: Date,
): void {
  const { account_id, person_id } = member;
  const entry = { actor: `member:${person_id}`, record: `person:${person_id}` } as const;
  recordAudit(tx, { account_id, ...entry, action, reason: "" }, now);
}

export function makeToken(): string {
  return randomBytes(TOKEN_BYTES).toString("base64url");
}

export function isSessionToken(text: string | undefined): text is string {
  return text !== undefined && TOKEN.test(text);
}

export function hashToken(index_key: Buffer, token: string): Buffer {
  return keyedHash(index_key, "session", token);
}

/** The CSRF token of this session's forms; another site cannot know it. */
export function csrfOf(index_key: Buffer, token: string): string {
  return keyedHash(index_key, "csrf", token).toString("base64url");
}

/** The CSRF token of forms shown before sign-in, bound to a random cookie instead. */
export function formCsrfOf(index_key: Buffer, form_token: string): string {
  return keyedHash(index_key, "form csrf", form_token).toString("base64url");
}

/** Compares in constant time; only the token's length may leak. */
export function isSameToken(expected: string, given: unknown): boolean {
  if (typeof given !== "string") return false;
  const [a, b] = [Buffer.from(expected), Buffer.from(given)];
  return a.length === b.length && timingSafeEqual(a, b);
}
