import { recordAudit } from "../accounts/audit.ts";
import type { Actor } from "../accounts/model.ts";
import type { Transaction } from "../platform/db/database.ts";
import { enqueueTasks } from "../platform/tasks/tasks.ts";
import { checkProposals } from "./check-proposals.ts";
import { PROPOSAL_MOVES, type Proposal, type ProposalStatus, runProposalKind } from "./model.ts";
import { listPendingOfSubject } from "./pending-store.ts";
import { lockProposal, updateProposal } from "./store.ts";

/** Ends a locked proposal without a vote: it ran, was refused when it ran, is void, or lapsed. */
export function endProposal(
  tx: Transaction,
  { account_id, id, record_id, status: from }: Proposal,
  end: { status: "done" | "failed" | "void" | "lapsed"; outcome: string | null; actor: Actor },
  now: Date,
): void {
  const { status, outcome, actor } = end;
  const moves: readonly ProposalStatus[] = PROPOSAL_MOVES[from];
  if (!moves.includes(status)) throw new Error(`a ${from} proposal cannot become ${status}`);
  updateProposal(tx, { account_id, id, status, outcome, updated_at: now });
  const entry = {
    account_id,
    actor,
    action: `proposal.${status}` as const,
    record: `proposal:${id}`,
  };
  recordAudit(tx, { ...entry, reason: outcome ?? "" }, now);
  // Other proposals about the same record may now be about something else.
  if (status === "done") checkProposals(tx, [{ account_id, id: record_id }], now);
}

/** The time for objections is over. */
export function confirmUnopposed(tx: Transaction, proposal: Proposal, now: Date): void {
  const { account_id, id } = proposal;
  updateProposal(tx, { account_id, id, status: "confirmed", outcome: null, updated_at: now });
  const entry = { account_id, action: "proposal.unopposed" as const, record: `proposal:${id}` };
  recordAudit(tx, { ...entry, actor: "worker", reason: "Nobody rejected it in 72 hours." }, now);
  enqueueEnd(tx, proposal, now);
}

/** Lets the proposing module follow the end of a proposal that was not confirmed. */
export function enqueueEnd(tx: Transaction, proposal: Proposal, now: Date): void {
  if (proposal.voters === "reviewers") return;
  enqueueTasks(tx, runProposalKind(proposal.kind), [proposal], now);
}

/** The content about an erased person cannot be read, so these proposals cannot be judged. */
export async function voidProposalsOfErased(
  tx: Transaction,
  subject: { account_id: string; subject_id: string },
  now: Date,
): Promise<void> {
  for (const id of await listPendingOfSubject(tx, subject)) {
    const proposal = await lockProposal(tx, subject.account_id, id);
    if (proposal?.status !== "pending") continue;
    const end = { status: "void", outcome: "The user was erased.", actor: "worker" } as const;
    endProposal(tx, proposal, end, now);
    enqueueEnd(tx, proposal, now);
  }
}
