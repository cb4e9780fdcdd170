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

type ProvenRail = { bank_account: string; currency: string; rail: string };

/**
 * A rail is proven by a payout that a bank has booked from that account. Rails are few: each is
 * looked up by itself, since payouts may be on other nodes.
 */
const checkProvenRails: Check = async (session, account_id) => {
  if (!(await isOperator(session, account_id))) return null;
  const rails = await session.query<ProvenRail>(
    "select bank_account, currency, rail from proven_rails order by 1, 2, 3",
  );
  for (const { bank_account, currency, rail } of rails) {
    const booked = await session.query(
      `select 1 from offramps o
       join payouts p on p.account_id = o.account_id and p.offramp_id = o.id
       where o.rails = $1 and o.destination_currency = $2 and p.status in ('booked', 'returned')
         and ($3 = '' or p.bank_account = $3) limit 1`,
      [rail, currency, bank_account],
    );
    if (booked.length > 0) continue;
    const name = `payouts in ${currency} by ${rail} from ${bank_account}`;
    return `${name} count as proven, but none was booked`;
  }
  return null;
};

/** What decides whether money may leave. */
export const verifyLeaving = inOrder(checkHolds, checkProvenRails);
