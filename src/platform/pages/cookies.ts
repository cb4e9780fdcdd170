import type { CookieSerializeOptions } from "@fastify/cookie";
import type { FastifyReply, FastifyRequest } from "fastify";

/**
 * `session` identifies the signed-in user, `form` protects the forms shown before sign-in, `device`
 * is known to the person who signed in on it before.
 */
type CookieKind = "session" | "form" | "device";
const HTTP = "sliproad_";
/** The prefix prevents other hosts of the domain from setting the cookie; it requires https. */
const HTTPS = `__Host-${HTTP}`;

/**
 * Values are read as they are: ours need no encoding, and a decoder fails at others in some
 * microseconds for each, of which a request can have thousands.
 */
const AS_IS = { decode: (text: string) => text };
/** For the framework, whose types do not know the option. */
export const COOKIE_OPTIONS = { parseOptions: AS_IS as object };

/**
 * Before the framework has parsed them: a header can have thousands of cookies, and every request
 * is looked at. The first of that name, as the framework takes it.
 */
export function findCookie(
  header: string,
  public_url: string,
  kind: CookieKind,
): string | undefined {
  return FIND[isHttps(public_url) ? "https" : "http"][kind].exec(header)?.[1];
}

export function readCookie(
  request: FastifyRequest,
  public_url: string,
  kind: CookieKind,
): string | undefined {
  return request.cookies[cookieName(public_url, kind)];
}

export function setCookie(
  reply: FastifyReply,
  public_url: string,
  kind: CookieKind,
  value: string,
  lifetime_ms?: number,
): void {
  const lifetime = lifetime_ms === undefined ? {} : { maxAge: Math.floor(lifetime_ms / 1000) };
  const options = { ...cookieOptions(public_url), ...lifetime };
  reply.setCookie(cookieName(public_url, kind), value, options);
}

export function clearCookie(reply: FastifyReply, public_url: string, kind: CookieKind): void {
  reply.clearCookie(cookieName(public_url, kind), cookieOptions(public_url));
}

export function cookieName(public_url: string, kind: CookieKind): string {
  return `${isHttps(public_url) ? HTTPS : HTTP}${kind}`;
}

// Lax, not strict: a user who follows a link, for example from an e-mail, is still signed in.
function cookieOptions(public_url: string): CookieSerializeOptions {
  return { path: "/", httpOnly: true, sameSite: "lax", secure: isHttps(public_url) };
}

function isHttps(public_url: string): boolean {
  return public_url.startsWith("https:");
}

const FIND = { http: findBy(HTTP), https: findBy(HTTPS) };

function findBy(prefix: string): Record<CookieKind, RegExp> {
  const find = (kind: CookieKind) => new RegExp(`(?:^|;)[ \\t]*${prefix}${kind}=([\\w.-]*)`);
  return { session: find("session"), form: find("form"), device: find("device") };
}
