import { may } from "../../accounts/roles.ts";
import { listMembers } from "../../accounts/store.ts";
import type { Session } from "../../platform/db/database.ts";
import { type Content, MEMBER_CHANGES } from "../model.ts";
import type { SealedProposal } from "../store.ts";
import { authenticVotes } from "./vote-mac.ts";

/** Who else can vote, if this person is one of exactly two voters of the account; else null. */
export async function findOnlyOther(
  session: Session,
  account_id: string,
  person_id: string,
): Promise<string | null> {
  const voters = (await listMembers(session, account_id)).filter(({ role }) => may(role, "vote"));
  const others = voters.filter((voter) => voter.person_id !== person_id);
  return voters.length === 2 && others.length === 1 ? others[0]!.person_id : null;
}

/**
 * Of two voters neither could remove the other, who may have left or lost their second factor, and
 * the account would stay locked. So a change of one of exactly two voters that the operator
 * proposed on the command line, that the other voter confirmed, and that nobody rejected within
 * the 72 hours, runs when they are over.
 */
export async function isUnopposed(
  session: Session,
  proposal: SealedProposal,
  content: Content,
): Promise<boolean> {
  const { account_id, kind, voters, proposed_by } = proposal;
  if (kind !== MEMBER_CHANGES || voters !== "members" || proposed_by !== "command line") {
    return false;
  }
  const { change } = content.input as { change: { action: string; person_id: string } };
  if (change.action !== "set_role" && change.action !== "remove") return false;
  const only_other = await findOnlyOther(session, account_id, change.person_id);
  const votes = authenticVotes(session, proposal);
  return (
    only_other !== null &&
    votes.some(({ voter, verdict }) => voter.person_id === only_other && verdict === "confirm") &&
    votes.every(({ verdict }) => verdict === "confirm")
  );
}
