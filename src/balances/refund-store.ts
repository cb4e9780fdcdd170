import type { Chain, Token } from "../catalogue/chains.ts";
import type { Session, Transaction } from "../platform/db/database.ts";
import { keyedHash, open, type Place, seal } from "../platform/encryption/cipher.ts";
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

export function hashAddress(index_key: Buffer, chain: string, address: string): Buffer {
  return keyedHash(index_key, "refund address", chain, address);
}

/** Registers addresses; one that another process registered concurrently fails the transaction. */
export function insertRefundAddresses(
  tx: Transaction,
  addresses: readonly (RefundAddress & { key: Buffer; address_index: Buffer })[],
): void {
  tx.write(
    `insert into refund_addresses (account_id, id, user_id, chain, address, address_index,
       created_at)
     select * from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::bytea[], $6::bytea[],
       $7::timestamptz[])`,
    [
      addresses.map((entry) => entry.account_id),
      addresses.map((entry) => entry.id),
      addresses.map((entry) => entry.user_id),
      addresses.map((entry) => entry.chain),
      addresses.map((entry) => sealAddress("refund_addresses", entry, entry.key)),
      addresses.map((entry) => entry.address_index),
      addresses.map((entry) => entry.created_at),
    ],
  );
}

export function listRefundAddresses(
  session: Session,
  key: UserKey,
  page: Page,
): Promise<SealedRow<RefundAddress>[]> {
  return session.query(
    `select * from refund_addresses
     where account_id = $1 and user_id = $2 and id < $3 and id >= $4 order by id desc limit $5`,
    [key.account_id, key.user_id, page.below_id, page.from_id, page.limit + 1],
  );
}

/** Which of these addresses are registered, by `registeredKey`. */
export async function findRegistered(
  session: Session,
  wanted: readonly { account_id: string; user_id: string; address_index: Buffer }[],
): Promise<Map<string, SealedRow<RefundAddress>>> {
  const rows = await session.query<SealedRow<RefundAddress> & { address_index: Buffer }>(
    `select * from refund_addresses where account_id = any($1::uuid[])
       and user_id = any($2::uuid[]) and address_index = any($3::bytea[])`,
    [
      wanted.map((entry) => entry.account_id),
      wanted.map((entry) => entry.user_id),
      wanted.map((entry) => entry.address_index),
    ],
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

/** What came from each of these addresses and has not gone back, by `addressKey`. */
export async function listFromAddresses(
  session: Session,
  wanted: readonly AddressMoney[],
): Promise<Map<string, bigint>> {
  if (wanted.length === 0) return new Map();
  // As text: a sum may be larger than a bigint.
  const rows = await session.query<AddressMoney & { left_over: string }>(
    `select t.*, (
       (select coalesce(sum(d.amount), 0) from deposits d where d.account_id = t.account_id
         and d.user_id = t.user_id and d.sender = t.address and d.chain = t.chain
         and d.token = t.token)
       - (select coalesce(sum(r.amount), 0) from refunds r where r.account_id = t.account_id
         and r.user_id = t.user_id and r.address_index = t.address_index and r.token = t.token
         and r.status <> 'failed'))::text as left_over
     from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::bytea[])
       as t (account_id, user_id, token, chain, address, address_index)`,
    [
      wanted.map((entry) => entry.account_id),
      wanted.map((entry) => entry.user_id),
      wanted.map((entry) => entry.token),
      wanted.map((entry) => entry.chain),
      wanted.map((entry) => entry.address),
      wanted.map((entry) => entry.address_index),
    ],
  );
  return new Map(rows.map((row) => [addressKey(row), BigInt(row.left_over)]));
}

export function addressKey(entry: Omit<AddressMoney, "address_index">): string {
  return [entry.account_id, entry.user_id, entry.token, entry.chain, entry.address].join(" ");
}

export function insertRefunds(
  tx: Transaction,
  refunds: readonly (Refund & { key: Buffer; address_index: Buffer })[],
): void {
  tx.write(
    `insert into refunds (account_id, id, user_id, token, chain, amount, network_fee, address,
       address_index, status, created_at, updated_at)
     select *, created_at from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::text[],
       $6::bigint[], $7::bigint[], $8::bytea[], $9::bytea[], $10::text[], $11::timestamptz[])
       as t (account_id, id, user_id, token, chain, amount, network_fee, address, address_index,
         status, created_at)`,
    [
      refunds.map((refund) => refund.account_id),
      refunds.map((refund) => refund.id),
      refunds.map((refund) => refund.user_id),
      refunds.map((refund) => refund.token),
      refunds.map((refund) => refund.chain),
      refunds.map((refund) => refund.amount),
      refunds.map((refund) => refund.network_fee),
      refunds.map((refund) => sealAddress("refunds", refund, refund.key)),
      refunds.map((refund) => refund.address_index),
      refunds.map((refund) => refund.status),
      refunds.map((refund) => refund.created_at),
    ],
  );
}

export function listRefunds(
  session: Session,
  key: UserKey,
  status: RefundStatus | undefined,
  page: Page,
): Promise<SealedRow<Refund>[]> {
  return session.query(
    `select * from refunds
     where account_id = $1 and user_id = $2 and id < $3 and id >= $4
       ${status ? "and status = $6" : ""}
     order by id desc limit $5`,
    [
      key.account_id,
      key.user_id,
      page.below_id,
      page.from_id,
      page.limit + 1,
      ...(status ? [status] : []),
    ],
  );
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

export async function lockRefund(
  tx: Session,
  account_id: string,
  id: string,
): Promise<SealedRow<Refund> | undefined> {
  const [row] = await tx.query<SealedRow<Refund>>(
    "select * from refunds where account_id = $1 and id = $2 for no key update",
    [account_id, id],
  );
  return row;
}

export function updateRefund(
  tx: Transaction,
  refund: Pick<Refund, "account_id" | "id" | "status" | "tx_id" | "updated_at">,
): void {
  tx.write(
    `update refunds set status = $3, tx_id = $4, updated_at = $5
     where account_id = $1 and id = $2`,
    [refund.account_id, refund.id, refund.status, refund.tx_id, refund.updated_at],
  );
}

/** Decrypts the address of a row of either table. */
export function openAddress(
  table: "refunds" | "refund_addresses",
  row: { account_id: string; id: string; address: Buffer },
  key: Buffer,
): string {
  return open(key, addressPlace(table, row), row.address).toString();
}

function sealAddress(
  table: "refunds" | "refund_addresses",
  row: { account_id: string; id: string; address: string },
  key: Buffer,
): Buffer {
  return seal(key, 1, addressPlace(table, row), Buffer.from(row.address));
}

function addressPlace(table: string, row: { account_id: string; id: string }): Place {
  return { account_id: row.account_id, table, column: "address", record_id: row.id };
}
