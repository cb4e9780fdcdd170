import { timingSafeEqual } from "node:crypto";
import { keyedHash } from "../../platform/encryption/cipher.ts";
import type { Vote } from "../model.ts";

/** What a MAC covers: who voted how, where and when. */
export type VoteFacts = {
  account_id: string;
  proposal_id: string;
  voter_account_id: string;
  person_id: string;
  verdict: string;
  created_at: Date;
};

/** The first byte: which key and which fields. */
const MAC_VERSION = Buffer.from([1]);

/**
 * Made by the process that records the vote, with a key that the database never has in clear:
 * whoever can only write SQL cannot add a vote.
 */
export function voteMac(index_key: Buffer, vote: VoteFacts): Buffer {
  const { account_id, proposal_id, voter_account_id, person_id, verdict, created_at } = vote;
  const parts = [account_id, proposal_id, voter_account_id, person_id, verdict];
  return Buffer.concat([
    MAC_VERSION,
    keyedHash(index_key, "vote", ...parts, created_at.toISOString()),
  ]);
}

export function hasVoteMac(index_key: Buffer, vote: VoteFacts, mac: Buffer | null): boolean {
  const expected = voteMac(index_key, vote);
  return mac !== null && mac.length === expected.length && timingSafeEqual(mac, expected);
}

type Voted = { account_id: string; id: string; votes: readonly Vote[] };

/** Those votes on a proposal that this service recorded. */
export function authenticVotes(index_key: Buffer, proposal: Voted): Vote[] {
  const { account_id, id: proposal_id } = proposal;
  return proposal.votes.filter(({ voter, verdict, created_at, mac }) => {
    const { account_id: voter_account_id, person_id } = voter;
    const facts = { account_id, proposal_id, voter_account_id, person_id, verdict, created_at };
    return hasVoteMac(index_key, facts, mac);
  });
}
