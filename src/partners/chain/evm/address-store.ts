import type { Session } from "../../../platform/db/database.ts";
import { columnsOf } from "../../../platform/db/rows.ts";

type EvmAddress = {
  address: string;
  /** The wallet's fingerprint. */
  wallet: string;
  address_index: number;
  /** For which it was issued; SKIPPED: for none. The same key exists on every EVM chain. */
  chain: string;
  created_at: Date;
};

/** Of an address that is watched and will not be issued. */
export const SKIPPED = "skipped";

/** New indexes; a number is never returned twice, not even after a rollback. */
export async function claimIndexes(session: Session, count: number): Promise<number[]> {
  const rows = await session.query<{ index: bigint }>(
    "select nextval('evm_address_indexes') as index from generate_series(1, $1)",
    [count],
  );
  return rows.map(({ index }) => Number(index));
}

/** The index of the next address; another process may claim it meanwhile. */
export async function findNextIndex(session: Session): Promise<number> {
  const [row] = await session.query<{ next: number }>(
    `select (last_value + case when is_called then 1 else 0 end)::int as next
     from evm_address_indexes`,
  );
  return row!.next;
}

export async function insertAddresses(
  session: Session,
  addresses: readonly EvmAddress[],
): Promise<void> {
  await session.query(
    `insert into evm_addresses (address, wallet, address_index, chain, created_at)
     select * from unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::timestamptz[])`,
    columnsOf(addresses, "address", "wallet", "address_index", "chain", "created_at"),
  );
}

/** Those of these addresses that are ours. */
export function findAddresses(
  session: Session,
  addresses: readonly string[],
): Promise<EvmAddress[]> {
  return session.query(
    `select address, wallet, address_index::int, chain, created_at from evm_addresses
     where address = any($1::text[])`,
    [addresses],
  );
}

/** The address that was issued with this index of a wallet. */
export async function findAddressAt(
  session: Session,
  wallet: string,
  index: number,
): Promise<EvmAddress | undefined> {
  const [row] = await session.query<EvmAddress>(
    `select address, wallet, address_index::int, chain, created_at from evm_addresses
     where wallet = $1 and address_index = $2`,
    [wallet, index],
  );
  return row;
}

/** All addresses; up to `limit`, which tells that there are more. */
export async function listAddresses(session: Session, limit: number): Promise<string[]> {
  const rows = await session.query<{ address: string }>(
    "select address from evm_addresses limit $1",
    [limit],
  );
  return rows.map(({ address }) => address);
}

/** How many addresses of each wallet were issued, and the last index. */
export function countAddresses(
  session: Session,
): Promise<{ wallet: string; addresses: number; last_index: number }[]> {
  return session.query(
    `select wallet, count(*)::int as addresses, max(address_index)::int as last_index
     from evm_addresses group by wallet order by wallet`,
  );
}
