import type { Content } from "../../approvals/model.ts";
import type { SealedProposal } from "../../approvals/store.ts";
import {
  commandOf,
  compareContent,
  type End,
  proposalTask,
  runProposalTask,
} from "../../approvals/tasks.ts";
import { type ApprovalRules, type Describe, withApproval } from "../../approvals/with-approval.ts";
import type { Command } from "../../platform/commands/use-case.ts";
import type { Transaction } from "../../platform/db/database.ts";
import type { TaskHandler } from "../../platform/tasks/run-set.ts";
import { isScreeningOpen } from "../../users/clearance.ts";
import { applyOnce, askToResolve, endOf, findResult, type StepDeps } from "./decide-in-steps.ts";
import type { Resolution } from "./model.ts";
import { exceptionAmount } from "./render.ts";
import {
  type LoadedExceptions,
  type ResolveRequest,
  recordDecided,
  resolveExceptions,
  targetOf,
} from "./resolve-exceptions.ts";
import { findBankException } from "./store.ts";

export type ApprovedResolutionDeps = StepDeps & { approvals: ApprovalRules };

const SUMMARIES = {
  assign: "Assign an answer of the bank to a payout:",
  return: "Send money of a bank exception back:",
  write_off: "Write off a bank exception:",
  dismiss: "Dismiss an answer of the bank:",
} as const satisfies Record<Resolution, string>;

function find({ exceptions }: LoadedExceptions, { input }: Command<ResolveRequest>) {
  return exceptions.get(input.exception_id);
}

/** What the bank said and what it is to mean; the payout must not have changed either. */
const describeResolution: Describe<ResolveRequest, LoadedExceptions> = async (
  _session,
  loaded,
  command,
) => {
  const exception = find(loaded, command);
  const { resolution, reason } = command.input;
  if (!exception || !resolution) return null;
  const { amount, held, currency } = exception;
  const offramp_id = targetOf(exception, command.input);
  const payout = offramp_id === null ? undefined : loaded.payouts.get(offramp_id);
  const { offramp } = (offramp_id !== null && loaded.offramps.get(offramp_id)) || {};
  const answer = `${exception.answer} ${exceptionAmount(amount, currency)} ${currency}`;
  return {
    details: [
      ["Resolution", resolution],
      ["Bank's answer", `${answer} (${exception.kind})`],
      ["In suspense", `${exceptionAmount(held, currency)} ${currency}`],
      ["Bank reference", exception.bank_reference],
      ["End-to-end id", exception.end_to_end_id],
      ["Account", exception.account_id],
      ...(offramp_id ? [["Offramp", offramp_id] as const] : []),
      ["Reason", reason],
    ],
    state: [
      ...[exception.status, exception.returns, offramp?.status ?? null],
      ...[payout?.attempt ?? null, payout?.status ?? null, payout?.returned_amount ?? null],
    ],
  };
};

/** Above the approval amount two of the operator's members must approve, a dismissal too. */
export function resolveWithApproval(deps: ApprovedResolutionDeps) {
  const in_steps = deps.database.by_account === true;
  return withApproval(in_steps ? askToResolve(deps) : resolveExceptions(deps), {
    ...deps.approvals,
    amountOf: (loaded, command) => {
      const exception = find(loaded, command);
      return exception ? { amount: exception.amount, currency: exception.currency } : null;
    },
    needsOperator: ({ holders }, { input: { exception_id, resolution } }) => {
      const { kyc } = holders.get(exception_id) ?? {};
      const is_open = resolution === "return" && kyc !== undefined && isScreeningOpen(kyc);
      return is_open ? "The user whose payout it names is being checked." : null;
    },
    recordIdOf: ({ input }) => input.exception_id,
    countsAs: (_loaded, { input }) => [input.exception_id],
    summaryOf: (loaded, command) => {
      const { amount, currency } = find(loaded, command)!;
      const words = SUMMARIES[command.input.resolution!];
      return `${words} ${exceptionAmount(amount, currency)} ${currency}.`;
    },
    describe: describeResolution,
    // The members approve the payout that they see.
    inputOf: (loaded, command) => {
      const offramp_id = targetOf(find(loaded, command)!, command.input);
      return { ...command.input, offramp_id };
    },
  });
}

/** Runs after two members have approved. */
export function resolutionProposalTask(deps: StepDeps & { index_key: Buffer }): TaskHandler {
  if (!deps.database.by_account) {
    return proposalTask(deps, resolveExceptions(deps), describeResolution);
  }
  const use_case = askToResolve(deps);
  return runProposalTask(deps, use_case.name, {
    prepare: async (proposal, content, now) => {
      const command = approvedCommand(proposal, content, now);
      const exception = await findBankException(deps.database, command.input.exception_id);
      if (!exception) throw new Error("a proposal names no bank exception");
      await applyOnce(deps, exception.account_id, command, (tx, loaded) =>
        findChange(tx, loaded, command, content),
      );
    },
    // The end of what was applied, in the operator's account.
    run: async (tx, proposal, content, now) => {
      const command = approvedCommand(proposal, content, now);
      const exception = await findBankException(tx, command.input.exception_id);
      const key = { account_id: exception!.account_id, id: proposal.id };
      const result = await findResult(tx, key);
      if (!result) throw new Error("an approved decision is not applied yet");
      if ("answer" in result) recordDecided(tx, command, result.offramp_id, now);
      return endOf(result);
    },
    check: async (tx, proposal, content, now) => {
      const command = approvedCommand(proposal, content, now);
      return findChange(tx, await use_case.load(tx, [command]), command, content);
    },
  });
}

/** Under the id of the proposal: so it is applied once. */
function approvedCommand(
  proposal: SealedProposal,
  content: Content,
  now: Date,
): Command<ResolveRequest> {
  return { ...commandOf<ResolveRequest>(proposal, content, now), id: proposal.id };
}

async function findChange(
  tx: Transaction,
  loaded: LoadedExceptions,
  command: Command<ResolveRequest>,
  content: Content,
): Promise<End | null> {
  const description = await describeResolution(tx, loaded, command);
  return description && compareContent(description, content);
}
