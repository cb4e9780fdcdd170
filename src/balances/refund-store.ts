import type { Chain, Token } from "../catalogue/chains.ts";
import { AccountMap } from "../platform/account-map.ts";
import type { Session, Transaction } from "../platform/db/database.ts";
import {
  accountsOf,
  columnsOf,
  findRow,
  findRows,
  insertRows,
  listRows,
  lockRow,
  updateRow,
} from "../platform/db/rows.ts";
import { keyedHash } from "../platform/encryption/cipher.ts";
import { sealedText } from "../platform/encryption/sealed-column.ts";
import type { Page } from "../platform/http/list.ts";
import { vouchedTable } from "../platform/sealing/vouched-rows.ts";
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

/** As the table has it. */
export type StoredRefund = SealedRow<Refund> & { address_index: Buffer | null; mac: Buffer | null };

export type SealedRow<Record extends { address: string }> = Omit<Record, "address"> & {
  address: Buffer;
};

/*
 * The address itself is encrypted for its row: nobody without the key can put another one there.
 */
export const REFUND_ADDRESSES = vouchedTable(
  "refund_addresses",
  ["account_id", "id"],
  ["user_id", "chain", "address_index", "created_at"],
);
export const REFUNDS = vouchedTable(
  "refunds",
  ["account_id", "id"],
  [
    ...["user_id", "token", "chain", "amount", "network_fee", "address_index", "status", "tx_id"],
    ...["created_at", "updated_at"],
  ],
);

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
     created_at timestamptz, mac bytea`,
    REFUND_ADDRESSES.withMacs(
      tx,
      addresses.map((entry) => sealAddress("refund_addresses", entry)),
    ),
  );
}

export function listRefundAddresses(
  session: Session,
  { account_id, user_id }: UserKey,
  page: Page,
): Promise<SealedRow<RefundAddress>[]> {
  return listRows(session, "refund_addresses", { account_id, user_id }, page);
}

/** How many addresses each of these users has registered. */
export async function countRefundAddresses(
  session: Session,
  users: readonly UserKey[],
): Promise<AccountMap<number>> {
  const accounts = accountsOf(session, users);
  const rows = await session.query<UserKey & { count: number }>(
    `select account_id, user_id, count(*)::int as count from refund_addresses
     where account_id ${accounts.equal} and user_id = any($2::uuid[])
     group by account_id, user_id`,
    [accounts.value, ...columnsOf(users, "user_id")],
  );
  const counts = new AccountMap<number>();
  for (const { account_id, user_id, count } of rows) counts.set(account_id, user_id, count);
  return counts;
}

/** Which of these addresses their users registered here, by `registeredKey`. */
export async function findRegistered(
  session: Session,
  wanted: readonly { account_id: string; user_id: string; address_index: Buffer }[],
): Promise<Map<string, SealedRow<RefundAddress>>> {
  const accounts = accountsOf(session, wanted);
  const rows = await session.query<SealedRow<RefundAddress> & { address_index: Buffer }>(
    `select * from refund_addresses where account_id ${accounts.equal}
       and user_id = any($2::uuid[]) and address_index = any($3::bytea[])`,
    [accounts.value, ...columnsOf(wanted, "user_id", "address_index")],
  );
  const known = REFUND_ADDRESSES.vouchedOnly(session, rows);
  return new Map(known.map((row) => [registeredKey(row, row.address_index), row]));
}

export function registeredKey(
  owner: { account_id: string; user_id: string },
  address_index: Buffer,
): string {
  return `${owner.account_id} ${owner.user_id} ${address_index.toString("hex")}`;
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
     updated_at timestamptz, mac bytea`,
    REFUNDS.withMacs(
      tx,
      refunds.map((refund) => sealAddress("refunds", refund)),
    ),
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

/** Whose a refund is, and since when it is requested. */
export async function findRefundOwner(
  session: Session,
  account_id: string,
  id: string,
): Promise<(UserKey & Pick<Refund, "created_at">) | undefined> {
  const [row] = await session.query<UserKey & Pick<Refund, "created_at">>(
    "select account_id, user_id, created_at from refunds where account_id = $1 and id = $2",
    [account_id, id],
  );
  return row;
}

/** Fails if somebody changed it. */
export async function findRefund(
  session: Session,
  account_id: string,
  id: string,
): Promise<StoredRefund | undefined> {
  const row = await findRow<StoredRefund>(session, "refunds", { account_id, id });
  return row && REFUNDS.assertVouched(session, [row])[0];
}

/** Of any accounts; absent ones are left out. */
export function findRefunds(
  session: Session,
  keys: readonly { account_id: string; id: string }[],
): Promise<SealedRow<Refund>[]> {
  return findRows(session, "refunds", keys);
}

/** Fails if somebody changed it. */
export async function lockRefund(
  tx: Session,
  account_id: string,
  id: string,
): Promise<StoredRefund | undefined> {
  const row = await lockRow<StoredRefund>(tx, "refunds", { account_id, id });
  return row && REFUNDS.assertVouched(tx, [row])[0];
}

/** Writes the state of a locked refund. */
export function updateRefund(tx: Transaction, refund: Omit<StoredRefund, "address" | "mac">): void {
  const { account_id, id, status, tx_id, updated_at, mac } = REFUNDS.withMacs(tx, [refund])[0]!;
  updateRow(tx, "refunds", { account_id, id }, { status, tx_id, updated_at, mac });
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
