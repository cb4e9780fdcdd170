import type { FastifyRequest } from "fastify";
import { Refusal } from "../errors.ts";

/** Logs a request that was answered with 500 or above. */
export function logFailure(request: FastifyRequest, error: unknown, message: string): void {
  if (!isBackPressure(error)) {
    request.log.error({ err: error }, message);
    return;
  }
  // Relevant to an operator if there are many, but nothing failed: no stack, no error.
  request.log.warn({ error_code: error.code, reason: error.message }, "temporarily refused");
}

/** We are overloaded or stopping. A refusal with a cause comes from an underlying error. */
function isBackPressure(error: unknown): error is Refusal {
  return error instanceof Refusal && error.status === 503 && error.cause === undefined;
}

/** Fastify's error for a body whose sender disconnected: nothing failed here. */
export function isSenderGone(error: unknown): boolean {
  const { code, statusCode } = error as { code?: string; statusCode?: number };
  return code === "ECONNRESET" && statusCode === 400;
}

/** The error of a connection whose client disconnected before it had read its answer. */
export function isReaderGone(error: unknown): boolean {
  const { code = "" } = error as { code?: string };
  return ["ECONNRESET", "EPIPE"].includes(code);
}
