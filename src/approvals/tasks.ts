import type { Command, UseCase } from "../platform/commands/use-case.ts";
import type { Database, Transaction } from "../platform/db/database.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import { FIRST_ID, newId } from "../platform/ids.ts";
import type { TaskHandler } from "../platform/tasks/run-set.ts";
import { endProposal, enqueueEnd } from "./end-proposal.ts";
import {
  CONTENT_CHANGED,
  type Content,
  type Description,
  digestDescription,
  isApproved,
  LAPSE_PROPOSAL_TASK,
  runProposalKind,
} from "./model.ts";
import { findContents, lockProposal, proposalAccount, type SealedProposal } from "./store.ts";
import type { Describe } from "./with-approval.ts";

type ProposalTaskDeps = { database: Database; keyring: Keyring };

export type End = { status: "done" | "failed" | "void"; outcome: string | null };

/** Writes what was approved, and says how the proposal ends. */
type Run = (tx: Transaction, proposal: SealedProposal, content: Content, now: Date) => Promise<End>;

/**
 * Runs the confirmed proposals of a kind. What `run` writes, the proposal's new status and the end
 * of the task are one transaction, so an interrupted run leaves nothing behind and a finished run
 * is not repeated.
 */
export function runProposalTask(deps: ProposalTaskDeps, kind: string, run: Run): TaskHandler {
  return {
    kind: runProposalKind(kind),
    set_max: 20,
    handle: async (set) => {
      for (const task of set.tasks) {
        await deps.database.transaction(async (tx) => {
          const tasks = await set.lock(tx, [task]);
          if (tasks.length === 0) return;
          const proposal = await lockProposal(tx, task.account_id, task.record_id);
          if (proposal?.status === "confirmed") {
            await runProposal(tx, deps.keyring, run, proposal, set.now);
          }
          set.finish(tx, tasks);
        });
      }
    },
  };
}

/**
 * Runs the proposals of a use case: the inner one that `withApproval` wraps. A proposal whose
 * content differs from what its voters saw becomes void.
 */
export function proposalTask<Input, Loaded, Output>(
  deps: ProposalTaskDeps,
  use_case: UseCase<Input, Loaded, Output>,
  describe: Describe<Input, Loaded>,
): TaskHandler {
  return runProposalTask(deps, use_case.name, async (tx, proposal, content, now) => {
    const { account_id, id } = proposal;
    const command: Command<Input> = {
      id: newId(now),
      account_id,
      // No key has this id: the members decided this, not a request.
      credential_id: FIRST_ID,
      input: content.input as Input,
      idempotency: null,
      actor: `proposal:${id}`,
      approval: "given",
      operator_approval: proposal.votes.some(({ voter }) => voter.is_operator),
    };
    const loaded = await use_case.load(tx, [command]);
    const description = await describe(tx, loaded, command);
    const changed = description && compareContent(description, content);
    if (changed) return changed;
    const verdict = use_case.decide(loaded, command, now);
    if ("refusal" in verdict) return { status: "failed", outcome: verdict.refusal.sentence };
    use_case.record(tx, loaded, [{ command, ...verdict }], now);
    return { status: "done", outcome: null };
  });
}

/** Void if what the members saw has changed, else null. */
export function compareContent(description: Description, { digest }: Content): End | null {
  if (digestDescription(description) === digest) return null;
  return { status: "void", outcome: CONTENT_CHANGED };
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
  run: Run,
  proposal: SealedProposal,
  now: Date,
): Promise<void> {
  if (!isApproved(proposal, proposalAccount(proposal), proposal.votes)) {
    throw new Error("a confirmed proposal lacks the votes; nothing is done, see sliproad verify");
  }
  const content = (await findContents(tx, keyring, [proposal])).get(proposal.id);
  const end: End = content
    ? await run(tx, proposal, content, now)
    : { status: "failed", outcome: "The user was erased." };
  endProposal(tx, proposal, { ...end, actor: "worker" }, now);
}
