import { NoTurnError } from "../db/outages.ts";
import { Refusal } from "../errors.ts";
import type { TaskLog } from "../tasks/task-log.ts";

/** Logs a request that was answered with 500 or above. */
export function logFailure(
  { log }: { log: Pick<TaskLog, "error" | "warn"> },
  error: unknown,
  message: string,
): void {
  const reason = whyTooMuch(error);
  if (reason === null) {
    log.error({ err: error }, message);
    return;
  }
  // Relevant to an operator if there are many, but nothing failed: no stack, no error.
  log.warn({ error_code: "unavailable", reason }, "temporarily refused");
}

/** We are overloaded or stopping. A refusal with another cause comes from an underlying error. */
function whyTooMuch(error: unknown): string | null {
  if (error instanceof NoTurnError) return error.message;
  if (!(error instanceof Refusal) || error.status !== 503) return null;
  const { cause, message } = error;
  return cause === undefined || whyTooMuch(cause) !== null ? message : null;
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
