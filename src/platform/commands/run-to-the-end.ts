import {
  CommitUnknownError,
  DatabaseUnavailableError,
  isRetryable,
  violatedKey,
} from "../db/outages.ts";
import { Refusal } from "../errors.ts";
import { newId } from "../ids.ts";
import { realTime } from "../tasks/real-time.ts";
import type { PutOff } from "./batcher.ts";
import { findOutcome } from "./find-outcome.ts";
import type { ExecutorDeps, Outcome, Queued, Try } from "./model.ts";
import { runInTransaction } from "./run-in-transaction.ts";
import type { AnyUseCase } from "./use-case.ts";

const TRIES_MAX = 6;
const FIND_OUTCOME_MAX_MS = 10_000;
const RETRY_AFTER_SECONDS = 2;

/**
 * Runs the set until its outcome is certain: again after a conflict with another process, and if
 * the answer to COMMIT was lost, by asking the database for the outcome. Throws only if nothing was
 * written.
 */
export async function runToTheEnd(
  deps: ExecutorDeps,
  use_case: AnyUseCase,
  queued: readonly Queued[],
): Promise<Map<Queued, Outcome | PutOff>> {
  const { answer_max_ms } = deps;
  for (let tries = 1; ; tries += 1) {
    const now = deps.clock.now();
    const attempt = newTry(queued, now);
    try {
      await deps.database.transaction((tx) => runInTransaction(deps, use_case, tx, attempt, now), {
        answer_max_ms,
      });
    } catch (error) {
      const end = await findEnd(deps, attempt, error);
      if (end === "unknown") return refuseInDoubt(attempt, error);
      const is_spent = tries === TRIES_MAX;
      if (end === "unavailable" || (end === "undone" && is_spent)) return refuseAll(attempt, error);
      if (end === "failed" || (end === "conflict" && is_spent)) throw error;
      if (end !== "committed") continue;
    }
    // Deferred, so that it cannot throw here: the batcher would run the set again.
    setImmediate(deps.afterCommit);
    return answersOf(attempt);
  }
}

/**
 * Each attempt gives its commands new ids: those of an attempt that was rolled back may be blocked
 * (find-outcome).
 */
function newTry(queued: readonly Queued[], now: Date): Try {
  const commands = queued.map((entry) => [entry, { ...entry.request, id: newId(now) }] as const);
  return { commands: new Map(commands), outcomes: new Map(), written: [] };
}

type End = "committed" | "undone" | "unknown" | "unavailable" | "conflict" | "failed";

async function findEnd(deps: ExecutorDeps, attempt: Try, error: unknown): Promise<End> {
  if (error instanceof DatabaseUnavailableError) return "unavailable";
  if (violatedKey(error) || isRetryable(error)) return "conflict";
  if (!(error instanceof CommitUnknownError)) return "failed";
  const [witness] = attempt.written;
  // Nothing was written: all answers are based on what others had already committed.
  if (!witness) return "committed";
  const limit_ms = deps.find_outcome_max_ms ?? FIND_OUTCOME_MAX_MS;
  return findOutcome(deps.database, witness, limit_ms, realTime(deps.clock));
}

function answersOf({ commands, outcomes }: Try): Map<Queued, Outcome | PutOff> {
  return mapValues(commands, ({ id }) => outcomes.get(id)!);
}

/** The outcome of the written commands is unknown; the others certainly did nothing. */
function refuseInDoubt({ commands, written }: Try, cause: unknown): Map<Queued, Outcome> {
  const in_doubt = new Set(written.map((command) => command.id));
  return mapValues(commands, ({ id }) => {
    const refusal = in_doubt.has(id) ? new Refusal("outcome_unknown") : unavailable();
    return { refusal: Object.assign(refusal, { cause }) };
  });
}

function refuseAll({ commands }: Try, cause: unknown): Map<Queued, Outcome> {
  return mapValues(commands, () => ({ refusal: Object.assign(unavailable(), { cause }) }));
}

function mapValues<Key, From, To>(map: ReadonlyMap<Key, From>, to: (value: From) => To) {
  return new Map([...map].map(([key, value]) => [key, to(value)]));
}

function unavailable(): Refusal {
  return new Refusal("unavailable", undefined, RETRY_AFTER_SECONDS);
}
