import type { Database } from "../db/database.ts";
import { Refusal } from "../errors.ts";
import { createFairTurns } from "./fair-turns.ts";
import type { Answer, CommandRequest, Outcome } from "./model.ts";
import { findStoredAnswers, lockKey } from "./store.ts";
import type { UseCase } from "./use-case.ts";

/** Replays the first answer to a request with an Idempotency-Key whose work stores no record. */
export type KeepAnswer = (
  request: CommandRequest<null>,
  make: () => Promise<string>,
) => Promise<Answer | string>;

const RETRY_AFTER_SECONDS = 1;
/**
 * Each one uses a connection while its work needs others: limits them to this fraction of the pool.
 */
const POOL_PART = 4;

/**
 * For routes whose work is not a command: their answers are stored like a command's. The key is
 * locked in the database before the work begins, so that of many callers with one key, in any
 * number of processes, only one does the work. The work and storing its answer are not one
 * transaction: after a crash between them the work is repeated. That is safe for calculators, the
 * sandbox and deliveries, which are sent at least once.
 */
export function createKeeping(
  database: Database,
  submit: (request: CommandRequest<string | null>) => Promise<Outcome>,
): (request: CommandRequest<null>, make: () => Promise<string>) => Promise<Outcome> {
  const inTurn = createFairTurns(Math.max(1, Math.floor(database.pool().max / POOL_PART)));
  return (request, make) =>
    inTurn(request.account_id, () =>
      database.transaction(async (tx) => {
        await lockKey(tx, request.account_id, request.idempotency!);
        const stored = await findStoredAnswers(tx, [{ ...request, id: "" }]);
        // A known key needs no work: the executor finds the answer, or that the request differs.
        return submit({ ...request, input: stored.size > 0 ? null : await make() });
      }),
    );
}

export const keepAnswers: UseCase<string | null, null, string> = {
  name: "keep-answers",
  rows: () => 1,
  load: async () => null,
  decide: (_loaded, { input }) =>
    input === null
      ? // The answer was deleted a moment ago, when its person was erased.
        { refusal: new Refusal("unavailable", undefined, RETRY_AFTER_SECONDS) }
      : { output: input, subject: null },
  record: () => {},
  render: (body) => body,
};
