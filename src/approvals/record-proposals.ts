import { recordAudit } from "../accounts/audit.ts";
import type { Actor } from "../accounts/model.ts";
import type { Transaction } from "../platform/db/database.ts";
import { newId } from "../platform/ids.ts";
import { minorToText } from "../platform/money.ts";
import { enqueueTasks } from "../platform/tasks/tasks.ts";
import { LAPSE_PROPOSAL_TASK, PROPOSAL_LIFE_MS, type Proposal } from "./model.ts";
import { insertProposals, type NewProposal, type Proposer } from "./store.ts";
import { insertVotes } from "./votes/vote-store.ts";

/** Stores new proposals; the member who proposes also votes to confirm. */
export function recordProposals(tx: Transaction, added: readonly NewProposal[], now: Date): void {
  insertProposals(tx, added);
  const votes = added.flatMap(({ proposal, proposer }) =>
    proposer === null
      ? []
      : {
          account_id: proposal.account_id,
          proposal_id: proposal.id,
          voter_account_id: proposer.account_id,
          person_id: proposer.person_id,
          verdict: "confirm" as const,
          created_at: now,
        },
  );
  insertVotes(tx, votes);
  const proposals = added.map(({ proposal }) => proposal);
  const lapse_at = new Date(now.getTime() + PROPOSAL_LIFE_MS);
  enqueueTasks(tx, LAPSE_PROPOSAL_TASK, proposals, now, lapse_at);
  for (const { proposal, proposer } of added) {
    const { account_id, id, kind, record_id, amount_usd, proposed_by } = proposal;
    const { voters, proposed_by_person } = proposal;
    const amount = amount_usd === null ? null : minorToText(amount_usd, 2);
    recordAudit(
      tx,
      {
        account_id,
        actor: proposed_by,
        action: "proposal.create",
        record: `proposal:${id}`,
        reason: "",
        detail: {
          ...{ kind, record_id, amount_usd: amount, voters, proposed_by_person },
          voter_account_id: proposer?.account_id ?? null,
        },
      },
      now,
    );
  }
}

type Proposed = Pick<
  Proposal,
  "account_id" | "kind" | "record_id" | "amount_usd" | "summary" | "voters"
>;

/** A proposal in its initial state. */
export function newProposal(
  proposed: Proposed,
  proposed_by: Actor,
  proposer: Proposer | null,
  now: Date,
): Proposal {
  return {
    ...proposed,
    id: newId(now),
    proposed_by,
    proposed_by_person: proposer?.person_id ?? null,
    status: "pending",
    outcome: null,
    confirmations: proposer ? 1 : 0,
    created_at: now,
    updated_at: now,
  };
}
