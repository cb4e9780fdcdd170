import { type Check, eachPage, inOrder } from "./checks.ts";

type UserRow = { id: string; status: string; found: string };
type MatchRow = { id: string; status: string; decided: string | null };

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

/** Somebody has decided on each match that is decided, as the operator's audit log says. */
const verifyDecisions: Check = (session, account_id) =>
  eachPage<MatchRow>(session, account_id, DECISIONS, async (matches) => {
    const wrong = matches.find(({ status, decided }) => status !== decided);
    if (!wrong) return null;
    const { id, status, decided } = wrong;
    return (
      `screening match ${id} of account ${account_id}: it is ${status}, ` +
      `but the audit log ${decided ? `says ${decided}` : "has no decision"}`
    );
  });

const DECISIONS = `select m.id, m.status, (select case e.action
      when 'screening_match.clear' then 'cleared' else 'confirmed' end
    from audit_entries as e join accounts on accounts.id = e.account_id and accounts.is_operator
    where e.record = 'screening_match:' || m.id order by e.id desc limit 1) as decided
  from screening_matches as m
  where m.account_id = $1 and m.id > $2 and m.status in ('cleared', 'confirmed')
  order by m.id limit $3`;

export const verifyScreening = inOrder(verifyStates, verifyDecisions);
