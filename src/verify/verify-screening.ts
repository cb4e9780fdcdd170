import { findOperatorId } from "../accounts/store.ts";
import { type Check, eachPage, inOrder } from "./checks.ts";

type UserRow = { id: string; status: string; found: string };
type MatchRow = { id: string; status: string };

/** The state of each user's screening follows from their matches. */
const verifyStates: Check = (session, account_id) =>
  eachPage<UserRow>(session, account_id, STATES, async (users) => {
    const wrong = users.find(({ status, found }) => status !== found);
    if (!wrong) return null;
    const { id, status, found } = wrong;
    return (
      `user ${id} of account ${account_id}: its screening is ${status}, ` +
      `but its matches say ${found}`
    );
  });

const STATES = `select users.id, screening_status as status, case
    when bool_or(m.status = 'confirmed') then 'confirmed'
    when bool_or(m.status = 'open' and m.verdict = 'match') then 'match'
    when bool_or(m.status = 'open') then 'possible_match'
    else 'clear' end as found
  from (select account_id, id, screening_status from users
    where account_id = $1 and id > $2 and erased_at is null order by id limit $3) as users
  left join screening_matches as m on m.account_id = users.account_id and m.user_id = users.id
    and m.record_id = users.id
  group by users.id, screening_status order by users.id`;

/**
 * Somebody has decided on each match that is decided, as the operator's audit log says. That is
 * looked up and not joined: it may be on another node than the matches.
 */
const verifyDecisions: Check = async (session, account_id) => {
  const operator_id = await findOperatorId(session);
  return eachPage<MatchRow>(session, account_id, DECIDED, async (matches) => {
    const entries = await session.query<{ record: string; action: string }>(
      `select distinct on (record) record, action from audit_entries
       where account_id = $1 and record = any($2::text[]) order by record, id desc`,
      [operator_id, matches.map(({ id }) => recordOf(id))],
    );
    const action_of = new Map(entries.map(({ record, action }) => [record, action]));
    for (const { id, status } of matches) {
      const action = action_of.get(recordOf(id));
      const decided = action && (action === "screening_match.clear" ? "cleared" : "confirmed");
      if (decided === status) continue;
      return (
        `screening match ${id} of account ${account_id}: it is ${status}, ` +
        `but the audit log ${decided ? `says ${decided}` : "has no decision"}`
      );
    }
    return null;
  });
};

const recordOf = (id: string) => `screening_match:${id}`;

const DECIDED = `select id, status from screening_matches
  where account_id = $1 and id > $2 and status in ('cleared', 'confirmed') order by id limit $3`;

export const verifyScreening = inOrder(verifyStates, verifyDecisions);
