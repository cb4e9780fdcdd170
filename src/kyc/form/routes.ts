import { join } from "node:path";
import cookie from "@fastify/cookie";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { MEDIA_TYPES } from "../../partners/files/judge-file.ts";
import { MINUTE_MS } from "../../platform/durations.ts";
import { Refusal } from "../../platform/errors.ts";
import { FILE_TURNS } from "../../platform/http/account-turns.ts";
import { callerNetwork } from "../../platform/http/caller-network.ts";
import type { Html } from "../../platform/http/html.ts";
import type { JsonBody } from "../../platform/http/json-body.ts";
import { createRateLimiter, type RateLimiter } from "../../platform/http/rate-limit.ts";
import { untilClosed } from "../../platform/http/route.ts";
import { FILE_POLICY } from "../../platform/http/security-headers.ts";
import { PAGE_BODY_BYTES_MAX } from "../../platform/http/server.ts";
import { addStaticFiles, readStaticFiles } from "../../platform/http/static-files.ts";
import { isId } from "../../platform/ids.ts";
import type { ModuleCore } from "../../platform/module.ts";
import { COOKIE_OPTIONS } from "../../platform/pages/cookies.ts";
import { listKycFiles } from "../application-store.ts";
import { SLOTS, type Slot } from "../fields.ts";
import { openKycFile } from "../kyc-file.ts";
import { isKycToken } from "../tokens.ts";
import { attachFile, deleteFile, type FileDeps } from "./attach-file.ts";
import { confirmBirthDate } from "./confirm-birth-date.ts";
import { linkProblemPage, notBuiltPage } from "./link-pages.ts";
import { loadState } from "./load-state.ts";
import { saveIdentity } from "./save-identity.ts";
import { submitApplication } from "./submit-application.ts";
import { createTokenAttempts, type TokenAttempts } from "./token-attempts.ts";
import { assertOpen, findLinkSession, findVisitor, startVisit, type Visitor } from "./visitor.ts";

type KycPageDeps = FileDeps & ModuleCore;
type Deps = KycPageDeps & { attempts: TokenAttempts };

declare module "fastify" {
  interface FastifyRequest {
    /** The visitor, from a link's cookie; set only on routes of a session. */
    visitor: Visitor | null;
  }
}

/** In a minute, with one link; the page sends a few. */
const REQUESTS_MAX = 240;
/** Limited, because a replaced file stays on disk for some minutes. */
const UPLOADS_MAX = 40;
const UPLOADS_WINDOW_MS = 10 * MINUTE_MS;

const BUILT_PAGE = join(import.meta.dirname, "../../../dashboard/dist/kyc");
const MULTIPART = "multipart/form-data";
const SHELL_HEADERS = {
  "Content-Security-Policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; " +
    "media-src 'self' blob:; connect-src 'self'; form-action 'none'; frame-ancestors 'none'; " +
    "base-uri 'none'",
  "Permissions-Policy": "camera=(self)",
};
const HEADERS = {
  "Referrer-Policy": "no-referrer",
  "Cache-Control": "no-store",
  "X-Content-Type-Options": "nosniff",
};

/** The page where an applicant proves their identity, and its endpoints. */
export function addKycPages(app: FastifyInstance, page_deps: KycPageDeps): void {
  const deps: Deps = { ...page_deps, attempts: createTokenAttempts(page_deps) };
  const built = readStaticFiles(BUILT_PAGE);
  addStaticFiles(app, "/assets/kyc", built);
  app.register(async (scope) => {
    await scope.register(cookie, COOKIE_OPTIONS);
    const requests = createRateLimiter(REQUESTS_MAX, MINUTE_MS)!;
    scope.addHook("onRequest", async (request, reply) => {
      reply.headers(HEADERS);
      assertOwnPage(request);
      assertFewRequests(requests, request);
      await deps.attempts.assertAllowed(callerNetwork(request.ip));
    });
    scope.addHook("onRoute", (route) => {
      route.bodyLimit = PAGE_BODY_BYTES_MAX;
    });
    scope.decorateRequest("visitor", null);
    addShell(scope, deps, built?.get("index.html")?.bytes);
    addSession(scope, deps);
    scope.register(async (session) => {
      // Before any body is read.
      session.addHook("onRequest", async (request) => {
        request.visitor = await requireVisitor(deps, request);
      });
      addState(session, deps);
      addChanges(session, deps);
      addFiles(session, deps);
    });
  });
}

/** A form of another site can send neither this header nor the cookie. */
function assertOwnPage(request: FastifyRequest): void {
  if (request.method === "GET" || request.headers["x-kyc-page"] === "1") return;
  throw new Refusal("insufficient_scope", "Send the header X-Kyc-Page: 1.");
}

/**
 * With one link, whoever has it, from any number of networks. Before the link is looked up: whoever
 * names another one's id has no cookie for it, and is counted as somebody who guesses.
 */
function assertFewRequests(requests: RateLimiter, request: FastifyRequest): void {
  const { token } = request.params as { token?: string };
  const link = isKycToken(token) ? token : readLinkId(request);
  const taken = link === undefined ? undefined : requests.take(link);
  if (!taken || taken.allowed) return;
  const message = `Too many requests. Wait ${taken.reset_seconds} seconds, then try again.`;
  throw new Refusal("too_many_requests", message, taken.reset_seconds);
}

/** The same bytes for every valid link; opening it changes nothing. */
function addShell(app: FastifyInstance, deps: Deps, shell: Buffer | undefined): void {
  app.register(async (scope) => {
    scope.setErrorHandler((error, request, reply) => {
      if (!(error instanceof Refusal)) throw error;
      reply.headers(SHELL_HEADERS);
      const seconds = error.retry_after_seconds;
      if (seconds !== undefined) reply.header("Retry-After", seconds);
      request.log.debug({ status: error.status }, "a link was refused");
      return sendHtml(reply, linkProblemPage(deps.mode, error.status, error.message), error.status);
    });
    scope.get("/kyc/:token", async (request, reply) => {
      reply.headers(SHELL_HEADERS);
      await openLink(deps, request);
      if (shell) return reply.type("text/html; charset=utf-8").send(shell);
      return sendHtml(reply, notBuiltPage(deps.mode), 503);
    });
  });
}

function addSession(app: FastifyInstance, deps: Deps): void {
  // The link is checked before any body is read; this route needs no body.
  const onRequest = async (request: FastifyRequest) => void (await openLink(deps, request));
  app.post("/kyc/:token/session", { onRequest }, async (request, reply) => {
    const session = await openLink(deps, request);
    // A reloaded page keeps its visit, so that its typed values stay visible.
    const known = await findVisitor(deps, session.id, readCookie(deps, request, session.id));
    if (known) return sendState(deps, reply, known);
    const { visitor, cookie: value } = await startVisit(deps, session);
    const is_https = deps.public_url().startsWith("https:");
    reply.setCookie(cookieName(deps, session.id), value, {
      ...{ path: "/kyc", httpOnly: true, sameSite: "strict", secure: is_https },
      expires: session.expires_at,
    });
    return sendState(deps, reply, visitor);
  });
}

function addState(app: FastifyInstance, deps: Deps): void {
  app.get("/kyc/session", async (request, reply) => sendState(deps, reply, visitorOf(request)));
}

function addChanges(app: FastifyInstance, deps: Deps): void {
  app.post("/kyc/session/confirm", async (request, reply) => {
    const visitor = visitorOf(request);
    await confirmBirthDate(deps, visitor, readObject(request.body, null).date_of_birth);
    return sendState(deps, reply, await requireVisitor(deps, request));
  });

  app.patch("/kyc/session/identity", async (request, reply) => {
    const visitor = visitorOf(request);
    await saveIdentity(deps, visitor, readObject(request.body, "identity"));
    return sendState(deps, reply, visitor);
  });

  app.post("/kyc/session/submit", async (request, reply) => {
    const visitor = visitorOf(request);
    await submitApplication(deps, visitor);
    deps.wake();
    return sendState(deps, reply, visitor);
  });
}

function addFiles(app: FastifyInstance, deps: Deps): void {
  app.get("/kyc/session/files/:slot", async (request, reply) => {
    const visitor = visitorOf(request);
    const slot = readSlot(request);
    const found = (await listKycFiles(deps.database, visitor.key, null)).find(
      (file) => file.slot === slot,
    );
    const { visit, key } = visitor;
    // Visible only in the browser that uploaded it.
    const may_see = found?.visit_id === visit.id;
    const keys = await deps.keyring.openUserKeys(deps.database, [key]);
    const subject_key = keys.get(key.account_id, key.user_id);
    if (!found || !may_see || !subject_key) throw new Refusal("record_not_found");
    reply
      .type(MEDIA_TYPES[found.type])
      .header("Content-Disposition", `inline; filename="${slot}.${found.type}"`)
      .header("Content-Security-Policy", FILE_POLICY);
    // Those of one link wait for each other, and then for other links of the account.
    const sendInTurn = async () => {
      reply.send(await openKycFile(deps.files.openDownload, key, found.file, subject_key));
      await untilClosed(reply);
      return reply;
    };
    return FILE_TURNS.send(visitor.session.id, () => FILE_TURNS.show(key.account_id, sendInTurn));
  });

  app.delete("/kyc/session/files/:slot", async (request, reply) => {
    const visitor = visitorOf(request);
    await deleteFile(deps, visitor, readSlot(request));
    return sendState(deps, reply, visitor);
  });

  const uploads = createRateLimiter(UPLOADS_MAX, UPLOADS_WINDOW_MS);
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    // Not parsed here, like every upload: a failing parser would end the connection.
    scope.addContentTypeParser(MULTIPART, (_request, _payload, done) => done(null));
    scope.put("/kyc/session/files/:slot", async (request, reply) => {
      const visitor = visitorOf(request);
      const limit = uploads?.take(visitor.session.id);
      if (limit && !limit.allowed) {
        const message = "Too many uploads. Wait a few minutes, then try again.";
        throw new Refusal("too_many_requests", message, limit.reset_seconds);
      }
      await attachFile(deps, visitor, readSlot(request), request);
      return sendState(deps, reply, visitor);
    });
  });
}

/** The session of the link in the URL, which must be open. */
async function openLink(deps: Deps, request: FastifyRequest) {
  const { token } = request.params as { token: string };
  const session = await findLinkSession(deps, token);
  if (!session) {
    await deps.attempts.wrong(callerNetwork(request.ip));
    throw new Refusal("record_not_found", "This link is not valid; ask for a new one.");
  }
  assertOpen(session, deps.clock.now());
  return session;
}

/** Set by the session's hook. */
function visitorOf(request: FastifyRequest): Visitor {
  if (!request.visitor) throw new Refusal("unauthorized");
  return request.visitor;
}

async function requireVisitor(deps: Deps, request: FastifyRequest): Promise<Visitor> {
  const link_id = readLinkId(request);
  const value = link_id && readCookie(deps, request, link_id);
  const visitor = await findVisitor(deps, link_id, value);
  if (!visitor) {
    await deps.attempts.wrong(callerNetwork(request.ip));
    throw new Refusal("unauthorized", "Open the link you received again.");
  }
  assertOpen(visitor.session, deps.clock.now());
  return visitor;
}

async function sendState(deps: Deps, reply: FastifyReply, visitor: Visitor): Promise<FastifyReply> {
  const kyc = await loadState(deps, visitor);
  return reply.type("application/json; charset=utf-8").send(JSON.stringify({ kyc }));
}

function sendHtml(reply: FastifyReply, page: Html, status: number): FastifyReply {
  return reply.code(status).type("text/html; charset=utf-8").send(page.text);
}

/** An object of the body, or the body itself; refused when it is not an object. */
function readObject(body: unknown, name: string | null): Record<string, unknown> {
  const { value, problems } = (body ?? { value: null, problems: [] }) as JsonBody;
  if (problems.length > 0) throw Refusal.of(problems);
  const found = name === null ? value : (value as Record<string, unknown> | null)?.[name];
  if (typeof found === "object" && found !== null && !Array.isArray(found)) {
    return found as Record<string, unknown>;
  }
  const field = name ?? "body";
  const message = "Send a JSON object.";
  throw Refusal.of([{ field, code: "parameter_missing", message }]);
}

function readSlot(request: FastifyRequest): Slot {
  const { slot } = request.params as { slot: string };
  const known = SLOTS.find((name) => name === slot);
  if (!known) throw new Refusal("record_not_found");
  return known;
}

/**
 * The link that the page was opened with: one browser may have two links open, and data given on
 * one must not be stored under the other. An image URL cannot send a header.
 */
function readLinkId(request: FastifyRequest): string | undefined {
  const { link } = request.query as Record<string, unknown>;
  const given = request.headers["x-kyc-link"] ?? (request.method === "GET" ? link : undefined);
  return typeof given === "string" && isId(given) ? given.toLowerCase() : undefined;
}

function readCookie(deps: Deps, request: FastifyRequest, link_id: string): string | undefined {
  return request.cookies[cookieName(deps, link_id)];
}

/** One cookie per link. The prefix prevents pages without TLS from setting it. */
function cookieName({ public_url }: Deps, link_id: string): string {
  return `${public_url().startsWith("https:") ? "__Secure-" : ""}sliproad_kyc_${link_id}`;
}
