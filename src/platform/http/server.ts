import { randomUUIDv7 } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import Fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from "fastify";
import { contextOf, runFor, setCaller } from "../db/caller-context.ts";
import { CommitUnknownError, DatabaseUnavailableError } from "../db/outages.ts";
import { MINUTE_MS, SECOND_MS } from "../durations.ts";
import { type ErrorCode, Refusal } from "../errors.ts";
import { callerNetwork } from "./caller-network.ts";
import { checkCaller } from "./check-caller.ts";
import { checkConnection, checkEncoding, checkHeaders } from "./check-headers.ts";
import { addClosing } from "./closing.ts";
import { CORS_HEADERS } from "./cors.ts";
import { closeAfterBody, drain, senderOf } from "./drain.ts";
import { createForwardedAddress, readsForwarded } from "./forwarded-address.ts";
import { type Credential, type KnownCredentials, readCredential } from "./known-credentials.ts";
import { addLargeAnswers } from "./large-answers.ts";
import { addJsonBodies } from "./large-bodies.ts";
import { isSenderGone, logFailure } from "./log-failure.ts";
import { createNodeServer } from "./node-server.ts";
import {
  API_HEADERS,
  answerUnreadable,
  errorBody,
  headersOf,
  refuseOverload,
} from "./plain-answers.ts";
import { createRateLimiter, type RateLimit } from "./rate-limit.ts";
import type { Caller } from "./route-spec.ts";
import { noteAccount } from "./slow-clients.ts";
import { traceOf } from "./trace-context.ts";
import { addWorkCallers } from "./work-callers.ts";

const BODY_BYTES_MAX = 1024 * 1024;
/** For routes for people, which need no key: any client can send to them. */
export const PAGE_BODY_BYTES_MAX = 16 * 1024;
const REQUEST_TIMEOUT_MS = MINUTE_MS;
const KEEP_ALIVE_MS = 72 * SECOND_MS;
const RETRY_AFTER_SECONDS = 2;
// Fits a whole request line: an id that is too long is an unknown id, not an unknown route.
const PARAMETER_LENGTH_MAX = 16 * 1024;

declare module "fastify" {
  interface FastifyRequest {
    caller: Caller | null;
  }
  interface FastifyReply {
    /** Why the request was refused. */
    refusal: Refusal | null;
  }
  interface FastifyContextConfig {
    /** API routes: they need a key and JSON, and are rate-limited. */
    is_api?: boolean;
    operation?: string;
    /** The scope a token needs; without it no token is accepted. */
    scope?: string;
    /** Only members who are signed in. */
    members_only?: boolean;
    /** The media types of the answer, when it is a file. */
    file_types?: readonly string[];
  }
}

/** Where log lines go instead of standard output. */
export type LogDestination = { write(line: string): void };

type ServerOptions = {
  log_level: string;
  log_destination?: LogDestination;
  public_url: () => string;
  trusted_proxies: readonly string[];
  rate_limit: number;
  rate_limit_anonymous: number;
  stalled_seconds: number;
  /** Without it, every request is its network's until it is authenticated. */
  known?: KnownCredentials;
  /** Asks the database whose it is, and notes that in `known`. */
  lookUp?: (credential: Credential) => Promise<unknown>;
  /** The caller with this key or token; null if it is unknown. */
  authenticate: (key: string) => Promise<Caller | null>;
  /** The member whose browser sent it; null without a session. */
  authenticateMember?: (request: FastifyRequest) => Promise<Caller | null>;
};

/** The HTTP server with everything common to all routes; the modules add theirs. */
export function createServer(options: ServerOptions): FastifyInstance {
  const accountOf = accountsBy(options);
  const app: FastifyInstance = Fastify({
    logger: {
      level: options.log_level,
      base: null,
      // Database errors may quote values in `detail`: log only name, message and stack.
      serializers: {
        err: (error: Error) => ({
          type: error.name,
          message: error.message,
          stack: error.stack ?? "",
        }),
      },
      ...(options.log_destination ? { stream: options.log_destination } : {}),
    },
    // One line per request, written by our own hook below.
    logController: new LogController({
      disableRequestLogging: true,
      requestIdLogLabel: "request_id",
    }),
    bodyLimit: BODY_BYTES_MAX,
    serverFactory: (handle) =>
      createNodeServer(readsForwarded(handle), {
        keep_alive_ms: KEEP_ALIVE_MS,
        request_ms: REQUEST_TIMEOUT_MS,
        // A client that reads nothing of its answer keeps it in memory.
        connection_ms: options.stalled_seconds * SECOND_MS,
        onSlowClosed: (connections) => app.log.warn({ connections }, "slow clients disconnected"),
        addressOf: createForwardedAddress(options.trusted_proxies),
        accountOf,
        refuse: (answer) => refuseOverload(options.public_url(), answer),
        onRefused: (requests) => app.log.warn({ requests }, "more requests than can be processed"),
      }),
    trustProxy: options.trusted_proxies.length > 0 ? [...options.trusted_proxies] : false,
    genReqId: () => randomUUIDv7(),
    // All lines of a request contain the trace from the caller's header.
    childLoggerFactory: (logger, bindings, child_options, request) =>
      logger.child({ ...bindings, ...traceOf(request.headers.traceparent) }, child_options),
    return503OnClosing: false,
    forceCloseConnections: "idle",
    routerOptions: { maxParamLength: PARAMETER_LENGTH_MAX },
    exposeHeadRoutes: false,
    rewriteUrl: (request) => decodableUrl(request.url ?? "/"),
    // Errors raised before any hook could run.
    frameworkErrors: (error, request, reply) => void sendError(options, error, request, reply),
    clientErrorHandler: (error, socket) =>
      answerUnreadable(options.public_url(), error, socket as Socket),
  });
  // Routes check their input themselves (route.ts): all problems at once, not only the first.
  app.setValidatorCompiler(() => () => true);
  app.setSerializerCompiler(
    () => (value) => (typeof value === "string" ? value : JSON.stringify(value)),
  );
  app.decorateRequest("caller", null);
  app.decorateReply("refusal", null);
  addWorkCallers(app, accountOf);
  addRequestHooks(app, options, accountOf);
  addJsonBodies(app);
  addLargeAnswers(app);
  addClosing(app);
  app.setErrorHandler((error, request, reply) => sendError(options, error, request, reply));
  app.setNotFoundHandler((request, reply) =>
    sendError(options, new Refusal("route_not_found"), request, reply),
  );
  return app;
}

/** A URL that cannot be decoded is used literally: it then contains an unknown id. */
function decodableUrl(url: string): string {
  if (!url.includes("%")) return url;
  const [path = "", ...query] = url.split("?");
  try {
    decodeURIComponent(path);
    return url;
  } catch {
    return [path.replaceAll("%", "%25"), ...query].join("?");
  }
}

/**
 * Whose each request is: an account, or the devices of one. Read once for each: authentication of
 * another may say something else meanwhile.
 */
function accountsBy({ known, public_url }: ServerOptions) {
  const read = new WeakMap<IncomingMessage, { account_id: string | undefined }>();
  return (request: IncomingMessage): string | undefined => {
    const before = read.get(request);
    if (before) return before.account_id;
    const account_id = known?.ownerOf(request, public_url());
    read.set(request, { account_id });
    return account_id;
  };
}

function addRequestHooks(
  app: FastifyInstance,
  options: ServerOptions,
  accountOf: (request: IncomingMessage) => string | undefined,
): void {
  const key_limiter = createRateLimiter(options.rate_limit);
  const address_limiter = createRateLimiter(options.rate_limit_anonymous);

  app.addHook("onRequest", async (request, reply) => {
    reply.headers(headersOf(options.public_url(), request.id));
    checkConnection(request.raw);
    // Checked here, so that no body is read for a route that does not exist.
    if (request.is404) throw new Refusal("route_not_found");
    const { is_api, scope, members_only, operation = "" } = request.routeOptions.config;
    if (!is_api) {
      checkNamed(options, request.raw, accountOf(request.raw));
      return checkEncoding(request, reply);
    }
    reply.headers(API_HEADERS);
    if (scope) reply.headers(CORS_HEADERS);
    const credential = readCredential(request.raw, options.public_url());
    request.caller = await (credential?.kind === "bearer"
      ? options.authenticate(credential.text)
      : (options.authenticateMember?.(request) ?? null));
    const refused = request.caller?.refuse?.({ operation, ip: request.ip });
    // Whoever found a key that is not for their network must not use up its owner's limit.
    const limit =
      request.caller && refused?.code !== "unauthorized"
        ? key_limiter?.take(request.caller.credential_id)
        : address_limiter?.take(callerNetwork(request.ip));
    if (limit) announce(reply, limit);
    if (!request.caller) throw new Refusal("unauthorized");
    setCaller(request.caller.account_id);
    noteAccount(request.raw, request.caller.account_id);
    checkCaller(request.caller, { scope, members_only, operation, ip: request.ip }, reply);
    checkHeaders(request, reply);
  });

  // An answer may be sent before the whole body was read, such as a refusal of its size: a client
  // that still sends must get to read it.
  app.addHook("onSend", (request, _reply, _payload, done) => {
    if (!request.raw.complete) {
      closeAfterBody(request.raw);
      drain(request.raw, senderOf(request));
    }
    done();
  });

  app.addHook("onResponse", async (request, reply) => {
    request.log.info(
      {
        method: request.method,
        // The pattern, never the URL itself: it may contain a token.
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

/** Where nobody asks for the credential, one that has ended must not count for its account. */
function checkNamed(
  { known, lookUp, public_url }: ServerOptions,
  request: IncomingMessage,
  account_id: string | undefined,
): void {
  if (account_id === undefined || !lookUp) return;
  const credential = readCredential(request, public_url());
  if (!credential || !known?.takeCheck(credential.text)) return;
  // Not awaited: if it fails, a later one tells.
  runFor(contextOf(account_id), () => lookUp(credential)).catch(() => {});
}

function announce(reply: FastifyReply, limit: RateLimit): void {
  reply.header("RateLimit-Limit", limit.limit);
  reply.header("RateLimit-Remaining", limit.remaining);
  reply.header("RateLimit-Reset", limit.reset_seconds);
  if (!limit.allowed) throw new Refusal("too_many_requests", undefined, limit.reset_seconds);
}

// Errors from Fastify itself, mapped to our codes.
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
  reply.refusal = refusal;
  if (refusal.status >= 500) logFailure(request, error, "failed");
  const seconds = refusal.retry_after_seconds;
  if (seconds !== undefined) reply.header("Retry-After", seconds);
  if (refusal.code === "unauthorized") reply.header("WWW-Authenticate", "Bearer");
  return reply
    .code(refusal.status)
    .headers(headersOf(options.public_url(), request.id))
    .headers(API_HEADERS)
    .type("application/json; charset=utf-8")
    .send(errorBody(options.public_url(), refusal, request.id));
}

function toRefusal(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  if (error instanceof CommitUnknownError) return new Refusal("outcome_unknown");
  if (error instanceof DatabaseUnavailableError) {
    return new Refusal("unavailable", undefined, RETRY_AFTER_SECONDS);
  }
  if (isSenderGone(error)) return new Refusal("bad_request");
  const { code = "" } = error as { code?: string };
  return new Refusal(FRAMEWORK_ERRORS[code] ?? "internal_error");
}
