import { randomUUID } from "node:crypto";
import Fastify, { LogController, type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import { DatabaseUnavailableError } from "../db/database.ts";
import { type ErrorCode, type Problem, Refusal } from "../errors.ts";
import { parseJsonBody } from "./json-body.ts";
import { createRateLimiter, type RateLimit } from "./rate-limit.ts";
import type { Caller } from "./route.ts";

export const VERSION = "2026-11-15";
const BODY_BYTES_MAX = 1024 * 1024;
const REQUEST_TIMEOUT_MS = 60_000;
const RETRY_AFTER_SECONDS = 2;

declare module "fastify" {
  interface FastifyRequest {
    caller: Caller | null;
  }
  interface FastifyContextConfig {
    /** Routes of the API: they want a key, JSON, and are rate-limited. */
    is_api?: boolean;
  }
}

export type ServerOptions = {
  log_level: string;
  log_destination?: { write(line: string): void };
  public_url: () => string;
  trusted_proxies: readonly string[];
  rate_limit: number;
  rate_limit_anonymous: number;
  /** Whose key is this? Null when nobody's. */
  authenticate: (key: string) => Promise<Caller | null>;
};

/** The HTTP server with everything that holds for all routes; the rooms add theirs to it. */
export function createServer(options: ServerOptions): FastifyInstance {
  const app = Fastify({
    logger: {
      level: options.log_level,
      base: null,
      // Errors of the database may quote values in `detail`: only name, message and stack go out.
      serializers: { err: (error: Error) => ({ type: error.name, message: error.message, stack: error.stack ?? "" }) },
      ...(options.log_destination ? { stream: options.log_destination } : {}),
    },
    // One line a request, written by our own hook below.
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: "request_id" }),
    bodyLimit: BODY_BYTES_MAX,
    requestTimeout: REQUEST_TIMEOUT_MS,
    trustProxy: options.trusted_proxies.length > 0 ? [...options.trusted_proxies] : false,
    genReqId: () => randomUUID(),
    return503OnClosing: false,
    forceCloseConnections: "idle",
    routerOptions: { maxParamLength: 300 },
    exposeHeadRoutes: false,
  });
  // Routes check their input themselves (route.ts): all problems at once, not the first.
  app.setValidatorCompiler(() => () => true);
  app.setSerializerCompiler(() => (value) => (typeof value === "string" ? value : JSON.stringify(value)));
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", { parseAs: "buffer" }, (_request, body, done) => {
    try {
      done(null, body.length === 0 ? undefined : parseJsonBody(body as Buffer));
    } catch (error) {
      done(error as Error);
    }
  });
  app.decorateRequest("caller", null);
  addRequestHooks(app, options);
  app.setErrorHandler((error, request, reply) => sendError(options, error, request, reply));
  app.setNotFoundHandler((request, reply) =>
    sendError(options, new Refusal("route_not_found"), request, reply),
  );
  return app;
}

function addRequestHooks(app: FastifyInstance, options: ServerOptions): void {
  const key_limiter = createRateLimiter(options.rate_limit);
  const address_limiter = createRateLimiter(options.rate_limit_anonymous);

  app.addHook("onRequest", async (request, reply) => {
    reply.header("X-Request-Id", request.id);
    reply.header("Sliproad-Version", VERSION);
    if (!request.routeOptions.config.is_api) return;
    const key = /^Bearer ([\x21-\x7e]{1,300})$/i.exec(request.headers.authorization ?? "")?.[1];
    request.caller = key ? await options.authenticate(key) : null;
    const limit = request.caller
      ? key_limiter?.take(request.caller.api_key_id)
      : address_limiter?.take(request.ip);
    if (limit) announce(reply, limit);
    if (!request.caller) throw new Refusal("unauthorized");
    checkVersion(request);
    checkFormat(request);
  });

  app.addHook("onResponse", async (request, reply) => {
    request.log.info(
      {
        method: request.method,
        // The pattern, never the address itself: it may hold a token.
        route: request.routeOptions.url ?? "(none)",
        status: reply.statusCode,
        duration_ms: Math.round(reply.elapsedTime * 10) / 10,
        account_id: request.caller?.account_id,
        api_key: request.caller?.key_label,
      },
      "request",
    );
  });
}

function announce(reply: FastifyReply, limit: RateLimit): void {
  reply.header("RateLimit-Limit", limit.limit);
  reply.header("RateLimit-Remaining", limit.remaining);
  reply.header("RateLimit-Reset", limit.reset_seconds);
  if (!limit.allowed) throw new Refusal("too_many_requests", undefined, limit.reset_seconds);
}

function checkVersion(request: FastifyRequest): void {
  const asked = request.headers["sliproad-version"];
  if (asked !== undefined && asked !== VERSION) {
    throw new Refusal("version_unknown", `This server knows the version ${VERSION}.`);
  }
}

function checkFormat(request: FastifyRequest): void {
  const accept = request.headers.accept;
  if (accept === undefined || /application\/(json|\*)|\*\/\*/i.test(accept)) return;
  throw new Refusal("unknown_format");
}

// What Fastify itself refuses, in our words.
const FRAMEWORK_ERRORS: Record<string, ErrorCode> = {
  FST_ERR_CTP_BODY_TOO_LARGE: "body_too_large",
  FST_ERR_CTP_INVALID_MEDIA_TYPE: "unsupported_media_type",
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: "bad_request",
  FST_ERR_BAD_URL: "route_not_found",
};

function sendError(
  options: ServerOptions,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const refusal = toRefusal(error);
  if (refusal.status >= 500) request.log.error({ err: error }, "failed");
  const seconds = refusal.retry_after_seconds;
  if (seconds !== undefined) reply.header("Retry-After", seconds);
  const errors = refusal.problems;
  return reply
    .code(refusal.status)
    .type("application/json; charset=utf-8")
    .send(
      JSON.stringify({
        error_code: refusal.code,
        message: topMessage(refusal, errors),
        status: refusal.status,
        request_id: request.id,
        doc_url: `${options.public_url()}/docs/errors#${refusal.code}`,
        ...(errors.length > 0 ? { errors } : {}),
      }),
    );
}

/** With a single problem the caller should not have to look further than the first line. */
function topMessage(refusal: Refusal, errors: readonly Problem[]): string {
  const [only] = errors;
  return errors.length === 1 && only ? `${only.field}: ${only.message}` : refusal.message;
}

function toRefusal(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  if (error instanceof DatabaseUnavailableError) {
    return new Refusal("unavailable", undefined, RETRY_AFTER_SECONDS);
  }
  const code = (error as { code?: string }).code ?? "";
  return new Refusal(FRAMEWORK_ERRORS[code] ?? "internal_error");
}
