import { AsyncResource } from "node:async_hooks";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Provider } from "oidc-provider";
import { addPageScope } from "../../accounts/page-scope.ts";
import { createAttempts } from "../../platform/attempts/attempts.ts";
import { runForService } from "../../platform/db/caller-context.ts";
import { DatabaseUnavailableError } from "../../platform/db/outages.ts";
import { MINUTE_MS } from "../../platform/durations.ts";
import { Refusal } from "../../platform/errors.ts";
import { callerNetwork } from "../../platform/http/caller-network.ts";
import { isSenderGone, logFailure } from "../../platform/http/log-failure.ts";
import { createRateLimiter, type RateLimit } from "../../platform/http/rate-limit.ts";
import type { AddRoute } from "../../platform/http/route.ts";
import { PAGE_BODY_BYTES_MAX } from "../../platform/http/server.ts";
import { addConsentPages } from "./consent-routes.ts";
import { addMeRoutes } from "./me-routes.ts";
import { addNoteUse } from "./note-use.ts";
import { createProvider, type MembersByRequest, type OauthDeps, ROUTES } from "./provider.ts";
import { replayRequest } from "./replay-request.ts";
import { checkTokenForm, formOfJson, OauthError } from "./token-request.ts";

const FORM_TYPE = "application/x-www-form-urlencoded";
const WINDOW_MS = MINUTE_MS;
/** Authorization requests per IP address; each one stores a row. */
const REQUESTS_MAX = 120;
/** Wrong client secrets per IP address. */
const FAILURES_MAX = 20;
/**
 * The policy of the page that posts the answer to the application (`form_post`): the library adds
 * the hash of its own script. The form's target was checked: a registered redirect URI.
 */
const ANSWER_POLICY =
  "default-src 'none'; script-src 'none'; frame-ancestors 'none'; base-uri 'none'";
const DISCOVERY = [
  "/.well-known/openid-configuration",
  "/.well-known/oauth-authorization-server",
] as const;

type Opened = { provider: Provider; callback: ReturnType<Provider["callback"]> };

/** Returns the provider, created at its first use: the public URL is known only then. */
type OpenProvider = () => Promise<Opened>;

/** The OAuth endpoints, their pages, and `/me`. */
export function addOauth(app: FastifyInstance, addRoute: AddRoute, deps: OauthDeps): void {
  addNoteUse(app, deps);
  addMeRoutes(addRoute, deps);
  const members: MembersByRequest = new WeakMap();
  const openProvider = onceOpen(async () => {
    const provider = await createProvider(deps, members);
    return { provider, callback: provider.callback() };
  });
  addAuthorization(app, deps, openProvider, members);
  addEndpoints(app, deps, openProvider);
}

function addAuthorization(
  app: FastifyInstance,
  deps: OauthDeps,
  openProvider: OpenProvider,
  members: MembersByRequest,
): void {
  const limiter = createRateLimiter(REQUESTS_MAX, WINDOW_MS)!;
  addPageScope(app, deps, (scope) => {
    for (const path of [ROUTES.authorization, `${ROUTES.authorization}/:uid`]) {
      scope.get(path, async (request, reply) => {
        const limit = limiter.take(callerNetwork(request.ip));
        if (!limit.allowed) throw tooMany(limit);
        const { callback } = await openProvider();
        const replayed = replayRequest(request, deps.public_url());
        if (request.member) members.set(replayed, request.member);
        handOver(reply);
        reply.raw.setHeader("Content-Security-Policy", ANSWER_POLICY);
        await callback(replayed, reply.raw);
      });
    }
    addConsentPages(scope, deps, async () => (await openProvider()).provider);
  });
}

function addEndpoints(app: FastifyInstance, deps: OauthDeps, openProvider: OpenProvider): void {
  const attempts = createAttempts(deps, {
    purpose: "client secrets",
    limit: FAILURES_MAX,
    window_ms: WINDOW_MS,
  });
  app.register(async (scope) => {
    addBodyParsers(scope);
    scope.setErrorHandler((error, request, reply) => sendOauthError(error, request, reply));
    const serve = async (request: FastifyRequest, reply: FastifyReply) => {
      const form = formOf(request);
      const { callback } = await openProvider();
      const replayed = replayRequest(request, deps.public_url(), form);
      handOver(reply);
      await callback(replayed, reply.raw);
    };
    const serveClient = async (request: FastifyRequest, reply: FastifyReply) => {
      const limit = await attempts.begin(callerNetwork(request.ip));
      if (!limit.allowed) throw tooMany(limit);
      const end = () =>
        limit
          .end(reply.raw.statusCode === 401)
          .catch((error: unknown) => logFailure(request, error, "an attempt was not counted"));
      // The caller disconnected while waiting: `close` will not be emitted again.
      if (reply.raw.closed) return end();
      reply.raw.once(
        "close",
        AsyncResource.bind(() => void end()),
      );
      await serve(request, reply);
    };
    const posts = [ROUTES.token, ROUTES.revocation, ROUTES.introspection];
    for (const path of posts) scope.post(path, serveClient);
    scope.route({ method: ["GET", "POST"], url: ROUTES.userinfo, handler: serve });
    for (const path of [ROUTES.jwks, ...DISCOVERY]) {
      scope.route({ method: ["GET", "OPTIONS"], url: path, handler: serve });
    }
  });
}

function addBodyParsers(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers();
  const options = { parseAs: "string", bodyLimit: PAGE_BODY_BYTES_MAX } as const;
  scope.addContentTypeParser(FORM_TYPE, options, (_request, body, done) => done(null, body));
  scope.addContentTypeParser("application/json", options, (request, body, done) => {
    try {
      const form = formOfJson(String(body));
      request.raw.headers["content-type"] = FORM_TYPE;
      done(null, form);
    } catch (error) {
      done(error as Error);
    }
  });
}

function formOf(request: FastifyRequest): string | undefined {
  if (request.method !== "POST" || typeof request.body !== "string") return undefined;
  return request.routeOptions.url === ROUTES.token ? checkTokenForm(request.body) : request.body;
}

/** Hands the response to the library, with the headers that our hooks have set. */
function handOver(reply: FastifyReply): void {
  reply.hijack();
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value !== undefined) reply.raw.setHeader(name, value);
  }
}

function tooMany({ reset_seconds }: RateLimit): Refusal {
  const message = `Too many attempts. Wait ${reset_seconds} seconds, then try again.`;
  return new Refusal("too_many_requests", message, reset_seconds);
}

// Errors of Fastify and of our hooks as OAuth error codes.
const OAUTH_ERRORS: Record<number, string> = { 429: "slow_down", 503: "temporarily_unavailable" };
const RETRY_AFTER_SECONDS = 2;

function sendOauthError(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const { status, description, retry_after_seconds } = describe(error);
  if (status >= 500) logFailure(request, error, "oauth failed");
  if (retry_after_seconds !== undefined) reply.header("Retry-After", retry_after_seconds);
  const code = error instanceof OauthError ? error.error : codeOf(status);
  return reply
    .code(status)
    .header("Cache-Control", "no-store")
    .type("application/json; charset=utf-8")
    .send(JSON.stringify({ error: code, error_description: description }));
}

function codeOf(status: number): string {
  return OAUTH_ERRORS[status] ?? (status < 500 ? "invalid_request" : "server_error");
}

function describe(error: unknown): {
  status: number;
  description: string;
  retry_after_seconds?: number | undefined;
} {
  if (error instanceof OauthError) return { status: error.status, description: error.message };
  if (error instanceof Refusal) {
    const { status, message, retry_after_seconds } = error;
    return { status, description: message, retry_after_seconds };
  }
  if (error instanceof DatabaseUnavailableError) {
    return { status: 503, description: "try again", retry_after_seconds: RETRY_AFTER_SECONDS };
  }
  if (isSenderGone(error)) return { status: 400, description: "the body ended too early" };
  const { code, statusCode } = error as { code?: string; statusCode?: number };
  if (code === "FST_ERR_CTP_INVALID_MEDIA_TYPE") {
    return { status: 415, description: "send a form or a JSON object" };
  }
  if (code?.startsWith("FST_ERR_") && statusCode) {
    return { status: statusCode, description: "the body could not be read" };
  }
  return { status: 500, description: "something went wrong on our side" };
}

/** All requests share one opening; if it fails, the next request tries again. */
function onceOpen(open: OpenProvider): OpenProvider {
  let opened: Promise<Opened> | undefined;
  return () => {
    opened ??= runForService(open).catch((error: unknown) => {
      opened = undefined;
      throw error;
    });
    return opened;
  };
}
