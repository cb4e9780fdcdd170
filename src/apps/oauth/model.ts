import { randomBytes } from "node:crypto";
import type { Role } from "../../accounts/model.ts";
import { may } from "../../accounts/roles.ts";
import { isId } from "../../platform/ids.ts";

/** The scopes an application may request, with their text on the consent page. */
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
/** The scopes for client credentials; an application that requests none gets all of them. */
export const APP_SCOPES: readonly Scope[] = ["user:read", "invoices:read", "invoices:write"];

/** The only audience; accepted for clients that must send the parameter. */
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
/** A consent lasts until it is revoked: longer than any chain of refresh tokens. */
export const GRANT_SECONDS = 10 * 365 * 24 * 60 * 60;
/**
 * A client that refreshes twice at once sends one token twice. Within this time the second request
 * also gets tokens; later, a reused token counts as stolen, and the consent ends.
 */
export const REFRESH_GRACE_MS = 10_000;

const GRANT_RANDOM_BYTES = 16;

/** The id of a consent contains the granting account, so that its artifacts lead there. */
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

/** The requested scopes, and the unknown ones among them. */
export function readScopes(text: string): { asked: string[]; unknown: string[] } {
  const asked = text.split(" ").filter(Boolean);
  return { asked, unknown: asked.filter((scope) => !isScope(scope)) };
}

/** A person can grant only what their own role allows. */
export function mayGrant(role: Role, scopes: readonly Scope[]): boolean {
  return !scopes.includes("invoices:write") || may(role, "authorize_writes");
}
