import { randomBytes, timingSafeEqual } from "node:crypto";
import type { Config } from "../../platform/config/config.ts";
import { setCaller } from "../../platform/db/caller-context.ts";
import type { Database, Transaction } from "../../platform/db/database.ts";
import { HOUR_MS, MINUTE_MS } from "../../platform/durations.ts";
import { keyedHash } from "../../platform/encryption/cipher.ts";
import { Refusal } from "../../platform/errors.ts";
import { knownCredentials } from "../../platform/http/known-credentials.ts";
import { newId } from "../../platform/ids.ts";
import { isBareCredential, makeCredential } from "../../platform/named-credentials.ts";
import { recordAudit } from "../audit.ts";
import type { AuditAction } from "../audit-actions.ts";
import { updateMemberJoined } from "../joined-store.ts";
import type { Role } from "../model.ts";
import { openEmail } from "../person-email.ts";
import { may } from "../roles.ts";
import { openOrigin, type SessionOrigin, sealOrigin } from "./session-origin.ts";
import {
  claimSession,
  deleteSessionsOfPerson,
  findSessionByHash,
  insertSession,
  updateSessionUsed,
} from "./session-store.ts";

/**
 * The states of a session:
 *
 *     passkey accepted ─▶ active
 *     password correct ─▶ awaiting_factor ─▶ active
 *                     └▶ must_enrol ─▶ active       the role needs a second factor, there is none
 *                     └▶ active                     no second factor, none needed
 *
 * `must_enrol` is not stored: it follows from the role, which may change, and the settings.
 */
type SessionState = "awaiting_factor" | "must_enrol" | "active";

/** The signed-in person and their current account. */
export type MemberSession = {
  id: string;
  person_id: string;
  account_id: string;
  account_name: string;
  role: Role;
  is_operator: boolean;
  email: string;
  state: SessionState;
  has_factor: boolean;
  has_app: boolean;
  has_passkey: boolean;
  origin: SessionOrigin;
  /** Real time, not the sandbox clock. */
  signed_in_at: Date;
  /** When the person last gave a password or a second factor; real time. */
  confirmed_at: Date;
  /** When the person last gave a second factor in this session; null if never. */
  factor_at: Date | null;
  /** Sent by every form of a page, in a field named `csrf`. */
  csrf: string;
  token: string;
};

export type SessionSettings = Pick<
  Config,
  "session_hours" | "session_idle_minutes" | "second_factor"
>;

type SessionDeps = { config: SessionSettings; database: Database; index_key: Buffer };

/** How long a person has to enter the second factor. */
export const AWAITING_FACTOR_MS = 10 * MINUTE_MS;
/** How exactly the last use of a session is recorded. */
const USED_EVERY_MS = MINUTE_MS;
const TOKEN_BYTES = 32;
const TOKEN = /^[A-Za-z0-9_-]{43}$/;

/** Counted from sign-in and never extended. */
export function sessionMs({ session_hours }: SessionSettings): number {
  return session_hours * HOUR_MS;
}

/** A session that was not used since then has ended. */
export function usedAfter({ session_idle_minutes }: SessionSettings, now: Date): Date {
  return new Date(now.getTime() - session_idle_minutes * MINUTE_MS);
}

/** `now` is real time: moving the sandbox clock must not end sessions. */
export async function findSession(
  deps: SessionDeps,
  token: string | undefined,
  now: Date,
): Promise<MemberSession | null> {
  if (token === undefined || !isBareCredential(token)) return null;
  const { config, database, index_key } = deps;
  const token_hash = hashToken(index_key, token);
  const row = await findSessionByHash(database, token_hash, now, usedAfter(config, now));
  knownCredentials(index_key).note(token, row?.account_id);
  if (!row) return null;
  setCaller(row.account_id);
  if (now.getTime() - row.used_at.getTime() >= USED_EVERY_MS) {
    await updateSessionUsed(database, token_hash, now);
  }
  const { used_at: _, ...shown } = row;
  const has_factor = row.has_app || row.has_passkey;
  const must_enrol = !has_factor && needsFactor(config, row.role);
  return {
    ...shown,
    has_factor,
    email: openEmail(index_key, row.person_id, row.email),
    origin: openOrigin(index_key, row.id, row.origin),
    state: row.state === "active" && must_enrol ? "must_enrol" : row.state,
    token,
    csrf: csrfOf(index_key, token, row.account_id),
  };
}

/** Whoever can vote on what moves money or lets people in, or everybody. */
export function needsFactor({ second_factor }: SessionSettings, role: Role): boolean {
  if (second_factor === "all") return true;
  return second_factor === "required" && may(role, "vote");
}

export type NewSession = {
  account_id: string;
  person_id: string;
  state?: "awaiting_factor" | "active";
  origin?: SessionOrigin;
  lifetime_ms?: number;
  /** When a second factor was given, if one was. */
  factor_at?: Date | null;
};

/** Stores a new session and returns its token, which is stored nowhere. */
export function startSession(
  tx: Transaction,
  index_key: Buffer,
  session: NewSession,
  now: Date,
): string {
  const id = newId(now);
  const { account_id, person_id, state = "active", origin, lifetime_ms = 12 * HOUR_MS } = session;
  const { factor_at = null } = session;
  const token = makeCredential(index_key, account_id);
  insertSession(tx, {
    token_hash: hashToken(index_key, token),
    id,
    account_id,
    person_id,
    state,
    origin: origin ? sealOrigin(index_key, id, origin) : null,
    created_at: now,
    used_at: now,
    confirmed_at: now,
    factor_at,
    expires_at: new Date(now.getTime() + lifetime_ms),
  });
  if (state === "active") updateMemberJoined(tx, { account_id, person_id }, now);
  return token;
}

/**
 * Ends all sessions of the person but this one, which goes on with a new token; one that has ended
 * meanwhile does not. The person is locked. `factor_at`: when a second factor was given last.
 */
export async function restartSession(
  tx: Transaction,
  { config, index_key }: Pick<SessionDeps, "config" | "index_key">,
  session: MemberSession,
  { now, factor_at }: { now: Date; factor_at: Date | null },
): Promise<string> {
  const { account_id, person_id, origin, token } = session;
  if (!(await claimSession(tx, hashToken(index_key, token)))) {
    throw new Refusal("unauthorized", "This session has ended. Sign in again.");
  }
  deleteSessionsOfPerson(tx, person_id);
  const lifetime_ms = sessionMs(config);
  const next = { account_id, person_id, origin, lifetime_ms, factor_at };
  return startSession(tx, index_key, next, now);
}

type SignInPart = "session" | "password" | "second_factor" | "passkey" | "recovery_codes";

/** Records in the audit log what concerns the sign-in of one person. */
export function recordSignInChange(
  tx: Transaction,
  action: Extract<AuditAction, `${SignInPart}.${string}`>,
  member: { account_id: string; person_id: string },
  now: Date,
  detail: Record<string, string | number> = {},
): void {
  const { account_id, person_id } = member;
  const entry = { actor: `member:${person_id}`, record: `person:${person_id}` } as const;
  recordAudit(tx, { account_id, ...entry, action, reason: "", detail }, now);
}

/** For links and forms: sessions have tokens that name their account. */
export function makeToken(): string {
  return randomBytes(TOKEN_BYTES).toString("base64url");
}

export function isToken(text: string | undefined): text is string {
  return text !== undefined && TOKEN.test(text);
}

export function hashToken(index_key: Buffer, token: string): Buffer {
  return keyedHash(index_key, "session", token);
}

/**
 * The CSRF token of this session's forms; another site cannot know it. A page that was shown in one
 * account must not act in another, to which the session has moved in a second tab.
 */
function csrfOf(index_key: Buffer, token: string, account_id: string): string {
  return keyedHash(index_key, "csrf", token, account_id).toString("base64url");
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
