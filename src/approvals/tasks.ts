import { runOnce } from "../platform/commands/run-once.ts";
import type { AnyUseCase, Command, UseCase } from "../platform/commands/use-case.ts";
import type { Database, Transaction } from "../platform/db/database.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import { FIRST_ID, newId } from "../platform/ids.ts";
import type { TaskHandler } from "../platform/tasks/run-set.ts";
import { endProposal, enqueueEnd } from "./end-proposal.ts";
import { isApproved, LAPSE_PROPOSAL_TASK, runProposalKind } from "./model.ts";
import { findContents, lockProposal, proposalAccount, type SealedProposal } from "./store.ts";

type ProposalTaskDeps = { database: Database; keyring: Keyring };

/**
 * Runs the confirmed proposals of a use case: the inner one that `withApproval` wraps. Its writes,
 * the proposal's new status and the end of the task are one transaction, so an interrupted run
 * leaves nothing behind and a finished run is not repeated.
 */
export function proposalTask<Input, Loaded, Output>(
  deps: ProposalTaskDeps,
  use_case: UseCase<Input, Loaded, Output>,
): TaskHandler {
  return {
    kind: runProposalKind(use_case.name),
    set_max: 20,
    handle: async (set) => {
      for (const task of set.tasks) {
        await deps.database.transaction(async (tx) => {
          const tasks = await set.lock(tx, [task]);
          if (tasks.length === 0) return;
          const proposal = await lockProposal(tx, task.account_id, task.record_id);
          if (proposal?.status === "confirmed") {
            await runProposal(
              tx,
              deps.keyring,
              use_case as unknown as AnyUseCase,
              proposal,
              set.now,
            );
          }
          set.finish(tx, tasks);
        });
      }
    },
  };
}

/** Ends proposals that were not confirmed in time. */
export function lapseProposalTask({ database }: { database: Database }): TaskHandler {
  return {
    kind: LAPSE_PROPOSAL_TASK,
    set_max: 50,
    handle: async (set) => {
      await database.transaction(async (tx) => {
        const tasks = await set.lock(tx);
        for (const { account_id, record_id } of tasks) {
          const proposal = await lockProposal(tx, account_id, record_id);
          if (proposal?.status !== "pending") continue;
          const outcome = "It was not confirmed within 72 hours.";
          endProposal(tx, proposal, { status: "lapsed", outcome, actor: "worker" }, set.now);
          enqueueEnd(tx, proposal, set.now);
        }
        set.finish(tx, tasks);
      });
    },
  };
}

async function runProposal(
  tx: Transaction,
  keyring: Keyring,
  use_case: AnyUseCase,
  proposal: SealedProposal,
  now: Date,
): Promise<void> {
  if (!isApproved(proposal, proposalAccount(proposal), proposal.votes)) {
    throw new Error("a confirmed proposal lacks the votes; nothing is done, see sliproad verify");
  }
  const failure = await runUseCase(tx, keyring, use_case, proposal, now);
  const status = failure === null ? "done" : "failed";
  endProposal(tx, proposal, { status, outcome: failure, actor: "worker" }, now);
}

/** Null once it is written, or the reason for the refusal. */
async function runUseCase(
  tx: Transaction,
  keyring: Keyring,
  use_case: AnyUseCase,
  proposal: SealedProposal,
  now: Date,
): Promise<string | null> {
  const { account_id, id } = proposal;
  const content = (await findContents(tx, keyring, [proposal])).get(id);
  if (!content) return "The user was erased.";
  const command: Command<unknown> = {
    id: newId(now),
    account_id,
    // No key has this id: the members decided this, not a request.
    credential_id: FIRST_ID,
    input: content.input,
    idempotency: null,
    actor: `proposal:${id}`,
    approval: "given",
    operator_approval: proposal.votes.some(({ voter }) => voter.is_operator),
  };
  const verdict = await runOnce(tx, use_case, command, now);
  return "refusal" in verdict ? verdict.refusal.sentence : null;
}
