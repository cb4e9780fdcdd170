import { ALL_LINES, DAY_SUM_PARTS, OWED_PARTS } from "../ledger/day-sum-store.ts";
import { isShared, LEDGER_ACCOUNTS } from "../ledger/model.ts";
import { POSTINGS } from "../ledger/posting-kinds.ts";
import { EXPOSURE_PARTS_OF_ACCOUNT } from "../prices/exposure-store.ts";
import { type Check, inOrder } from "./checks.ts";

const checkKinds: Check = async (session, account_id) => {
  const kinds = Object.entries(POSTINGS);
  const [row] = await session.query<{ id: string; key: string; kind: string }>(
    `select id, key, kind from ledger_entries
     where account_id = $1 and (kind, split_part(key, ':', 1)) not in (
       select * from unnest($2::text[], $3::text[]))
     order by id limit 1`,
    [account_id, kinds.map(([kind]) => kind), kinds.map(([, { key }]) => key.split(":", 1)[0])],
  );
  if (!row) return null;
  const name = entryName(row.id, account_id);
  return `${name}: there is no posting ${row.kind} with a key like ${row.key}`;
};

/** An entry's lines are numbered without gaps, so a deleted line is detected. */
const checkLines: Check = async (session, account_id) => {
  const [unbalanced] = await session.query<{ entry_id: string; currency: string; sum: string }>(
    `select entry_id, currency, sum(amount)::text as sum from ledger_lines where account_id = $1
     group by entry_id, currency having sum(amount) <> 0 order by entry_id, currency limit 1`,
    [account_id],
  );
  if (unbalanced) {
    const { entry_id, currency, sum } = unbalanced;
    const name = entryName(entry_id, account_id);
    return `${name}: its lines in ${currency} sum to ${sum}, not to zero`;
  }
  const [incomplete] = await session.query<{ id: string }>(
    `select e.id from ledger_entries e
     left join ledger_lines l on l.account_id = e.account_id and l.entry_id = e.id
     where e.account_id = $1
     group by e.id having count(l.number) = 0 or min(l.number) <> 1
       or max(l.number) <> count(*) or count(distinct l.number) <> count(*)
     order by e.id limit 1`,
    [account_id],
  );
  if (!incomplete) return null;
  return `${entryName(incomplete.id, account_id)}: a line is missing, or has a wrong number`;
};

const checkBalances: Check = async (session, account_id) => {
  const kept = LEDGER_ACCOUNTS.filter((account) => account.is_kept);
  const [row] = await session.query<BalanceRow & { balance: bigint | null }>(
    `select ledger_account, currency, b.balance, coalesce(l.sum, 0)::text as sum
     from (select ledger_account, currency, balance from ledger_balances
       where account_id = $1) b
     full join (select ledger_account, currency, sum(amount * sign.of) as sum,
         bool_or(sign.is_shared) as is_shared from ledger_lines
       join unnest($2::text[], $3::int[], $4::boolean[]) as sign (name, of, is_shared)
         on split_part(ledger_account, ':', 1) = sign.name
       where account_id = $1 group by ledger_account, currency) l
       using (ledger_account, currency)
     where coalesce(b.balance, 0) <> coalesce(l.sum, 0) or b.balance is null and l.is_shared
     order by ledger_account, currency limit 1`,
    [account_id, kept.map(({ name }) => name), kept.map(signOf), kept.map(isShared)],
  );
  if (!row) return null;
  const { ledger_account, currency, balance, sum } = row;
  const name = `the balance of ${ledger_account} in ${currency} of account ${account_id}`;
  if (balance === null && sum === "0") return `${name} is missing`;
  return `${name} is stored as ${balance ?? 0n}, but its lines sum to ${sum}`;
};

const checkSigns: Check = async (session, account_id) => {
  const [row] = await session.query<BalanceRow & { is_known: boolean }>(
    `select ledger_account, currency, sum(amount * coalesce(rule.sign, 1))::text as sum,
       rule.sign is not null as is_known
     from ledger_lines
     left join unnest($2::text[], $3::int[], $4::boolean[], $5::int[])
       as rule (name, sign, may_be_negative, ids)
       on split_part(ledger_account, ':', 1) = rule.name
         and cardinality(string_to_array(ledger_account, ':')) = rule.ids + 1
     where account_id = $1
     group by ledger_account, currency, rule.sign, rule.may_be_negative
     having rule.sign is null or not rule.may_be_negative and sum(amount * rule.sign) < 0
     order by ledger_account, currency limit 1`,
    [
      account_id,
      LEDGER_ACCOUNTS.map(({ name }) => name),
      LEDGER_ACCOUNTS.map(signOf),
      LEDGER_ACCOUNTS.map(({ sign }) => sign === "any"),
      LEDGER_ACCOUNTS.map(({ per }) => per.length),
    ],
  );
  if (!row) return null;
  const name = `ledger account ${row.ledger_account} of account ${account_id}`;
  if (!row.is_known) return `${name}: the chart of accounts does not contain it`;
  return `${name}: its balance is ${row.sum} ${row.currency}, but it must not be negative`;
};

/** Contains only deposits and money of bank exceptions that are being returned. */
const checkReturnClearing: Check = async (session, account_id) => {
  const [row] = await session.query<BalanceRow>(
    `select ledger_account, currency, sum(amount)::text as sum from ledger_lines l
     where account_id = $1 and ledger_account = 'return_clearing'
     group by ledger_account, currency having sum(amount) <> -coalesce((
       select sum(coalesce(matched_amount, amount)) from fiat_deposits d
       where d.account_id = $1 and d.status = 'returning' and d.currency = l.currency), 0)
       - coalesce((select sum(held) from bank_answers b
       where b.account_id = $1 and b.status = 'returning' and b.currency = l.currency), 0)
     order by currency limit 1`,
    [account_id],
  );
  if (!row) return null;
  const held = `${row.sum} ${row.currency}`;
  return (
    `return_clearing of account ${account_id} holds ${held}, which differs from what is ` +
    `being returned`
  );
};

/** The stored exposure, with what is not in it yet, is what the lines say. */
const checkExposure: Check = async (session, account_id) => {
  const [row] = await session.query<{ currency: string; stored: string; sum: string }>(
    `select currency, coalesce(e.sum, 0)::text as stored, coalesce(l.sum, 0)::text as sum
     from (select currency, sum(amount) as sum from (${EXPOSURE_PARTS_OF_ACCOUNT}) as parts
       group by currency) e
     full join (select currency, sum(amount) as sum from ledger_lines
       where account_id = $1 and ledger_account = 'fx_position' group by currency) l
       using (currency)
     where coalesce(e.sum, 0) <> coalesce(l.sum, 0)
     order by currency limit 1`,
    [account_id],
  );
  if (!row) return null;
  const { currency, stored, sum } = row;
  const name = `the exposure in ${currency} of account ${account_id}`;
  return `${name} is counted as ${stored}, but the lines of fx_position sum to ${sum}`;
};

/** The daily sums, with what is not in them yet, are what the lines say. */
const checkDaySums: Check = async (session, account_id) => {
  const group = "sum(amount) as sum from";
  const [row] = await session.query<BalanceRow & { day: string; stored: string }>(
    `select day::text as day, ledger_account, currency, coalesce(s.sum, 0)::text as stored,
       coalesce(l.sum, 0)::text as sum
     from (select day, ledger_account, currency, ${group} (${DAY_SUM_PARTS}) as parts
       group by day, ledger_account, currency) s
     full join (select day, ledger_account, currency, ${group} (${ALL_LINES}) as lines
       group by day, ledger_account, currency) l using (day, ledger_account, currency)
     where coalesce(s.sum, 0) <> coalesce(l.sum, 0)
     order by day, ledger_account, currency limit 1`,
    [account_id],
  );
  if (!row) return null;
  const { day, ledger_account, currency, stored, sum } = row;
  const name = `the sum of ${ledger_account} in ${currency} on ${day} of account ${account_id}`;
  return `${name} is stored as ${stored}, but its lines sum to ${sum}`;
};

/** What the account owes, as its balances show it, is what it owes to its users together. */
const checkOwedSums: Check = async (session, account_id) => {
  const [row] = await session.query<{
    chain: string;
    currency: string;
    stored: string;
    sum: string;
  }>(
    `select chain, currency, coalesce(s.sum, 0)::text as stored, coalesce(b.sum, 0)::text as sum
     from (select chain, currency, sum(amount) as sum from (${OWED_PARTS}) as parts
       group by chain, currency) s
     full join (select split_part(ledger_account, ':', 3) as chain, currency, sum(balance) as sum
       from ledger_balances where account_id = $1 and starts_with(ledger_account, 'owed:')
       group by 1, 2) b using (chain, currency)
     where coalesce(s.sum, 0) <> coalesce(b.sum, 0)
     order by chain, currency limit 1`,
    [account_id],
  );
  if (!row) return null;
  const { chain, currency, stored, sum } = row;
  const name = `what account ${account_id} owes in ${currency} on ${chain}`;
  return `${name} is summed as ${stored}, but the balances of its users sum to ${sum}`;
};

/**
 * What must be true of the ledger whatever the records contain: entries sum to zero, stored
 * balances equal the sums of their lines, and no account has a forbidden sign. Each check is one
 * statement that returns the first wrong row, so that nothing is loaded.
 */
export const verifyLedger = inOrder(
  ...[checkKinds, checkLines, checkBalances, checkSigns, checkReturnClearing, checkExposure],
  ...[checkDaySums, checkOwedSums],
);

type BalanceRow = { ledger_account: string; currency: string; sum: string };

/** Converts a sum of lines to the account's natural sign. */
function signOf({ side }: { side: "debit" | "credit" }): number {
  return side === "debit" ? 1 : -1;
}

export function entryName(id: string, account_id: string): string {
  return `ledger entry ${id} of account ${account_id}`;
}
