import pg from "pg";

/** The database was unreachable, failed, or was lost before COMMIT: nothing was written. */
export class DatabaseUnavailableError extends Error {}

/** The database answers, but its caller had no turn in time: too many of its requests wait. */
export class NoTurnError extends DatabaseUnavailableError {}

/** COMMIT was sent but not answered: only the database knows whether it committed. */
export class CommitUnknownError extends Error {}

// 57P01–57P03: the server is shutting down; class 08: connection exceptions.
const CONNECTION_ENDS = /^(57P0[123]|08...)$/;
// 25006: a standby, or a primary that became one; class 53: no disk, memory or connections left;
// class 58: the server's system fails it, for example its disk.
const OUTAGES = /^(25006|53...|58...)$/;
/** Citus says so, with the code of an internal error, when its own server was killed. */
const SERVER_KILLED = "postmaster was shut down, exiting";

/** Whether something else could not be read or written now either. */
export function isOutage(error: unknown): boolean {
  return error instanceof DatabaseUnavailableError || error instanceof CommitUnknownError;
}

/** True if PostgreSQL answered a statement with an error, false for a broken connection. */
export function isCertain(error: unknown): error is pg.DatabaseError {
  if (!(error instanceof pg.DatabaseError) || error.message === SERVER_KILLED) return false;
  return !CONNECTION_ENDS.test(error.code ?? "");
}

/** True if PostgreSQL rejected a statement, false if it is unavailable. */
export function isDatabaseError(error: unknown): error is pg.DatabaseError {
  return isCertain(error) && !OUTAGES.test(error.code ?? "");
}

/** Throws the error as it is, or as an outage. */
export function nameOutage(error: unknown): never {
  if (isDatabaseError(error)) throw error;
  const message = isCertain(error)
    ? `the database cannot work now: ${error.message}`
    : "the database cannot be reached";
  throw new DatabaseUnavailableError(message, { cause: error });
}

/** The name of the unique key that a statement violated, if it did. */
export function violatedKey(error: unknown): string | undefined {
  return isDatabaseError(error) && error.code === "23505" ? constraintOf(error) : undefined;
}

/** The name of the check that a statement violated, if it did. */
export function violatedCheck(error: unknown): string | undefined {
  return isDatabaseError(error) && error.code === "23514" ? constraintOf(error) : undefined;
}

const LAST_QUOTED = /\p{Quotation_Mark}\s*(\w+)\s*\p{Quotation_Mark}[^\p{Quotation_Mark}]*$/u;
/** On Citus the keys of a shard have its number at the end. */
const SHARD = /_\d{6,}$/;

/** Of what another node says, Citus passes on the message only. */
function constraintOf({ constraint, message }: pg.DatabaseError): string {
  const name = constraint ?? LAST_QUOTED.exec(message)?.[1];
  return name?.replace(SHARD, "") ?? "unknown";
}

/** Two transactions conflicted and PostgreSQL ended one: it is safe to run it again. */
export function isRetryable(error: unknown): boolean {
  return isDatabaseError(error) && (error.code === "40P01" || error.code === "40001");
}

/** The statement was not run, because an earlier one of its transaction had failed. */
export function isAborted(error: unknown): boolean {
  return isDatabaseError(error) && error.code === "25P02";
}

/** A lock was not to be had in time, or two transactions waited for each other. */
export function isLockConflict(error: unknown): boolean {
  return isRetryable(error) || (isDatabaseError(error) && error.code === "55P03");
}
