import type { Session } from "../db/database.ts";
import { Refusal } from "../errors.ts";
import type { Answer, CommandRequest, Executor } from "./executor.ts";
import { findStoredAnswers } from "./store.ts";
import type { UseCase } from "./use-case.ts";

/** Gives a request with an Idempotency-Key its first answer again, although it stores no record. */
export type KeepAnswer = (
  request: CommandRequest<null>,
  make: () => Promise<string>,
) => Promise<Answer | string>;

const RETRY_AFTER_SECONDS = 1;

/**
 * For routes whose work is no command: what they answered is kept like a command's answer. The
 * work and the keeping are not one transaction, which calculators and the sandbox can afford.
 */
export function createKeepAnswer(session: Session, executor: Executor): KeepAnswer {
  const submit = executor.register(keepAnswers);
  return async (request, make) => {
    if (!request.idempotency) return make();
    const stored = await findStoredAnswers(session, [{ ...request, id: "" }]);
    // A known key needs no work: the executor finds the answer, or that the request is another.
    return submit({ ...request, input: stored.size > 0 ? null : await make() });
  };
}

const keepAnswers: UseCase<string | null, null, string> = {
  name: "keep-answers",
  rows: () => 1,
  load: async () => null,
  decide: (_loaded, commands) =>
    new Map(
      commands.map(({ id, input }) => [
        id,
        input === null
          ? // The answer that was there a moment ago went with an erased person.
            { refusal: new Refusal("unavailable", undefined, RETRY_AFTER_SECONDS) }
          : { output: input, subject: null },
      ]),
    ),
  record: () => {},
  render: (body) => body,
};
