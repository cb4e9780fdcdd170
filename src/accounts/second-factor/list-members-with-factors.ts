import type { Session } from "../../platform/db/database.ts";
import { listMembers } from "../store.ts";
import { listFactorHolders } from "./store.ts";

/** Of somebody who has not joined it says nothing that comes from other accounts. */
export async function listMembersWithFactors(session: Session, account_id: string) {
  const members = await listMembers(session, account_id);
  const holders = await listFactorHolders(
    session,
    members.map(({ person_id }) => person_id),
  );
  return members.map((member) => ({
    ...member,
    has_factor: member.joined_at !== null && holders.has(member.person_id),
  }));
}
