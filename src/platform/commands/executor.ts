import { Batcher } from "../batcher/batcher.ts";
import { createTurns } from "./in-turn.ts";
import type { Answer, CommandRequest, ExecutorDeps, Outcome, Queued } from "./model.ts";
import { runToTheEnd } from "./run-to-the-end.ts";
import type { AnyUseCase, UseCase } from "./use-case.ts";

export type { Answer, CommandRequest, ExecutorDeps };

export type Executor = {
  /** Registers a use case; the returned function submits one command to it. */
  register<Input, Loaded, Output>(
    use_case: UseCase<Input, Loaded, Output>,
  ): (request: CommandRequest<Input>) => Promise<Answer>;
};

/** Every write of the API goes through here: batched, idempotent, and answered with the truth. */
export function createExecutor(deps: ExecutorDeps): Executor {
  // Idempotency keys belong to the account, whatever the use case: one set of turns for all.
  const inTurn = createTurns();
  return {
    register: (use_case) => {
      const batcher = new Batcher<Queued, Outcome>({
        run: (queued) => runToTheEnd(deps, use_case as unknown as AnyUseCase, queued),
        across_accounts: deps.across_accounts,
      });
      return async (request) => {
        const { account_id, bytes, input, idempotency } = request;
        const queued = { request, account_id, bytes, rows: use_case.rows(input) };
        const outcome = await inTurn(account_id, idempotency, () => batcher.submit(queued));
        if ("refusal" in outcome) throw outcome.refusal;
        return outcome.answer;
      };
    },
  };
}
