import type { Chain } from "../../../catalogue/chains.ts";
import type { Database, Session, Transaction } from "../../../platform/db/database.ts";
import { insertRows } from "../../../platform/db/rows.ts";

/** How far a chain was read, and how its watcher is doing; see the table in watch-chain.ts. */
export type WatchedChain = {
  chain: Chain;
  chain_id: bigint;
  /** Every transfer up to and including this block is stored. */
  scanned_block: bigint;
  scanned_hash: string;
  /** When it was mined, in real time. */
  scanned_at: Date;
  /** The last block that was final when a node was last asked. */
  final_block: bigint;
  /** The blocks after the first up to the second are read again an hour after `reread_at`. */
  reread_from: bigint;
  reread_to: bigint;
  reread_at: Date;
  state: WatchState;
  state_since: Date;
  problem: string | null;
  /** The longest time that a node took to answer, lately. */
  answer_ms: number;
};

export type WatchState =
  | "reading"
  | "current"
  | "unreachable"
  | "disagreeing"
  | "reorganised"
  | "misconfigured";

/** Why a transfer to one of our addresses is not credited. */
export type TransferFinding =
  | "other_token"
  | "other_chain"
  | "balance_mismatch"
  | "reorganised"
  | "vanished"
  | "unproven";

export type StoredTransfer = {
  chain: Chain;
  tx_id: string;
  log_index: number;
  block_number: number;
  block_hash: string;
  address: string;
  sender: string;
  token: string;
  /** Millionths, as text: it may be larger than 64 bits. */
  amount: string;
  mined_at: Date;
  finding: TransferFinding | null;
};

export async function findWatchedChain(
  session: Session,
  chain: Chain,
): Promise<WatchedChain | undefined> {
  const [row] = await session.query<WatchedChain>("select * from evm_chains where chain = $1", [
    chain,
  ]);
  return row;
}

export function listWatchedChains(session: Session): Promise<WatchedChain[]> {
  return session.query("select * from evm_chains order by chain");
}

/** Where another process was faster, its row stays. */
export async function insertWatchedChain(
  session: Session,
  row: Pick<WatchedChain, "chain" | "chain_id" | "scanned_block" | "scanned_hash" | "scanned_at">,
  now: Date,
): Promise<void> {
  await session.query(
    `insert into evm_chains (chain, chain_id, scanned_block, scanned_hash, scanned_at, final_block,
       reread_from, reread_to, reread_at, state, state_since)
     values ($1, $2, $3, $4, $5, $3, $3, $3, $6, 'current', $6) on conflict do nothing`,
    [row.chain, row.chain_id, row.scanned_block, row.scanned_hash, row.scanned_at, now],
  );
}

export async function updateWatchState(
  session: Session,
  chain: Chain,
  change: Pick<WatchedChain, "state" | "problem" | "answer_ms"> & { final_block: bigint | null },
  now: Date,
): Promise<void> {
  await session.query(
    `update evm_chains set state = $2, problem = $3, final_block = coalesce($4, final_block),
       state_since = case when state = $2 then state_since else $5 end, answer_ms = $6
     where chain = $1`,
    [chain, change.state, change.problem, change.final_block, now, change.answer_ms],
  );
}

type ReadBlocks = {
  to: { number: number; hash: string; mined_at: Date };
  transfers: readonly StoredTransfer[];
  /** The MAC of a transfer that was read from the nodes. */
  macOf(transfer: StoredTransfer): Buffer;
};

/**
 * Stores the transfers of the blocks after `from` and moves the cursor behind them. False, and
 * nothing is stored, where another process has moved the cursor meanwhile.
 */
export function insertScan(
  database: Database,
  chain: Chain,
  from: bigint,
  { to, ...read }: ReadBlocks,
): Promise<boolean> {
  return database.transaction(async (tx) => {
    await takeTurn(tx, chain);
    const moved = await tx.query(
      `update evm_chains set scanned_block = $3, scanned_hash = $4, scanned_at = $5
       where chain = $1 and scanned_block = $2 returning chain`,
      [chain, from, to.number, to.hash, to.mined_at],
    );
    if (moved.length === 0) return false;
    await insertTransfers(tx, chain, read);
    return true;
  });
}

/** Stores what the first reading of these blocks has missed. */
export async function insertReread(
  database: Database,
  { chain, reread_from }: WatchedChain,
  { to, ...read }: ReadBlocks,
): Promise<void> {
  await database.transaction(async (tx) => {
    await takeTurn(tx, chain);
    await tx.query("update evm_chains set reread_from = $3 where chain = $1 and reread_from = $2", [
      chain,
      reread_from,
      to.number,
    ]);
    await insertTransfers(tx, chain, read);
  });
}

/** Stores the transfers of blocks that were read before; those that are stored stay as they are. */
export async function insertProven(
  database: Database,
  chain: Chain,
  read: Omit<ReadBlocks, "to">,
): Promise<void> {
  await database.transaction(async (tx) => {
    await takeTurn(tx, chain);
    await insertTransfers(tx, chain, read);
  });
}

/** All is read twice: what was read since is due in an hour. */
export async function updateReread(
  session: Session,
  { chain, scanned_block }: WatchedChain,
  now: Date,
): Promise<void> {
  await session.query("update evm_chains set reread_to = $2, reread_at = $3 where chain = $1", [
    chain,
    scanned_block,
    now,
  ]);
}

export type NumberedTransfer = StoredTransfer & { number: bigint };

/** The last block up to this one of which a transfer is stored that has not vanished. */
export async function findLastStored(
  session: Session,
  chain: Chain,
  block: number,
): Promise<{ block_number: number; block_hash: string } | undefined> {
  const [row] = await session.query<{ block_number: bigint; block_hash: string }>(
    `select block_number, block_hash from evm_transfers
     where chain = $1 and block_number <= $2 and finding is distinct from 'vanished'
     order by block_number desc, number desc limit 1`,
    [chain, block],
  );
  return row && { ...row, block_number: Number(row.block_number) };
}

/** The stored transfers of later blocks that were not found to have vanished. */
export function listStoredAfter(
  session: Session,
  chain: Chain,
  block: number,
): Promise<NumberedTransfer[]> {
  return session.query(
    `select * from evm_transfers
     where chain = $1 and block_number > $2 and finding is distinct from 'vanished'
     order by number`,
    [chain, block],
  );
}

/**
 * Sets the cursor of a reorganised chain back to a block and marks the transfers that have
 * vanished. False, and nothing is changed, where the chain is in another state meanwhile.
 */
export async function updateResumed(
  tx: Transaction,
  { chain, scanned_block }: WatchedChain,
  to: ReadBlocks["to"],
  vanished: readonly bigint[],
  now: Date,
): Promise<boolean> {
  await takeTurn(tx, chain);
  const rows = await tx.query(
    `update evm_chains set scanned_block = $3, scanned_hash = $4, scanned_at = $5,
       reread_from = $3, reread_to = $3, reread_at = $6,
       state = 'reading', state_since = $6, problem = null
     where chain = $1 and scanned_block = $2 and state = 'reorganised' returning chain`,
    [chain, scanned_block, to.number, to.hash, to.mined_at, now],
  );
  if (rows.length === 0) return false;
  await tx.query(
    `update evm_transfers set finding = 'vanished', mac = null
     where number = any($1::bigint[])`,
    [vanished],
  );
  return true;
}

async function insertTransfers(
  tx: Transaction,
  chain: Chain,
  { transfers, macOf }: Omit<ReadBlocks, "to">,
): Promise<void> {
  const known = await listKnown(tx, chain, transfers);
  const rows = transfers.map((transfer) => {
    // The transaction was stored from another block, which was final too: it may be credited.
    const is_moved = known.has(transfer.tx_id, transfer.block_hash);
    const row = is_moved ? { ...transfer, finding: "reorganised" as const } : transfer;
    return { ...row, mac: macOf(row) };
  });
  insertRows(
    tx,
    "evm_transfers",
    `chain text, tx_id text, log_index int, block_number bigint, block_hash text, address text,
     sender text, token text, amount numeric, mined_at timestamptz, finding text, mac bytea`,
    rows,
    // What is stored stays, but for what was not proven: with a new number it is listed again.
    `on conflict (chain, tx_id, log_index, block_hash) do update set number = default,
       block_number = excluded.block_number, address = excluded.address, sender = excluded.sender,
       token = excluded.token, amount = excluded.amount, mined_at = excluded.mined_at,
       finding = excluded.finding, mac = excluded.mac
     where evm_transfers.finding = 'unproven' and excluded.finding is distinct from 'unproven'`,
  );
}

/**
 * Transfers are read by number: one that is committed after a higher one was read would never be
 * seen. So each writer of a chain waits for the previous one.
 */
async function takeTurn(tx: Transaction, chain: Chain): Promise<void> {
  await tx.query("select pg_advisory_xact_lock(hashtextextended('evm ' || $1, 0))", [chain]);
}

async function listKnown(tx: Session, chain: Chain, transfers: readonly StoredTransfer[]) {
  const rows = await tx.query<{ tx_id: string; block_hash: string }>(
    `select distinct tx_id, block_hash from evm_transfers
     where chain = $1 and tx_id = any($2::text[]) and finding is distinct from 'unproven'`,
    [chain, transfers.map(({ tx_id }) => tx_id)],
  );
  return {
    has: (tx_id: string, block_hash: string) =>
      rows.some((row) => row.tx_id === tx_id && row.block_hash !== block_hash),
  };
}

/** Transfers to credit if their MAC is right, in the order in which they were stored. */
export function listCreditable(
  session: Session,
  chain: Chain,
  after: bigint,
  limit: number,
): Promise<(NumberedTransfer & { mac: Buffer | null })[]> {
  return session.query(
    `select number, chain, tx_id, log_index, block_number, block_hash, address, sender, token,
       amount, mined_at, finding, mac
     from evm_transfers where chain = $1 and number > $2 and finding is null
     order by number limit $3`,
    [chain, after, limit],
  );
}

/** All that an address received of a token before a block, credited or not. */
export async function findReceived(
  session: Session,
  chain: Chain,
  { token, address, before }: { token: string; address: string; before: number },
): Promise<bigint> {
  const [row] = await session.query<{ amount: string }>(
    `select coalesce(sum(amount), 0)::text as amount from evm_transfers
     where chain = $1 and address = $2 and token = $3 and block_number < $4
       and (finding is null or finding in ('other_token', 'other_chain'))`,
    [chain, address, token, before],
  );
  return BigInt(row!.amount);
}
