import type { Session } from "../platform/db/database.ts";
import { setOf } from "../platform/db/rows.ts";
import { minOf } from "../platform/money.ts";
import { assertManyVouched } from "../platform/sealing/vouched-rows.ts";
import { listDepositsByQuote, listQuoteDeposits } from "./deposit-store.ts";
import { hashAddress, REFUNDS, type Refund } from "./refund-store.ts";

export type AddressMoney = {
  account_id: string;
  user_id: string;
  token: string;
  chain: string;
  address: string;
  address_index: Buffer;
};

/**
 * What a quote has paid, or keeps, of its deposits and the balance. Reserved as a whole from its
 * execution on; what failed before it was funded cost nothing, what failed later gave back.
 */
const SPENT = `select coalesce(sum(o.token_amount::numeric - coalesce(o.given_back, 0)
      - (select coalesce(sum(b.given_back), 0) from bank_answers b
         where b.account_id = o.account_id and b.assigned_offramp_id = o.id)), 0) as tokens
  from offramps o where o.account_id = q.account_id and o.quote_id = q.id
    and (q.funded_at is not null or (q.executed_at is not null and q.closed_at is null))
    and not (o.status = 'failed' and o.funded_at is null)`;

/**
 * What came from each of these addresses and has neither been paid out nor gone back, by
 * `addressKey`. What a quote was paid with is no longer there to be sent back: else whoever pays a
 * payout from a new address could have the rest of the balance sent to it. What came first pays
 * first, so that of several senders only one can take back a token that is left. Negative where
 * more went back than was there; deposits of `without_quote_id` are left out. Fails if somebody
 * changed a deposit or a refund that counts. Each of them is read once: anybody can send dust.
 */
export async function listFromAddresses(
  session: Session,
  wanted: readonly AddressMoney[],
  without_quote_id: string | null = null,
): Promise<Map<string, bigint>> {
  if (wanted.length === 0) return new Map();
  const [paid, refunds] = await Promise.all([
    listUnspent(session, wanted),
    listRefundsTo(session, wanted),
  ]);
  const left = new Map(wanted.map((entry) => [addressKey(entry), 0n]));
  const add = (key: string, amount: bigint) => {
    const before = left.get(key);
    if (before !== undefined) left.set(key, before + amount);
  };
  const quotes = paid.filter(({ id }) => id !== without_quote_id);
  let parts: Part[] = [];
  for await (const { quote, deposits, is_last } of listDepositsByQuote(session, quotes)) {
    for (const { id, mined_at, token, amount, sender, ...deposit } of deposits) {
      const key = addressKey({ ...deposit, token, address: sender ?? "" });
      const is_paid = token === quote.deposit_token;
      const wanted_key = left.has(key) ? key : null;
      parts.push({ id, mined_ms: mined_at.getTime(), wanted_key, amount, is_paid });
    }
    if (!is_last) continue;
    for (const { wanted_key, amount } of takeNewest(quote, parts)) {
      if (wanted_key !== null) add(wanted_key, amount);
    }
    parts = [];
  }
  const names = new Map(wanted.map((entry) => [refundKey(entry), addressKey(entry)]));
  for (const refund of refunds) {
    const name = names.get(refundKey(refund));
    if (name && refund.status !== "failed") add(name, -refund.amount);
  }
  return left;
}

/** A deposit, as far as it decides who can take back what. */
type Part = {
  id: string;
  mined_ms: number;
  /** By `addressKey`; null if its sender is none of those asked for. */
  wanted_key: string | null;
  amount: bigint;
  /** In the token that pays the quote. */
  is_paid: boolean;
};

/** What is left of each deposit of a quote: what came first has paid first. */
function takeNewest({ unspent }: Unspent, parts: Part[]): Pick<Part, "wanted_key" | "amount">[] {
  let rest = unspent;
  parts.sort((a, b) => b.mined_ms - a.mined_ms || (a.id < b.id ? 1 : -1));
  return parts.map(({ wanted_key, amount, is_paid }) => {
    if (!is_paid) return { wanted_key, amount };
    const left = rest > 0n ? rest : 0n;
    rest -= amount;
    return { wanted_key, amount: minOf(amount, left) };
  });
}

type RefundMoney = Pick<Refund, "account_id" | "user_id" | "token" | "status" | "amount"> &
  Pick<AddressMoney, "address_index">;

async function listRefundsTo(
  session: Session,
  wanted: readonly AddressMoney[],
): Promise<RefundMoney[]> {
  const columns = "account_id uuid, user_id uuid, address_index bytea";
  const t = setOf(session, "t", columns, wanted);
  const rows = await session.query<RefundMoney>(
    `select r.* from refunds r
     join (select distinct account_id, user_id, address_index from ${t.from}) as t
       using (account_id, user_id, address_index)
     where r.account_id = ${t.accountIn("t")}`,
    t.values,
  );
  return assertManyVouched(REFUNDS, session, rows);
}

type Unspent = { account_id: string; id: string; deposit_token: string; unspent: bigint };

/** The quotes that these addresses have sent something to, and what they have not paid out. */
async function listUnspent(session: Session, wanted: readonly AddressMoney[]): Promise<Unspent[]> {
  const t = setOf(session, "t", "account_id uuid, user_id uuid, address text", wanted);
  // As text: a sum may be larger than a bigint.
  const rows = await session.query<Omit<Unspent, "unspent"> & { unspent: string }>(
    `select q.account_id, q.id, q.deposit_token, (q.received::numeric + q.from_balance
       - coalesce(q.spent_before, 0) - spent.tokens)::text as unspent
     from (select distinct d.account_id, d.quote_id as id from deposits d
       join ${t.from}
         on d.account_id = t.account_id and d.user_id = t.user_id and d.sender = t.address) as k
     join quotes q using (account_id, id) cross join lateral (${SPENT}) as spent`,
    t.values,
  );
  return rows.map((row) => ({ ...row, unspent: BigInt(row.unspent) }));
}

/**
 * Whether more went back to the senders of this quote's deposits, all together, than their other
 * deposits and `excess` (what the quote does not need) explain: then the quote is paid with what
 * others sent.
 */
export async function hasGoneBack(
  session: Session,
  index_key: Buffer,
  quote_id: string,
  money: Omit<AddressMoney, "address" | "address_index"> & { excess: bigint },
): Promise<boolean> {
  const { account_id, user_id, token, chain, excess } = money;
  const addresses = new Map<string, AddressMoney>();
  for await (const deposits of listQuoteDeposits(session, account_id, quote_id, token)) {
    for (const { sender: address } of deposits) {
      if (address === null || addresses.has(address)) continue;
      const address_index = hashAddress(index_key, chain, address);
      addresses.set(address, { account_id, user_id, token, chain, address, address_index });
    }
  }
  const senders = [...addresses.values()];
  // Else all that they ever sent is read, and they may have paid thousands of quotes.
  const refunds = await listRefundsTo(session, senders);
  const back = refunds
    .filter((refund) => refund.status !== "failed" && refund.token === token)
    .reduce((sum, { amount }) => sum + amount, 0n);
  if (back <= excess) return false;
  const left = await listFromAddresses(session, senders, quote_id);
  const gone = [...left.values()].reduce((sum, amount) => (amount < 0n ? sum - amount : sum), 0n);
  return gone > excess;
}

/** The addresses that tokens of a user came from, the last ones first. */
export async function listSenders(
  session: Session,
  { account_id, user_id, token, chain }: Omit<AddressMoney, "address" | "address_index">,
  limit: number,
): Promise<string[]> {
  const rows = await session.query<{ sender: string }>(
    `select sender from deposits
     where account_id = $1 and user_id = $2 and token = $3 and chain = $4 and sender is not null
     group by sender order by max(id::text) desc limit $5`,
    [account_id, user_id, token, chain, limit],
  );
  return rows.map((row) => row.sender);
}

export function addressKey(entry: Omit<AddressMoney, "address_index">): string {
  return [entry.account_id, entry.user_id, entry.token, entry.chain, entry.address].join(" ");
}

function refundKey(entry: Omit<AddressMoney, "chain" | "address">): string {
  const { account_id, user_id, token, address_index } = entry;
  return [account_id, user_id, token, address_index.toString("hex")].join(" ");
}
