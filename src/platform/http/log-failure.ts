import type { FastifyRequest } from "fastify";
import { Refusal } from "../errors.ts";

/** Writes what was answered with 500 or above into the log. */
export function logFailure(request: FastifyRequest, error: unknown, message: string): void {
  if (!isBackPressure(error)) {
    request.log.error({ err: error }, message);
    return;
  }
  // An operator who sees many wants to know, but nothing is broken: no stack, no error.
  request.log.warn({ error_code: error.code, reason: error.message }, "temporarily refused");
}

/** We have too much to do, or are stopping. A refusal with a cause comes from a fault below. */
function isBackPressure(error: unknown): error is Refusal {
  return error instanceof Refusal && error.status === 503 && error.cause === undefined;
}
