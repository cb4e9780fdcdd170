import type { FastifyInstance } from "fastify";

/**
 * On routes that take tokens, and on no other: pages of any origin may read the answers. Nothing
 * rests on cookies there, so that a page learns only what its own token opens.
 */
export const CORS_HEADERS = {
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Expose-Headers":
    "Content-Disposition, Idempotent-Replayed, RateLimit-Limit, RateLimit-Remaining, " +
    "RateLimit-Reset, Retry-After, Sliproad-Version, WWW-Authenticate, X-Request-Id",
};

/** The longest that browsers keep it. */
const KEPT_SECONDS = 2 * 60 * 60;

const PREFLIGHT_HEADERS = {
  ...CORS_HEADERS,
  "Access-Control-Allow-Methods": "GET, POST, PATCH, DELETE",
  // A `*` would not stand for Authorization.
  "Access-Control-Allow-Headers": "Authorization, Content-Type, Idempotency-Key, Sliproad-Version",
  "Access-Control-Max-Age": String(KEPT_SECONDS),
};

/** What a browser asks before a request of a page; it costs no more than the answer. */
export function addPreflight(app: FastifyInstance, url: string): void {
  // One for all methods of a path.
  if (app.hasRoute({ method: "OPTIONS", url })) return;
  app.options(url, { schema: { hide: true } }, (_request, reply) =>
    reply.code(204).headers(PREFLIGHT_HEADERS).send(),
  );
}
