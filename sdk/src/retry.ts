import { SliproadError } from "./errors.ts";

const BACKOFF_MIN_MS = 500;
const BACKOFF_MAX_MS = 8_000;
/** If the service asks to wait longer than this, its response is returned to the caller. */
const RETRY_AFTER_MAX_SECONDS = 60;

/** 502 and 504 come from a proxy that did not reach the service, like a broken connection. */
const RETRIED_STATUSES = [429, 502, 503, 504];

/**
 * Tries until it succeeds, until the failure is final, or until `retries_max` repeats are used up.
 * Repeating is safe because every POST and PATCH has one key for all attempts.
 */
export async function withRetries<Result>(
  run: () => Promise<Result>,
  { retries_max, signal }: { retries_max: number; signal: AbortSignal | null },
): Promise<Result> {
  for (let retries = 0; ; retries += 1) {
    try {
      return await run();
    } catch (error) {
      if (retries >= retries_max || !mayPass(error)) throw error;
      await pause(waitBefore(retries, error), signal);
    }
  }
}

function mayPass(error: unknown): error is SliproadError {
  if (!(error instanceof SliproadError)) return false;
  if ((error.retry_after_seconds ?? 0) > RETRY_AFTER_MAX_SECONDS) return false;
  return error.status === null || RETRIED_STATUSES.includes(error.status);
}

/** Full jitter, so that clients that failed together do not retry together. */
function waitBefore(retries: number, { retry_after_seconds }: SliproadError): number {
  const backoff_ms = Math.min(BACKOFF_MAX_MS, BACKOFF_MIN_MS * 2 ** retries);
  return (retry_after_seconds ?? 0) * 1000 + Math.random() * backoff_ms;
}

function pause(wait_ms: number, signal: AbortSignal | null): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, wait_ms);
    if (signal?.aborted) stop();
    else signal?.addEventListener("abort", stop, { once: true });
  });
}
