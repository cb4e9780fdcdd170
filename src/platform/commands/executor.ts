import { contextOf, noteBegun, runFor } from "../db/caller-context.ts";
import { Refusal } from "../errors.ts";
import { realTime } from "../tasks/real-time.ts";
import { Batcher } from "./batcher.ts";
import { createTurns } from "./in-turn.ts";
import { createKeeping, type KeepAnswer, keepAnswers } from "./keep-answers.ts";
import type { Answer, CommandRequest, ExecutorDeps, Outcome, Queued } from "./model.ts";
import { runToTheEnd } from "./run-to-the-end.ts";
import type { AnyUseCase, UseCase } from "./use-case.ts";

export type { Answer, CommandRequest, ExecutorDeps };

export type Executor = {
  /** Registers a use case; the returned function submits one command to it. */
  register<Input, Loaded, Output>(
    use_case: UseCase<Input, Loaded, Output>,
  ): (request: CommandRequest<Input>) => Promise<Answer>;
  /** Stores the answer of work that is not a command. */
  keepAnswer: KeepAnswer;
};

/**
 * Runs every write of the API: batched, idempotent, and answered only when the outcome is known.
 */
export function createExecutor(deps: ExecutorDeps): Executor {
  // Idempotency keys belong to the account, not to the use case: all use cases share the turns.
  const inTurn = createTurns();
  const keep = createKeeping(deps.database, createSubmit(deps, keepAnswers));
  return {
    register: (use_case) => {
      const submit = createSubmit(deps, use_case);
      return async (request) => {
        const { account_id, idempotency } = request;
        return answerOf(await inTurn(account_id, idempotency, () => submit(request)));
      };
    },
    keepAnswer: async (request, make) => {
      const { account_id, idempotency } = request;
      await assertActive(deps, request);
      if (!idempotency) return make();
      return answerOf(await inTurn(account_id, idempotency, () => keep(request, make)));
    },
  };
}

/** The work is no command, in whose transaction this is asked: its body may have taken a minute. */
async function assertActive(
  { database, clock, findActiveCredentials }: ExecutorDeps,
  { account_id, actor_account_id, credential_id }: CommandRequest<unknown>,
): Promise<void> {
  const actor_ids = [actor_account_id ?? account_id];
  const active = await findActiveCredentials(database, [credential_id], actor_ids, realTime(clock));
  if (!active.has(credential_id)) throw new Refusal("unauthorized");
}

function createSubmit<Input, Loaded, Output>(
  deps: ExecutorDeps,
  use_case: UseCase<Input, Loaded, Output>,
): (request: CommandRequest<Input>) => Promise<Outcome> {
  const batcher = new Batcher<Queued, Outcome>({
    run: (queued) =>
      runFor(contextOf(callerOf(queued), true), () =>
        runToTheEnd(deps, use_case as unknown as AnyUseCase, queued),
      ),
    across_accounts: deps.across_accounts,
  });
  return (request) => {
    const { account_id, bytes, input, credential_id: sender } = request;
    noteBegun();
    return batcher.submit({ request, account_id, sender, bytes, rows: use_case.rows(input) });
  };
}

/**
 * Commands take turns with reads, each account's by themselves: one that reads a lot must not delay
 * a set with commands of others, nor sets of its own that others of the same kind wait behind.
 */
function callerOf(queued: readonly Queued[]): string {
  const { account_id } = queued[0]!;
  const is_one = queued.every((one) => one.account_id === account_id);
  return is_one ? `commands of ${account_id}` : "commands of several accounts";
}

function answerOf(outcome: Outcome): Answer {
  if ("refusal" in outcome) throw outcome.refusal;
  return outcome.answer;
}
