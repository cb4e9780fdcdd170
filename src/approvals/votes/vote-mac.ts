import { type MacBearer, rowMac } from "../../platform/sealing/row-mac.ts";
import type { Vote } from "../model.ts";

/** Who voted how, where and when: whoever can only write SQL cannot add a vote. */
export const VOTE_MAC = rowMac(
  "proposal_votes",
  "account_id",
  "proposal_id",
  "voter_account_id",
  "person_id",
  "verdict",
  "created_at",
);

type Voted = { account_id: string; id: string; votes: readonly Vote[] };

/** Those votes on a proposal that this service recorded. */
export function authenticVotes(bearer: MacBearer, proposal: Voted): Vote[] {
  const { account_id, id: proposal_id } = proposal;
  return proposal.votes.filter(({ voter, verdict, created_at, mac }) => {
    const { account_id: voter_account_id, person_id } = voter;
    const row = { account_id, proposal_id, voter_account_id, person_id, verdict, created_at, mac };
    return VOTE_MAC.holds(bearer, row);
  });
}
