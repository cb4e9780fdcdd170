import type { Chain } from "../catalogue/chains.ts";
import type { Transfer } from "../partners/chain/port.ts";
import type { Session } from "../platform/db/database.ts";
import { columnsOf, listRows, type RecordKey, setOf } from "../platform/db/rows.ts";
import type { Page } from "../platform/http/list.ts";
import { FIRST_ID } from "../platform/ids.ts";
import { assertManyVouched, vouchedTable } from "../platform/sealing/vouched-rows.ts";
import type { UserKey } from "../users/store.ts";

type DepositAddress = {
  chain: string;
  address: string;
  account_id: string;
  quote_id: string;
};

export type Deposit = {
  account_id: string;
  id: string;
  user_id: string;
  quote_id: string;
  chain: Chain;
  tx_id: string;
  log_index: number;
  sender: string | null;
  token: string;
  amount: bigint;
  mined_at: Date;
  created_at: Date;
};

export const DEPOSITS = vouchedTable(
  "deposits",
  ["account_id", "id"],
  [
    ...["user_id", "quote_id", "chain", "tx_id", "log_index", "sender", "token", "amount"],
    ...["mined_at", "created_at"],
  ],
);

/** The owners of these addresses; unknown addresses are absent. */
export function findDepositAddresses(
  session: Session,
  transfers: readonly Transfer[],
): Promise<DepositAddress[]> {
  return session.query<DepositAddress>(
    `select chain, address, account_id, quote_id from deposit_addresses
     where (chain, address) in (select * from unnest($1::text[], $2::text[]))`,
    columnsOf(transfers, "chain", "address"),
  );
}

/** Records deposits; those recorded before are not returned. */
export function insertCryptoDeposits(
  tx: Session,
  deposits: readonly Deposit[],
): Promise<Deposit[]> {
  const columns = `account_id uuid, id uuid, user_id uuid, quote_id uuid, chain text, tx_id text,
    log_index int, token text, amount bigint, mined_at timestamptz, created_at timestamptz,
    sender text, mac bytea`;
  const set = setOf(tx, "t", columns, DEPOSITS.withMacs(tx, deposits));
  return tx.query<Deposit>(
    `insert into deposits (account_id, id, user_id, quote_id, chain, tx_id, log_index, token,
       amount, mined_at, created_at, sender, mac)
     select * from ${set.from}
     on conflict (account_id, chain, tx_id, log_index) do nothing returning *`,
    set.values,
  );
}

/** Read at once: anybody can send any number of transfers to a quote. */
const READ_AT_ONCE = 1_000;

/**
 * The deposits to a quote's address, in parts, between which others are served; fails on one of
 * others. Their user is locked, so that none is added meanwhile.
 */
async function* listDepositParts(
  session: Session,
  { account_id, id }: RecordKey,
  after_id: string = FIRST_ID,
): AsyncGenerator<Deposit[]> {
  let rows: Deposit[];
  do {
    rows = await session.query<Deposit>(
      `select * from deposits where account_id = $1 and quote_id = $2 and id > $3
       order by id limit $4`,
      [account_id, id, after_id, READ_AT_ONCE],
    );
    after_id = rows.at(-1)?.id ?? after_id;
    yield await assertManyVouched(DEPOSITS, session, rows);
  } while (rows.length === READ_AT_ONCE);
}

/** The same, of those in this token only. */
export async function* listQuoteDeposits(
  session: Session,
  account_id: string,
  id: string,
  token: string,
): AsyncGenerator<Deposit[]> {
  for await (const deposits of listDepositParts(session, { account_id, id })) {
    yield deposits.filter((deposit) => deposit.token === token);
  }
}

/** Most quotes have a deposit or two. */
const QUOTES_AT_ONCE = 20;

/** All deposits of each of these quotes, a quote after the other, in parts as above. */
export async function* listDepositsByQuote<Quote extends RecordKey>(
  session: Session,
  quotes: readonly Quote[],
): AsyncGenerator<{ quote: Quote; deposits: Deposit[]; is_last: boolean }> {
  for (let at = 0; at < quotes.length; at += QUOTES_AT_ONCE) {
    const some = quotes.slice(at, at + QUOTES_AT_ONCE);
    const set = setOf(session, "k", "account_id uuid, id uuid", some);
    const rows = await session.query<Deposit>(
      `select d.* from ${set.from} cross join lateral (
         select * from deposits where account_id = ${set.accountIn("k")} and quote_id = k.id
         order by id limit ${READ_AT_ONCE}) as d`,
      set.values,
    );
    const first = Map.groupBy(
      await assertManyVouched(DEPOSITS, session, rows),
      (row) => row.quote_id,
    );
    for (const quote of some) {
      const deposits = first.get(quote.id) ?? [];
      let is_last = deposits.length < READ_AT_ONCE;
      yield { quote, deposits, is_last };
      if (is_last) continue;
      for await (const more of listDepositParts(session, quote, deposits.at(-1)!.id)) {
        is_last = more.length < READ_AT_ONCE;
        yield { quote, deposits: more, is_last };
      }
    }
  }
}

/** What was deposited to a quote until each of two times, in millionths. */
export type DepositSums = { in_time: bigint; in_all: bigint };

/**
 * The sums of a quote's deposits in its own token. Their MACs are not checked: for whoever moves
 * nothing because of them.
 */
export async function findDepositSums(
  session: Session,
  { account_id, id }: RecordKey,
  token: string,
  times: { in_time: Date; in_all: Date },
): Promise<DepositSums> {
  const [row] = await session.query<Record<keyof DepositSums, string>>(
    `select coalesce(sum(amount) filter (where mined_at <= $4), 0)::text as in_time,
       coalesce(sum(amount), 0)::text as in_all
     from deposits where account_id = $1 and quote_id = $2 and token = $3 and mined_at <= $5`,
    [account_id, id, token, times.in_time, times.in_all],
  );
  return { in_time: BigInt(row!.in_time), in_all: BigInt(row!.in_all) };
}

/** All deposits of a user, newest first. */
export function listUserDeposits(
  session: Session,
  { account_id, user_id }: UserKey,
  page: Page,
): Promise<Deposit[]> {
  return listRows(session, "deposits", { account_id, user_id }, page);
}
