import type { Chain, Token } from "../catalogue/chains.ts";
import type { Session, Transaction } from "../platform/db/database.ts";
import { columnsOf, insertRows, listRows, lockRow, updateRow } from "../platform/db/rows.ts";
import { keyedHash } from "../platform/encryption/cipher.ts";
import { sealedText } from "../platform/encryption/sealed-column.ts";
import type { Page } from "../platform/http/list.ts";
import type { UserKey } from "../users/store.ts";

export type RefundAddress = {
  account_id: string;
  id: string;
  user_id: string;
  chain: Chain;
  address: string;
  created_at: Date;
};

export const REFUND_STATUSES = ["pending", "sending", "sent", "failed"] as const;
export type RefundStatus = (typeof REFUND_STATUSES)[number];

export type Refund = {
  account_id: string;
  id: string;
  user_id: string;
  token: Token;
  chain: Chain;
  amount: bigint;
  /** What the chain's network fee takes of the amount; the rest is sent. */
  network_fee: bigint;
  address: string;
  status: RefundStatus;
  tx_id: string | null;
  created_at: Date;
  updated_at: Date;
};

export type SealedRow<Record extends { address: string }> = Omit<Record, "address"> & {
  address: Buffer;
};

const ADDRESSES = {
  refunds: sealedText("refunds", "address"),
  refund_addresses: sealedText("refund_addresses", "address"),
};
type SealedTable = keyof typeof ADDRESSES;

export function hashAddress(index_key: Buffer, chain: string, address: string): Buffer {
  return keyedHash(index_key, "refund address", chain, address);
}

/** Registers addresses; one that another process registered concurrently fails the transaction. */
export function insertRefundAddresses(
  tx: Transaction,
  addresses: readonly (RefundAddress & { key: Buffer; address_index: Buffer })[],
): void {
  insertRows(
    tx,
    "refund_addresses",
    `account_id uuid, id uuid, user_id uuid, chain text, address bytea, address_index bytea,
     created_at timestamptz`,
    addresses.map((entry) => sealAddress("refund_addresses", entry)),
  );
}

export function listRefundAddresses(
  session: Session,
  { account_id, user_id }: UserKey,
  page: Page,
): Promise<SealedRow<RefundAddress>[]> {
  return listRows(session, "refund_addresses", { account_id, user_id }, page);
}

/** Which of these addresses are registered, by `registeredKey`. */
export async function findRegistered(
  session: Session,
  wanted: readonly { account_id: string; user_id: string; address_index: Buffer }[],
): Promise<Map<string, SealedRow<RefundAddress>>> {
  const rows = await session.query<SealedRow<RefundAddress> & { address_index: Buffer }>(
    `select * from refund_addresses where account_id = any($1::uuid[])
       and user_id = any($2::uuid[]) and address_index = any($3::bytea[])`,
    columnsOf(wanted, "account_id", "user_id", "address_index"),
  );
  return new Map(rows.map((row) => [registeredKey(row, row.address_index), row]));
}

export function registeredKey(
  owner: { account_id: string; user_id: string },
  address_index: Buffer,
): string {
  return `${owner.account_id} ${owner.user_id} ${address_index.toString("hex")}`;
}

export type AddressMoney = {
  account_id: string;
  user_id: string;
  token: string;
  chain: string;
  address: string;
  address_index: Buffer;
};

/**
 * What a quote has paid out of its deposits and the balance. Reserved as a whole when it is funded;
 * what failed before that cost nothing, what failed later gave something back.
 */
const SPENT = `select coalesce(sum(o.token_amount::numeric - coalesce(o.given_back, 0)
      - (select coalesce(sum(b.given_back), 0) from bank_answers b
         where b.account_id = o.account_id and b.assigned_offramp_id = o.id)), 0) as tokens
  from offramps o where o.account_id = q.account_id and o.quote_id = q.id
    and q.funded_at is not null and not (o.status = 'failed' and o.funded_at is null)`;

/**
 * What came from each of these addresses and has neither been paid out nor gone back, by
 * `addressKey`. What a quote was paid with is no longer there to be sent back: else whoever pays a
 * payout from a new address could have the rest of the balance sent to it.
 */
export async function listFromAddresses(
  session: Session,
  wanted: readonly AddressMoney[],
): Promise<Map<string, bigint>> {
  if (wanted.length === 0) return new Map();
  // As text: a sum may be larger than a bigint.
  const rows = await session.query<AddressMoney & { left_over: string }>(
    `select t.*, (
       (select coalesce(sum(case when q.deposit_token <> t.token then d.amount
           else least(d.amount, greatest(q.received::numeric + q.from_balance
             - coalesce(q.spent_before, 0) - spent.tokens, 0)) end), 0)
        from (select quote_id, sum(amount) as amount from deposits
          where account_id = t.account_id and user_id = t.user_id and sender = t.address
            and chain = t.chain and token = t.token group by quote_id) d
        join quotes q on q.account_id = t.account_id and q.id = d.quote_id
        cross join lateral (${SPENT}) as spent)
       - (select coalesce(sum(r.amount), 0) from refunds r where r.account_id = t.account_id
         and r.user_id = t.user_id and r.address_index = t.address_index and r.token = t.token
         and r.status <> 'failed'))::text as left_over
     from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::bytea[])
       as t (account_id, user_id, token, chain, address, address_index)`,
    columnsOf(wanted, "account_id", "user_id", "token", "chain", "address", "address_index"),
  );
  return new Map(rows.map((row) => [addressKey(row), BigInt(row.left_over)]));
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

export function insertRefunds(
  tx: Transaction,
  refunds: readonly (Refund & { key: Buffer; address_index: Buffer })[],
): void {
  insertRows(
    tx,
    "refunds",
    `account_id uuid, id uuid, user_id uuid, token text, chain text, amount bigint,
     network_fee bigint, address bytea, address_index bytea, status text, created_at timestamptz,
     updated_at timestamptz`,
    refunds.map((refund) => sealAddress("refunds", refund)),
  );
}

export function listRefunds(
  session: Session,
  { account_id, user_id }: UserKey,
  status: RefundStatus | undefined,
  page: Page,
): Promise<SealedRow<Refund>[]> {
  return listRows(session, "refunds", { account_id, user_id, status }, page);
}

/** Whether this user has an unfinished refund. */
export async function existsOpenRefund(session: Session, key: UserKey): Promise<boolean> {
  const rows = await session.query(
    `select 1 from refunds where account_id = $1 and user_id = $2
       and status in ('pending', 'sending') limit 1`,
    [key.account_id, key.user_id],
  );
  return rows.length > 0;
}

/** Whether the user's identification came into one of these states since then. */
export async function existsKycChange(
  session: Session,
  { account_id, user_id }: UserKey,
  statuses: readonly string[],
  since: Date,
): Promise<boolean> {
  const rows = await session.query(
    `select 1 from events where account_id = $1 and record_id = $2 and name = 'kyc_update'
       and to_status = any($3::text[]) and created_at >= $4 limit 1`,
    [account_id, user_id, statuses, since],
  );
  return rows.length > 0;
}

export async function findRefundOwner(
  session: Session,
  account_id: string,
  id: string,
): Promise<UserKey | undefined> {
  const [row] = await session.query<UserKey>(
    "select account_id, user_id from refunds where account_id = $1 and id = $2",
    [account_id, id],
  );
  return row;
}

export function lockRefund(
  tx: Session,
  account_id: string,
  id: string,
): Promise<SealedRow<Refund> | undefined> {
  return lockRow(tx, "refunds", { account_id, id });
}

export function updateRefund(
  tx: Transaction,
  refund: Pick<Refund, "account_id" | "id" | "status" | "tx_id" | "updated_at">,
): void {
  const { account_id, id, status, tx_id, updated_at } = refund;
  updateRow(tx, "refunds", { account_id, id }, { status, tx_id, updated_at });
}

/** Decrypts the address of a row of either table. */
export function openAddress(
  table: SealedTable,
  row: { account_id: string; id: string; address: Buffer },
  key: Buffer,
): string {
  return ADDRESSES[table].open(key, row, row.address);
}

function sealAddress<Row extends { account_id: string; id: string; address: string; key: Buffer }>(
  table: SealedTable,
  row: Row,
): SealedRow<Row> {
  return { ...row, address: ADDRESSES[table].seal(row.key, row, row.address) };
}
