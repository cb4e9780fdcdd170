import { VOTE_MAC } from "../approvals/votes/vote-mac.ts";
import type { Session } from "../platform/db/database.ts";
import { eachPage } from "./checks.ts";

type VoteRow = {
  account_id: string;
  proposal_id: string;
  voter_account_id: string;
  person_id: string;
  verdict: string;
  created_at: Date;
  mac: Buffer | null;
};

/**
 * Every vote was recorded by this service. Whoever can write SQL can add a vote with its entry in
 * the audit log before the log is sealed, but not the vote's MAC.
 */
export function verifyVotes(session: Session, account_id: string): Promise<string | null> {
  return eachPage<{ id: string }>(
    session,
    account_id,
    "select id from proposals where account_id = $1 and id > $2 order by id limit $3",
    async (proposals) => {
      const votes = await session.query<VoteRow>(
        `select account_id, proposal_id, voter_account_id, person_id, verdict, created_at, mac
         from proposal_votes where account_id = $1 and proposal_id = any($2::uuid[])
         order by proposal_id, person_id`,
        [account_id, proposals.map(({ id }) => id)],
      );
      const forged = votes.find((vote) => !VOTE_MAC.holds(session, vote));
      if (!forged) return null;
      const { proposal_id, person_id } = forged;
      return (
        `proposal ${proposal_id} of account ${account_id}: the vote of ${person_id} was not ` +
        "recorded by this service"
      );
    },
  );
}
