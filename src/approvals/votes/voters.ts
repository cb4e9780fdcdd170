import {
  findFactorReset,
  findOperator,
  listMembers,
  type MemberRow,
} from "../../accounts/store.ts";
import type { Session } from "../../platform/db/database.ts";
import { Refusal } from "../../platform/errors.ts";
import { CONFIRMATIONS_NEEDED, mayVote, NEW_MEMBER_WAIT_MS, type Voters } from "../model.ts";

/**
 * Who is new, could not vote before, or whose second factor was reset, waits; proposing counts as a
 * vote too.
 */
export async function assertWaited(
  session: Session,
  { person_id, votes_from }: Pick<MemberRow, "person_id" | "votes_from">,
  now: Date,
): Promise<void> {
  const reset_at = await findFactorReset(session, person_id);
  const reset_ms = reset_at === null ? 0 : reset_at.getTime() + NEW_MEMBER_WAIT_MS;
  const from = new Date(Math.max(votes_from?.getTime() ?? 0, reset_ms));
  if (now >= from) return;
  const message =
    "You joined this account or got the right to vote, or your second factor was reset, " +
    "recently: you can vote from";
  throw new Refusal("invalid_transition", `${message} ${from.toISOString()}.`);
}

/** Whether enough people may vote, without this one if given. */
export async function canVote(
  session: Session,
  account_id: string,
  voters: Voters,
  without?: string,
): Promise<boolean> {
  const account = { id: account_id, kyc_review_by_account: false };
  const operator = (await findOperator(session))!;
  const account_ids = voters === "members" ? [account_id] : [account_id, operator.id];
  const lists = await Promise.all(account_ids.map((id) => listMembers(session, id)));
  const possible = lists.flat().filter(({ account_id: member_of, person_id, role }) => {
    const voter = {
      account_id: member_of,
      person_id,
      role,
      is_operator: member_of === operator.id,
    };
    return person_id !== without && mayVote(voters, account, voter);
  });
  const has_operator = possible.some((member) => member.account_id === operator.id);
  const people = new Set(possible.map(({ person_id }) => person_id));
  return people.size >= CONFIRMATIONS_NEEDED && (voters === "members" || has_operator);
}
