import { randomBytes } from "node:crypto";
import type { Role } from "../../accounts/model.ts";
import { may } from "../../accounts/roles.ts";
import { isId } from "../../platform/ids.ts";

/** What an application may ask for, and how the consent page says it. */
export const SCOPES = {
  openid: "Know your user id",
  profile: "See your profile",
  email: "See your e-mail address",
  offline_access: "Keep access while you are signed out, until you revoke it",
  "user:read": "See your e-mail address, your role and the name of the account",
  "invoices:read": "See the invoices and salaries of the account",
  "invoices:write": "Create and change invoices and salaries of the account",
} as const;

export type Scope = keyof typeof SCOPES;

export const ALL_SCOPES = Object.keys(SCOPES) as Scope[];
/** Those that make sense without a person; an application that names none is given all of them. */
export const APP_SCOPES: readonly Scope[] = ["user:read", "invoices:read", "invoices:write"];

/** The one audience there is; the parameter is accepted for clients that must send it. */
const AUDIENCE = "accounts";
export const AUDIENCE_RULE = `audience must be ${AUDIENCE} or absent`;

export function isAudience(text: string | null | undefined): boolean {
  return text === null || text === undefined || text === AUDIENCE;
}

export const ACCESS_TOKEN_SECONDS = 24 * 60 * 60;
export const CODE_SECONDS = 60;
export const REFRESH_TOKEN_SECONDS = 30 * 24 * 60 * 60;
export const ID_TOKEN_SECONDS = 60 * 60;
export const INTERACTION_SECONDS = 60 * 60;
/** A consent holds until it is taken back: longer than any chain of refresh tokens should. */
export const GRANT_SECONDS = 10 * 365 * 24 * 60 * 60;
/**
 * A client that refreshes twice at once sends one token twice. Within this time the second gets
 * tokens of its own; after it, a used token that comes again was stolen, and the consent ends.
 */
export const REFRESH_GRACE_MS = 10_000;

const GRANT_RANDOM_BYTES = 16;

/** The id of a consent names the granting account, so that whatever rests on it leads there. */
export function makeGrantId(account_id: string): string {
  return `${account_id}.${randomBytes(GRANT_RANDOM_BYTES).toString("base64url")}`;
}

export function accountOfGrant(grant_id: string): string | null {
  const account_id = grant_id.split(".")[0]!;
  return isId(account_id) ? account_id : null;
}

export function isScope(text: string): text is Scope {
  return Object.hasOwn(SCOPES, text);
}

/** The scopes of a request, and those among them that nobody knows. */
export function readScopes(text: string): { asked: string[]; unknown: string[] } {
  const asked = text.split(" ").filter(Boolean);
  return { asked, unknown: asked.filter((scope) => !isScope(scope)) };
}

/** Nobody lets an application do what their own role would not let them do. */
export function mayGrant(role: Role, scopes: readonly Scope[]): boolean {
  return !scopes.includes("invoices:write") || may(role, "authorize_writes");
}
