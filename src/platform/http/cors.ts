import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";

/**
 * Only on routes that accept tokens: pages of any origin may read the answers. Browsers send no
 * cookies then, so a page can only read what its own token permits.
 */
export const CORS_HEADERS = {
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Expose-Headers":
    "Content-Disposition, Idempotent-Replayed, RateLimit-Limit, RateLimit-Remaining, " +
    "RateLimit-Reset, Retry-After, Sliproad-Version, WWW-Authenticate, X-Request-Id",
};

/** The longest time that browsers cache it. */
const KEPT_SECONDS = 2 * 60 * 60;

const PREFLIGHT_HEADERS = {
  ...CORS_HEADERS,
  "Access-Control-Allow-Methods": "GET, POST, PATCH, DELETE",
  // A `*` would not include Authorization.
  "Access-Control-Allow-Headers": "Authorization, Content-Type, Idempotency-Key, Sliproad-Version",
  "Access-Control-Max-Age": String(KEPT_SECONDS),
};

/** Answers the preflight request of a browser. */
export function addPreflight(app: FastifyInstance, url: string): void {
  // One route for all methods of a path.
  if (app.hasRoute({ method: "OPTIONS", url })) return;
  // Before a body is read: anybody may send one here, and it is not counted.
  const onRequest = async (_request: FastifyRequest, reply: FastifyReply) =>
    reply.code(204).headers(PREFLIGHT_HEADERS).send();
  app.options(url, { onRequest }, () => {});
}
