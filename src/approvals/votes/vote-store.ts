import type { Role } from "../../accounts/model.ts";
import type { Session, Transaction } from "../../platform/db/database.ts";
import {
  distinctSetOf,
  insertRows,
  perAccount,
  type RecordKey,
  setOf,
} from "../../platform/db/rows.ts";
import type { Vote, VoteChoice } from "../model.ts";
import { VOTE_MAC } from "./vote-mac.ts";

type NewVote = {
  account_id: string;
  proposal_id: string;
  voter_account_id: string;
  person_id: string;
  verdict: VoteChoice;
  created_at: Date;
};

export function insertVotes(tx: Transaction, votes: readonly NewVote[]): void {
  const columns = `account_id uuid, proposal_id uuid, voter_account_id uuid, person_id uuid,
    verdict text, created_at timestamptz, mac bytea`;
  const rows = votes.map((vote) => ({ ...vote, mac: VOTE_MAC.make(tx, vote) }));
  insertRows(tx, "proposal_votes", columns, rows);
}

/**
 * Nobody changes these members until the vote is committed; one whose role is being changed is
 * waited for. Read what depends on their roles afterwards. Where a transaction is of one account,
 * the operator's members are not locked by a vote in another account, only read (decision 37).
 */
export async function lockVoters(
  tx: Transaction,
  tenant_id: string,
  voters: readonly { account_id: string; person_id: string }[],
): Promise<void> {
  const by_account = Map.groupBy(voters, ({ account_id }) => account_id);
  for (const account_id of [...by_account.keys()].sort()) {
    if (tx.by_account && account_id !== tenant_id) continue;
    const person_ids = by_account.get(account_id)!.map(({ person_id }) => person_id);
    await tx.query(
      `select person_id from members where account_id = $1 and person_id = any($2::uuid[])
       order by person_id for share`,
      [account_id, person_ids],
    );
  }
}

type StoredVote = NewVote & { is_operator: boolean; mac: Buffer | null };
type VoteRow = StoredVote & { role: Role | null };

/**
 * By proposal, in the order given, each with the voter's current role. A vote from before the voter
 * was removed and invited again is a former member's.
 */
export async function listVotes(
  session: Session,
  proposals: readonly RecordKey[],
): Promise<Map<string, Vote[]>> {
  if (proposals.length === 0) return new Map();
  const wanted = setOf(session, "wanted", "account_id uuid, id uuid", proposals);
  const rows = await session.query<StoredVote>(
    `select votes.*, accounts.is_operator
     from ${wanted.from}
     join proposal_votes votes on votes.account_id = wanted.account_id
       and votes.proposal_id = wanted.id
     join accounts on accounts.id = votes.voter_account_id
     order by votes.created_at, votes.person_id`,
    wanted.values,
  );
  const members = await listVoters(session, rows);
  const roleOf = ({ voter_account_id: account_id, person_id, created_at }: StoredVote) =>
    members.find(
      (member) =>
        member.account_id === account_id &&
        member.person_id === person_id &&
        member.created_at <= created_at,
    )?.role ?? null;
  const by_proposal = Map.groupBy(
    rows.map((row): VoteRow => ({ ...row, role: roleOf(row) })),
    (row) => row.proposal_id,
  );
  return new Map([...by_proposal].map(([id, votes]) => [id, votes.map(toVote)]));
}

type Voter = { account_id: string; person_id: string; role: Role; created_at: Date };

/** The members who have voted, of whichever account. */
function listVoters(session: Session, votes: readonly StoredVote[]): Promise<Voter[]> {
  const keys = votes.map(({ voter_account_id: account_id, person_id }) => ({
    account_id,
    person_id,
  }));
  return perAccount(session, keys, (own) => {
    const wanted = distinctSetOf(session, "wanted", "account_id uuid, person_id uuid", own);
    return session.query<Voter>(
      `select account_id, person_id, role, created_at
       from members join ${wanted.from} using (account_id, person_id)`,
      wanted.values,
    );
  });
}

function toVote({ voter_account_id, person_id, role, is_operator, ...vote }: VoteRow): Vote {
  const { verdict, created_at, mac } = vote;
  const voter = { account_id: voter_account_id, person_id, role: role ?? undefined, is_operator };
  return { voter, verdict, created_at, mac };
}
