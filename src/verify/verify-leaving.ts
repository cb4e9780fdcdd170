import { type Check, inOrder, isOperator } from "./checks.ts";

/** Holds and releases of payouts are in the audit log, which cannot be changed unnoticed. */
const checkHolds: Check = async (session, account_id) => {
  if (!(await isOperator(session, account_id))) return null;
  const [told] = await session.query<{ holds: number; releases: number; last: string | null }>(
    `select (count(*) filter (where action = 'payouts.hold'))::integer as holds,
       (count(*) filter (where action = 'payouts.release'))::integer as releases,
       (array_agg(action order by id desc))[1] as last
     from audit_entries where account_id = $1 and record = 'installation:payouts'`,
    [account_id],
  );
  const [found] = await session.query<{ holds: number; releases: number; open: number }>(
    `select (count(*) filter (where kind = 'operator'))::integer as holds,
       (count(distinct released_at))::integer as releases,
       (count(*) filter (where kind = 'operator' and released_at is null))::integer as open
     from payout_holds`,
  );
  if (found!.releases !== told!.releases) {
    return "payouts were released without an entry of the audit log";
  }
  const is_held = told!.last === "payouts.hold";
  if (found!.holds !== told!.holds || found!.open > 0 !== is_held) {
    return "the holds of payouts are not those of the audit log";
  }
  return null;
};

/** A rail is proven by a payout that a bank has booked from that account. */
const checkProvenRails: Check = async (session, account_id) => {
  if (!(await isOperator(session, account_id))) return null;
  const [row] = await session.query<{ bank_account: string; currency: string; rail: string }>(
    `select bank_account, currency, rail from proven_rails r
     where not exists (
       select from payouts p join offramps o on o.account_id = p.account_id and o.id = p.offramp_id
       where p.status in ('booked', 'returned') and o.destination_currency = r.currency
         and o.rails = r.rail and r.bank_account in (p.bank_account, ''))
     order by 1, 2, 3 limit 1`,
  );
  if (!row) return null;
  const { bank_account, currency, rail } = row;
  const name = `payouts in ${currency} by ${rail} from ${bank_account}`;
  return `${name} count as proven, but none was booked`;
};

/** What decides whether money may leave. */
export const verifyLeaving = inOrder(checkHolds, checkProvenRails);
