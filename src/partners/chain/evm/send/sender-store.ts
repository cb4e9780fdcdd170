import type { Chain } from "../../../../catalogue/chains.ts";
import type { Session, Transaction } from "../../../../platform/db/database.ts";
import type { SenderRow, SenderState } from "./model.ts";

type StoredSender = Omit<SenderRow, "next_nonce" | "mined_nonce" | "balance" | "base_fee"> & {
  next_nonce: bigint | null;
  mined_nonce: bigint | null;
  balance: string | null;
  base_fee: string | null;
};

const REPORTED_MAX = 1_000;

/** Marks the address as the chain's treasury, and only it. */
export async function upsertTreasury(
  session: Session,
  { chain, address }: Pick<SenderRow, "chain" | "address">,
  now: Date,
): Promise<void> {
  await session.query(
    `insert into evm_senders (chain, address, is_treasury, state, state_since)
     values ($1, $2, true, 'sending', $3)
     on conflict (chain, address) do update set is_treasury = true
     where not evm_senders.is_treasury`,
    [chain, address, now],
  );
  await session.query(
    "update evm_senders set is_treasury = false where chain = $1 and address <> $2 and is_treasury",
    [chain, address],
  );
}

/** The queues of a chain with something to send, and the treasury's. */
export async function listActiveSenders(
  session: Session,
  chain: Chain,
  treasury: string,
): Promise<(SenderRow & { has_sends: boolean })[]> {
  const rows = await session.query<StoredSender & { has_sends: boolean }>(
    `with open as (select distinct sender from evm_sends
       where chain = $1 and state not in ('final', 'refused'))
     select s.*, exists (select from open where sender = s.address) as has_sends
     from (select sender as address from open union select $2) as active
     join evm_senders s on s.chain = $1 and s.address = active.address order by s.address`,
    [chain, treasury],
  );
  return rows.map((row) => ({ ...toSender(row), has_sends: row.has_sends }));
}

/** Queues with a problem, and those of treasuries. */
export async function listReportedSenders(
  session: Session,
): Promise<(SenderRow & { is_treasury: boolean })[]> {
  const rows = await session.query<StoredSender & { is_treasury: boolean }>(
    `select * from evm_senders where is_treasury or problem is not null
     order by chain, address limit $1`,
    [REPORTED_MAX],
  );
  return rows.map((row) => ({ ...toSender(row), is_treasury: row.is_treasury }));
}

export async function findSender(
  session: Session,
  chain: Chain,
  address: string,
): Promise<SenderRow | undefined> {
  const [row] = await session.query<StoredSender>(
    "select * from evm_senders where chain = $1 and address = $2",
    [chain, address],
  );
  return row && toSender(row);
}

/** The first nonce of a queue is the number of transactions that its address has sent before. */
export async function updateFirstNonce(
  session: Session,
  { chain, address }: Pick<SenderRow, "chain" | "address">,
  nonce: number,
): Promise<void> {
  await session.query(
    `update evm_senders set next_nonce = $3
     where chain = $1 and address = $2 and next_nonce is null`,
    [chain, address, nonce],
  );
}

export type SenderOutcome = {
  state: SenderState;
  problem: string | null;
  seen: { mined_nonce: number; balance: bigint; base_fee: bigint } | null;
};

/** A queue that is stopped stays so: an operator decides. */
export async function updateSenderState(
  session: Session,
  { chain, address }: Pick<SenderRow, "chain" | "address">,
  { state, problem, seen }: SenderOutcome,
  now: Date,
): Promise<void> {
  await session.query(
    `update evm_senders set
       state = case when state = 'stopped' then state else $3 end,
       problem = case when state = 'stopped' then problem else $4 end,
       state_since = case when state in ('stopped', $3) then state_since else $5 end,
       mined_nonce = coalesce($6, mined_nonce), balance = coalesce($7, balance),
       base_fee = coalesce($8, base_fee),
       checked_at = case when $6::bigint is null then checked_at else $5 end
     where chain = $1 and address = $2`,
    [
      ...[chain, address, state, problem, now],
      ...[seen?.mined_nonce ?? null, seen?.balance ?? null, seen?.base_fee ?? null],
    ],
  );
}

/** The operator lets a stopped queue go on at the nonce that is next on the chain. */
export function updateSenderResumed(
  tx: Transaction,
  { chain, address }: Pick<SenderRow, "chain" | "address">,
  next_nonce: number,
  now: Date,
): void {
  tx.write(
    `update evm_senders set state = 'sending', state_since = $4, problem = null,
       next_nonce = greatest(next_nonce, $3)
     where chain = $1 and address = $2 and state = 'stopped'`,
    [chain, address, next_nonce, now],
  );
}

type SendCounts = {
  chain: Chain;
  queued: number;
  in_flight: number;
  oldest_at: Date | null;
};

/** Sends that are not final, counted up to a limit. */
export function countOpenSends(session: Session, limit: number): Promise<SendCounts[]> {
  return session.query(
    `select chain, count(*) filter (where state = 'queued')::int as queued,
       count(*) filter (where state <> 'queued')::int as in_flight, min(created_at) as oldest_at
     from (select chain, state, created_at from evm_sends
       where state not in ('final', 'refused') limit $1) as open
     group by chain`,
    [limit],
  );
}

function toSender(row: StoredSender): SenderRow {
  return {
    ...row,
    next_nonce: row.next_nonce === null ? null : Number(row.next_nonce),
    mined_nonce: row.mined_nonce === null ? null : Number(row.mined_nonce),
    balance: row.balance === null ? null : BigInt(row.balance),
    base_fee: row.base_fee === null ? null : BigInt(row.base_fee),
  };
}
