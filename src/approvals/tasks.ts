import type { Command, UseCase } from "../platform/commands/use-case.ts";
import type { Database, Transaction } from "../platform/db/database.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import { FIRST_ID, newId } from "../platform/ids.ts";
import { oneByOne } from "../platform/tasks/one-by-one.ts";
import type { TaskHandler } from "../platform/tasks/run-set.ts";
import type { Task } from "../platform/tasks/tasks.ts";
import { confirmUnopposed, endProposal, enqueueEnd } from "./end-proposal.ts";
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
import { isUnopposed } from "./votes/unopposed.ts";
import { authenticVotes } from "./votes/vote-mac.ts";
import type { Describe } from "./with-approval.ts";

type ProposalTaskDeps = { database: Database; keyring: Keyring };

export type End = { status: "done" | "failed" | "void"; outcome: string | null };

type OfKind<Result> = (
  tx: Transaction,
  proposal: SealedProposal,
  content: Content,
  now: Date,
) => Promise<Result>;

/** What one kind of proposal does. */
type ProposalWork = {
  /** Steps in other accounts, safe to repeat, before `run`, which finds what they did. */
  prepare?: (proposal: SealedProposal, content: Content, now: Date) => Promise<void>;
  /** Writes what was approved, and says how the proposal ends. */
  run: OfKind<End>;
  /** Whether a vote is missing that nobody can give (`votes/unopposed.ts`). */
  isUnopposed?: OfKind<boolean>;
  /** How a proposal ends whose content has changed while it is pending; null if it has not. */
  check: OfKind<End | null>;
};

/**
 * Runs the confirmed proposals of a kind, and ends pending ones whose content has changed
 * (`check-proposals.ts`). What `run` writes, the proposal's new status and the end
 * of the task are one transaction, so an interrupted run leaves nothing behind and a finished run
 * is not repeated.
 */
export function runProposalTask(
  deps: ProposalTaskDeps,
  kind: string,
  work: ProposalWork,
): TaskHandler {
  return {
    kind: runProposalKind(kind),
    set_max: 20,
    handle: (set) =>
      oneByOne(deps.database, set, async (task) => {
        if (work.prepare) await prepareProposal(deps, work.prepare, task, set.now);
        await deps.database.transaction(async (tx) => {
          const tasks = await set.lock(tx, [task]);
          if (tasks.length === 0) return;
          const proposal = await lockProposal(tx, task.account_id, task.record_id);
          if (proposal?.status === "confirmed") {
            await runProposal(tx, deps, work, proposal, set.now);
          } else if (proposal?.status === "pending") {
            await checkProposal(tx, deps, work, proposal, set.now);
          }
          set.finish(tx, tasks);
        });
      }),
  };
}

async function prepareProposal(
  { database, keyring }: ProposalTaskDeps,
  prepare: NonNullable<ProposalWork["prepare"]>,
  { account_id, record_id }: Task,
  now: Date,
): Promise<void> {
  const approved = await database.transaction(async (tx) => {
    const proposal = await lockProposal(tx, account_id, record_id);
    if (proposal?.status !== "confirmed") return null;
    assertApproved(tx, proposal);
    const content = (await findContents(tx, keyring, [proposal])).get(proposal.id);
    return content ? { proposal, content } : null;
  });
  if (approved) await prepare(approved.proposal, approved.content, now);
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
  const load = async (tx: Transaction, command: Command<Input>, content: Content) => {
    const loaded = await use_case.load(tx, [command]);
    const description = await describe(tx, loaded, command);
    return { loaded, changed: description && compareContent(description, content) };
  };
  return runProposalTask(deps, use_case.name, {
    run: async (tx, proposal, content, now) => {
      const command = commandOf<Input>(proposal, content, now);
      const { loaded, changed } = await load(tx, command, content);
      if (changed) return changed;
      const verdict = use_case.decide(loaded, command, now);
      if ("refusal" in verdict) return { status: "failed", outcome: verdict.refusal.sentence };
      await use_case.record(tx, loaded, [{ command, ...verdict }], now);
      return { status: "done", outcome: null };
    },
    check: async (tx, proposal, content, now) =>
      (await load(tx, commandOf<Input>(proposal, content, now), content)).changed,
  });
}

export function commandOf<Input>(
  { account_id, id, votes }: SealedProposal,
  content: Content,
  now: Date,
): Command<Input> {
  return {
    id: newId(now),
    account_id,
    // No key has this id: the members decided this, not a request.
    credential_id: FIRST_ID,
    input: content.input as Input,
    idempotency: null,
    actor: `proposal:${id}`,
    approval: "given",
    operator_approval: votes.some(({ voter }) => voter.is_operator),
  };
}

/** Void if what the members saw has changed, else null. */
export function compareContent(description: Description, { digest }: Content): End | null {
  if (digestDescription(description) === digest) return null;
  return { status: "void", outcome: CONTENT_CHANGED };
}

/** Ends proposals that were not confirmed in time, but for changes of members without objection. */
export function lapseProposalTask({ database, keyring }: ProposalTaskDeps): TaskHandler {
  return {
    kind: LAPSE_PROPOSAL_TASK,
    set_max: 50,
    handle: async (set) => {
      await database.transaction(async (tx) => {
        const tasks = await set.lock(tx);
        for (const { account_id, record_id } of tasks) {
          const proposal = await lockProposal(tx, account_id, record_id);
          if (proposal?.status !== "pending") continue;
          const content = (await findContents(tx, keyring, [proposal])).get(proposal.id);
          if (content && (await isUnopposed(tx, proposal, content))) {
            confirmUnopposed(tx, proposal, set.now);
            continue;
          }
          const outcome = "It was not confirmed within 72 hours.";
          endProposal(tx, proposal, { status: "lapsed", outcome, actor: "worker" }, set.now);
          enqueueEnd(tx, proposal, set.now);
        }
        set.finish(tx, tasks);
      });
    },
  };
}

/** Whoever runs a proposal relies on the votes that this service recorded, not on its status. */
export function assertApproved(tx: Transaction, proposal: SealedProposal): void {
  const votes = authenticVotes(tx, proposal);
  if (isApproved(proposal, proposalAccount(proposal), votes)) return;
  throw new Error("a confirmed proposal lacks the votes; nothing is done, see sliproad verify");
}

async function runProposal(
  tx: Transaction,
  { keyring }: ProposalTaskDeps,
  { run, isUnopposed }: ProposalWork,
  proposal: SealedProposal,
  now: Date,
): Promise<void> {
  const content = (await findContents(tx, keyring, [proposal])).get(proposal.id);
  const may_run = content && (await isUnopposed?.(tx, proposal, content, now));
  if (!may_run) assertApproved(tx, proposal);
  const end: End = content
    ? await run(tx, proposal, content, now)
    : { status: "failed", outcome: "The user was erased." };
  endProposal(tx, proposal, { ...end, actor: "worker" }, now);
}

async function checkProposal(
  tx: Transaction,
  { keyring }: ProposalTaskDeps,
  { check }: ProposalWork,
  proposal: SealedProposal,
  now: Date,
): Promise<void> {
  const content = (await findContents(tx, keyring, [proposal])).get(proposal.id);
  const end = content ? await check(tx, proposal, content, now) : null;
  if (end) endProposal(tx, proposal, { ...end, status: "void", actor: "worker" }, now);
}
