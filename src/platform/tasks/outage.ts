import type { TaskLog } from "./task-log.ts";

const BACKOFF_MAX_MS = 5_000;

/** Tracks a database outage, so that it is logged once and not at every attempt. */
export type Outage = {
  failed(error: unknown): void;
  /**
   * Ends a round of attempts and returns how long to wait before the next: longer the more rounds
   * in a row had a failure, 0 after a round without one.
   */
  backoffMs(): number;
};

export function createOutage(log: TaskLog, first_backoff_ms: number): Outage {
  let failed_in_round = false;
  let failed_rounds = 0;
  let is_logged = false;
  return {
    failed: (error) => {
      failed_in_round = true;
      if (is_logged) return;
      is_logged = true;
      log.error(
        { error: describeError(error) },
        "the worker cannot use the database; it keeps trying",
      );
    },
    backoffMs: () => {
      failed_rounds = failed_in_round ? failed_rounds + 1 : 0;
      failed_in_round = false;
      if (failed_rounds > 0) {
        return Math.min(first_backoff_ms * 2 ** (failed_rounds - 1), BACKOFF_MAX_MS);
      }
      if (is_logged) log.info({}, "the worker can use the database again");
      is_logged = false;
      return 0;
    },
  };
}

const ERROR_CHARACTERS_MAX = 500;

/** Class and message only: other fields of an error may contain the data that caused it. */
export function describeError(error: unknown): string {
  const text =
    error instanceof Error ? `${error.constructor.name}: ${error.message}` : "not an Error";
  // A text column cannot store a null character.
  return text.replaceAll("\0", "").slice(0, ERROR_CHARACTERS_MAX);
}
