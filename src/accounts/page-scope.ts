import type { Readable } from "node:stream";
import cookie from "@fastify/cookie";
import formbody from "@fastify/formbody";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { type FileType, MEDIA_TYPES } from "../partners/files/judge-file.ts";
import { DatabaseUnavailableError } from "../platform/db/outages.ts";
import { Refusal } from "../platform/errors.ts";
import type { Html } from "../platform/http/html.ts";
import { isSenderGone, logFailure } from "../platform/http/log-failure.ts";
import { FILE_POLICY } from "../platform/http/security-headers.ts";
import { PAGE_BODY_BYTES_MAX } from "../platform/http/server.ts";
import type { ModuleCore } from "../platform/module.ts";
import { COOKIE_OPTIONS, readCookie, setCookie } from "../platform/pages/cookies.ts";
import { localPath } from "../platform/pages/local-path.ts";
import { realTime } from "../platform/tasks/real-time.ts";
import { CONFIRM_PATH, ENROL_PATH, FACTOR_PATH, HOME } from "./page-paths.ts";
import { errorPage } from "./pages.ts";
import { may, type PermissionName } from "./roles.ts";
import { isConfirmed } from "./sign-in/confirm-identity.ts";
import {
  findSession,
  formCsrfOf,
  isSameToken,
  isToken,
  type MemberSession,
  makeToken,
} from "./sign-in/sessions.ts";

export type PageDeps = Pick<
  ModuleCore,
  "config" | "database" | "index_key" | "public_url" | "mode" | "clock" | "wake"
>;

declare module "fastify" {
  interface FastifyRequest {
    /** The signed-in member; set only on routes of a page scope. */
    member: MemberSession | null;
    /** A person who still has to give, or to set up, a second factor: not signed in. */
    pending: MemberSession | null;
  }
  interface FastifyContextConfig {
    /**
     * A form for people who are not signed in: its CSRF token is bound to a cookie, not a session.
     */
    is_public_form?: boolean;
  }
}

const RETRY_AFTER_SECONDS = 2;
const POLICY =
  "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; " +
  "img-src 'self' data:; base-uri 'none'";
/** For the few pages with a script of ours; all others forbid every script. */
export const SCRIPTED_POLICY = `${POLICY}; script-src 'self'; connect-src 'self'`;
export const PAGE_HEADERS = {
  "Content-Security-Policy": POLICY,
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  "Referrer-Policy": "same-origin",
  "Cache-Control": "no-store",
};

/**
 * The scope for pages: its routes know who is signed in, accept HTML forms with a CSRF token, send
 * the security headers, and answer errors with a page.
 */
export function addPageScope(
  app: FastifyInstance,
  deps: PageDeps,
  addPages: (scope: FastifyInstance) => void,
): void {
  app.register(async (scope) => {
    await scope.register(cookie, COOKIE_OPTIONS);
    // Forms only: the server's default parser would accept JSON.
    scope.removeAllContentTypeParsers();
    await scope.register(formbody, { bodyLimit: PAGE_BODY_BYTES_MAX });
    scope.decorateRequest("member", null);
    scope.decorateRequest("pending", null);
    scope.addHook("onRequest", async (request, reply) => {
      reply.headers(PAGE_HEADERS);
      const token = readCookie(request, deps.public_url(), "session");
      const session = await findSession(deps, token, realTime(deps.clock));
      if (session?.state === "active") request.member = session;
      else request.pending = session;
    });
    // Checked twice: callers without a session before the body is read, a wrong token after.
    scope.addHook("preParsing", async (request) => void expectedCsrf(deps, request));
    scope.addHook("preHandler", (request) => checkForm(deps, request));
    scope.setErrorHandler((error, request, reply) => sendErrorPage(deps, error, request, reply));
    addPages(scope);
  });
}

/** For the `onRequest` of a page: requires a session, of a role that has this permission. */
export function requireSession(permission: PermissionName = "see_account") {
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const { member } = request;
    if (!member) return reply.redirect(signInPath(request, request.pending), 303);
    if (may(member.role, permission)) return;
    throw new Refusal(
      "insufficient_scope",
      "Your role does not have access to this page. Ask an admin if you need it.",
    );
  };
}

/**
 * For the `onRequest` of what shows secrets, votes or lets people in, after `requireSession`: the
 * password or the second factor was given in the last minutes. Otherwise the person gives it
 * first and comes back to `path`, by default that of the request; a form is not sent again.
 */
export function requireConfirmed(deps: PageDeps, path?: string) {
  return async (request: FastifyRequest, reply: FastifyReply) => {
    if (isConfirmed(request.member!, realTime(deps.clock))) return;
    return reply.redirect(withNext(CONFIRM_PATH, localPath(path ?? request.url, HOME)), 303);
  };
}

/** A path with the page to go on to afterwards. */
export function withNext(path: string, next: string): string {
  return `${path}?next=${encodeURIComponent(next).replaceAll("%2F", "/")}`;
}

export function sendPage(reply: FastifyReply, page: Html, status = 200): FastifyReply {
  return reply.code(status).type("text/html; charset=utf-8").send(page.text);
}

/** A page whose head names one of our scripts. */
export function sendScriptedPage(reply: FastifyReply, page: Html, status = 200): FastifyReply {
  return sendPage(reply.header("Content-Security-Policy", SCRIPTED_POLICY), page, status);
}

/** Sends a person's file: an image is shown, any other type is downloaded and never opened. */
export function sendFile(reply: FastifyReply, name: string, type: FileType, file: Readable) {
  const way = type === "pdf" ? "attachment" : "inline";
  return reply
    .type(MEDIA_TYPES[type])
    .header("Content-Disposition", `${way}; filename="${name}.${type}"`)
    .header("Content-Security-Policy", FILE_POLICY)
    .send(file);
}

/** What the page says about the form that led to it, named by `?done=`; null if nothing. */
export function readNotice(
  request: FastifyRequest,
  notices: Readonly<Record<string, string>>,
): string | null {
  const { done } = request.query as Record<string, unknown>;
  return typeof done === "string" && Object.hasOwn(notices, done) ? notices[done]! : null;
}

/** A field of a form; empty when absent or sent twice. */
export function readField(request: FastifyRequest, name: string): string {
  const fields = request.body as Record<string, unknown> | null | undefined;
  const value = fields?.[name];
  return typeof value === "string" ? value : "";
}

function signInPath(request: FastifyRequest, pending: MemberSession | null): string {
  // A redirect cannot repeat a submitted form.
  const next = localPath(request.method === "GET" ? request.url : undefined, HOME);
  return withNext(pending ? pendingPath(pending) : "/sign-in", next);
}

/** Where a person who is not yet signed in goes on. */
export function pendingPath({ state }: MemberSession): string {
  return state === "awaiting_factor" ? FACTOR_PATH : ENROL_PATH;
}

/** Runs for every POST: a page that forgets to check is refused, not open. */
async function checkForm(deps: PageDeps, request: FastifyRequest): Promise<void> {
  const expected = expectedCsrf(deps, request);
  if (expected === null) return;
  if (!isSameToken(expected, readField(request, "csrf"))) throw outOfDate();
  if (!request.routeOptions.config.is_public_form) await assertSameSession(deps, request);
}

/**
 * Whoever sends a form decides when its last byte arrives, up to a minute later: what the session
 * was when the form began must still be true.
 */
async function assertSameSession(deps: PageDeps, request: FastifyRequest): Promise<void> {
  const before = (request.member ?? request.pending)!;
  const session = await findSession(deps, before.token, realTime(deps.clock));
  const is_same =
    session?.state === before.state &&
    session.account_id === before.account_id &&
    session.role === before.role;
  if (!is_same) throw outOfDate();
}

/**
 * The CSRF token the form must send; null for methods without a body. Refuses callers who cannot
 * have one.
 */
function expectedCsrf(deps: PageDeps, request: FastifyRequest): string | null {
  if (["GET", "HEAD"].includes(request.method)) return null;
  const expected = request.routeOptions.config.is_public_form
    ? knownFormCsrf(deps, request)
    : (request.member ?? request.pending)?.csrf;
  if (expected === undefined) throw outOfDate();
  return expected;
}

function outOfDate(): Refusal {
  return new Refusal(
    "insufficient_scope",
    "This form is out of date and was not submitted. Reload the page and try again.",
  );
}

/** The CSRF token of a form for people who are not signed in; sets the cookie it is bound to. */
export function publicFormCsrf(
  deps: PageDeps,
  request: FastifyRequest,
  reply: FastifyReply,
): string {
  const public_url = deps.public_url();
  const known = readCookie(request, public_url, "form");
  // An existing token is kept, so that forms in other tabs stay valid.
  const form_token = isToken(known) ? known : makeToken();
  if (form_token !== known) setCookie(reply, public_url, "form", form_token);
  return formCsrfOf(deps.index_key, form_token);
}

function knownFormCsrf(deps: PageDeps, request: FastifyRequest): string | undefined {
  const form_token = readCookie(request, deps.public_url(), "form");
  return isToken(form_token) ? formCsrfOf(deps.index_key, form_token) : undefined;
}

function sendErrorPage(
  deps: PageDeps,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  // Programs get the server's JSON error; a caller with an Authorization header is a program.
  const is_program = request.headers.authorization !== undefined;
  if (is_program || !/text\/html/i.test(request.headers.accept ?? "")) throw error;
  const status = statusOf(error);
  if (status >= 500) logFailure(request, error, "failed");
  const retry_after_seconds =
    error instanceof Refusal ? error.retry_after_seconds : status === 503 && RETRY_AFTER_SECONDS;
  if (retry_after_seconds) reply.header("Retry-After", retry_after_seconds);
  const shown = errorPage({
    status,
    message: error instanceof Refusal ? error.message : null,
    request_id: request.id,
    mode: deps.mode,
    session: request.member,
  });
  return sendPage(reply, shown, status);
}

function statusOf(error: unknown): number {
  if (error instanceof Refusal) return error.status;
  if (error instanceof DatabaseUnavailableError) return 503;
  if (isSenderGone(error)) return 400;
  // Fastify's own errors (body too large, wrong content type) have their own status.
  const { code, statusCode } = error as { code?: string; statusCode?: number };
  return code?.startsWith("FST_ERR_") && statusCode ? statusCode : 500;
}
