import type { Chain } from "../../../../catalogue/chains.ts";
import type { Database, Session, Transaction } from "../../../../platform/db/database.ts";
import type { SignedAction } from "../signer/port.ts";
import type { Attempt, EvmSend, OpenSend } from "./model.ts";

type SendRow = Omit<EvmSend, "action" | "nonce" | "block_number" | "gas_cost" | "address_index"> & {
  action: Record<string, unknown>;
  nonce: bigint | null;
  block_number: bigint | null;
  gas_cost: string | null;
  address_index: bigint | null;
};
type AttemptRow = Omit<Attempt, "max_fee" | "priority_fee" | "accepted_block"> & {
  max_fee: string;
  priority_fee: string;
  accepted_block: bigint | null;
};

type NewSend = Pick<EvmSend, "key" | "chain" | "sender" | "action" | "asked_at"> & {
  address_index?: number | null;
  /** Null: it is estimated. */
  gas?: bigint | null;
};

/** The same key means something else: the caller is wrong, and nothing is sent. */
class KeyReused extends Error {
  override name = "KeyReused";
}

/** Queues a send unless its key is known; returns it as it is now. */
export async function insertSend(session: Session, send: NewSend, now: Date): Promise<EvmSend> {
  const action = writeAction(send.action);
  await session.query(
    `insert into evm_senders (chain, address, state, state_since)
     values ($1, $2, 'sending', $3) on conflict do nothing`,
    [send.chain, send.sender, now],
  );
  await session.query(
    `insert into evm_sends (key, chain, sender, address_index, action, state, state_since,
       created_at, asked_at, gas)
     values ($1, $2, $3, $4, $5::jsonb, 'queued', $6, $6, $7, $8) on conflict do nothing`,
    [
      ...[send.key, send.chain, send.sender, send.address_index ?? null, action],
      ...[now, send.asked_at, send.gas ?? null],
    ],
  );
  // The sender is not compared: the treasury may have changed since.
  const [row] = await session.query<SendRow & { is_same: boolean }>(
    "select *, chain = $2 and action = $3::jsonb as is_same from evm_sends where key = $1",
    [send.key, send.chain, action],
  );
  if (!row!.is_same) throw new KeyReused(`the key ${send.key} was used for another transfer`);
  return toSend(row!);
}

export async function findSendByKey(session: Session, key: string): Promise<EvmSend | null> {
  const [row] = await session.query<SendRow>("select * from evm_sends where key = $1", [key]);
  return row ? toSend(row) : null;
}

/** It is still wanted. */
export async function updateAsked(session: Session, key: string, now: Date): Promise<void> {
  await session.query("update evm_sends set asked_at = $2 where key = $1 and state = 'queued'", [
    key,
    now,
  ]);
}

/** Sends that have a nonce and are not final, by nonce, with their attempts. */
export async function listInFlight(
  session: Session,
  { chain, address }: { chain: Chain; address: string },
  limit: number,
): Promise<OpenSend[]> {
  const rows = await session.query<SendRow>(
    `select * from evm_sends where chain = $1 and sender = $2
       and state in ('planned', 'signed', 'broadcast', 'mined') order by nonce limit $3`,
    [chain, address, limit],
  );
  return withAttempts(session, rows);
}

/** Queued sends that may be tried now, oldest first. */
export async function listQueued(
  session: Session,
  { chain, address }: { chain: Chain; address: string },
  { now, asked_since }: { now: Date; asked_since: Date },
  limit: number,
): Promise<EvmSend[]> {
  const rows = await session.query<SendRow>(
    `select * from evm_sends where chain = $1 and sender = $2 and state = 'queued'
       and coalesce(retry_at <= $3, true) and coalesce(asked_at >= $4, true)
     order by number limit $5`,
    [chain, address, now, asked_since, limit],
  );
  return rows.map(toSend);
}

/** Sends that are not final, oldest first; for the operator. */
export async function listOpenSends(session: Session, limit: number): Promise<OpenSend[]> {
  const rows = await session.query<SendRow>(
    `select * from evm_sends where state not in ('final', 'refused')
     order by chain, sender, number limit $1`,
    [limit],
  );
  return withAttempts(session, rows);
}

async function withAttempts(session: Session, rows: readonly SendRow[]): Promise<OpenSend[]> {
  const attempts = await session.query<AttemptRow>(
    "select * from evm_attempts where key = any($1::text[]) order by key, attempt",
    [rows.map(({ key }) => key)],
  );
  const by_key = Map.groupBy(attempts, ({ key }) => key);
  return rows.map((row) => ({
    ...toSend(row),
    attempts: (by_key.get(row.key) ?? []).map(toAttempt),
  }));
}

export type Fees = { max_fee: bigint; priority_fee: bigint };

/**
 * Gives the queue's next nonce to a queued send and stores what is to be signed. False where it is
 * not queued any more, or another one is planned and not yet signed.
 */
export function updatePlanned(
  database: Database,
  { key, chain, sender }: Pick<EvmSend, "key" | "chain" | "sender">,
  plan: Fees & { gas: bigint },
  now: Date,
): Promise<boolean> {
  return database.transaction(async (tx) => {
    const [queue] = await tx.query<{
      next_nonce: bigint | null;
      is_planned: boolean;
      state: string;
    }>(
      `select next_nonce, state, exists (select from evm_sends
           where chain = $1 and sender = $2 and state = 'planned') as is_planned
       from evm_senders where chain = $1 and address = $2 for update`,
      [chain, sender],
    );
    if (!queue || queue.next_nonce === null) return false;
    if (queue.is_planned || queue.state === "stopped") return false;
    const planned = await tx.query(
      `update evm_sends set state = 'planned', state_since = $3, nonce = $2, gas = $4,
         problem = null, retry_at = null
       where key = $1 and state = 'queued' and not is_cancelled returning key`,
      [key, queue.next_nonce, now, plan.gas],
    );
    if (planned.length === 0) return false;
    tx.write(
      "update evm_senders set next_nonce = next_nonce + 1 where chain = $1 and address = $2",
      [chain, sender],
    );
    insertAttempt(tx, { key, attempt: 1, is_cancel: false, ...plan }, now);
    return true;
  });
}

/** Plans a transaction that replaces the last one; nothing where another process did so. */
export async function insertReplacement(
  database: Database,
  attempt: Pick<Attempt, "key" | "attempt" | "is_cancel"> & Fees,
  now: Date,
): Promise<void> {
  await database.transaction(async (tx) => insertAttempt(tx, attempt, now));
}

function insertAttempt(
  tx: Transaction,
  one: Pick<Attempt, "key" | "attempt" | "is_cancel"> & Fees,
  now: Date,
): void {
  tx.write(
    `insert into evm_attempts (key, attempt, is_cancel, max_fee, priority_fee, planned_at)
     values ($1, $2, $3, $4, $5, $6) on conflict do nothing`,
    [one.key, one.attempt, one.is_cancel, one.max_fee, one.priority_fee, now],
  );
}

/** Stores the bytes of a planned attempt; the first ones stay. */
export async function updateSigned(
  database: Database,
  { key, attempt }: Pick<Attempt, "key" | "attempt">,
  { raw, tx_id }: { raw: string; tx_id: string },
  now: Date,
): Promise<void> {
  await database.transaction(async (tx) => {
    tx.write(
      `update evm_attempts set raw = $3, tx_id = $4
       where key = $1 and attempt = $2 and raw is null`,
      [key, attempt, raw, tx_id],
    );
    tx.write(
      `update evm_sends set state = 'signed', state_since = $2
       where key = $1 and state = 'planned'
         and exists (select from evm_attempts where key = $1 and raw is not null)`,
      [key, now],
    );
  });
}

/** The signer refused a planned attempt. The nonce of a first one is free again. */
export async function deleteAttempt(
  database: Database,
  send: Pick<EvmSend, "key" | "chain" | "sender" | "nonce">,
  { attempt }: Pick<Attempt, "attempt">,
  later: { retry_at: Date; problem: string },
  now: Date,
): Promise<void> {
  const { key, chain, sender, nonce } = send;
  await database.transaction(async (tx) => {
    await tx.query("select from evm_senders where chain = $1 and address = $2 for update", [
      chain,
      sender,
    ]);
    const deleted = await tx.query(
      `delete from evm_attempts where key = $1 and attempt = $2 and raw is null returning key`,
      [key, attempt],
    );
    if (deleted.length === 0) return;
    tx.write("update evm_sends set retry_at = $2, problem = $3 where key = $1", [
      ...[key, later.retry_at, later.problem],
    ]);
    if (attempt > 1) return;
    tx.write(
      `update evm_senders set next_nonce = $3
       where chain = $1 and address = $2 and next_nonce = $3 + 1`,
      [chain, sender, nonce],
    );
    tx.write(
      `update evm_sends set state = 'queued', state_since = $2, nonce = null
       where key = $1 and state = 'planned'`,
      [key, now],
    );
  });
}

/** What the nodes said to the bytes. */
export async function updateTried(
  database: Database,
  { key, attempt }: Pick<Attempt, "key" | "attempt">,
  { answer, accepted_block }: { answer: string; accepted_block: number | null },
  now: Date,
): Promise<void> {
  await database.transaction(async (tx) => {
    tx.write(
      `update evm_attempts set tried_at = $3::timestamptz, answer = $4,
         accepted_at = coalesce(accepted_at,
           case when $5::bigint is null then null else $3::timestamptz end),
         accepted_block = coalesce(accepted_block, $5)
       where key = $1 and attempt = $2`,
      [key, attempt, now, answer, accepted_block],
    );
    if (accepted_block === null) return;
    tx.write(
      `update evm_sends set state = 'broadcast', state_since = $2
       where key = $1 and state = 'signed'`,
      [key, now],
    );
  });
}

type Mined = { tx_id: string; block_number: number; block_hash: string };

/** Null: its block was replaced, and it is not in another one yet. */
export async function updateMined(
  session: Session,
  key: string,
  mined: Mined | null,
  now: Date,
): Promise<void> {
  await session.query(
    `update evm_sends set state = $2, tx_id = $3, block_number = $4, block_hash = $5,
       state_since = case when state = $2 then state_since else $6 end
     where key = $1 and state in ('signed', 'broadcast', 'mined')`,
    [
      ...[key, mined ? "mined" : "broadcast", mined?.tx_id ?? null],
      ...[mined?.block_number ?? null, mined?.block_hash ?? null, now],
    ],
  );
}

/** Ends a send whose nonce a final transaction has used. */
export async function updateFinal(
  session: Session,
  key: string,
  mined: Mined & { gas_cost: bigint },
  outcome: { state: "final" } | { state: "refused"; problem: string },
  now: Date,
): Promise<void> {
  await session.query(
    `update evm_sends set state = $2, state_since = $3, problem = $4, tx_id = $5,
       block_number = $6, block_hash = $7, gas_cost = $8
     where key = $1 and state in ('signed', 'broadcast', 'mined')`,
    [
      ...[key, outcome.state, now, "problem" in outcome ? outcome.problem : null],
      ...[mined.tx_id, mined.block_number, mined.block_hash, mined.gas_cost],
    ],
  );
}

/** Ends a send that was never planned. */
export async function updateRefused(
  session: Session,
  key: string,
  problem: string,
  now: Date,
): Promise<boolean> {
  const rows = await session.query(
    `update evm_sends set state = 'refused', state_since = $3, problem = $2
     where key = $1 and state = 'queued' returning key`,
    [key, problem, now],
  );
  return rows.length > 0;
}

/** Why a queued send has to wait. */
export async function updateWaiting(
  session: Session,
  key: string,
  { retry_at, problem }: { retry_at: Date | null; problem: string },
): Promise<void> {
  await session.query(
    "update evm_sends set retry_at = $2, problem = $3 where key = $1 and state = 'queued'",
    [key, retry_at, problem],
  );
}

/** The operator does not want it any more: a signed one is replaced by a transfer of nothing. */
export async function updateCancelled(session: Session, key: string): Promise<boolean> {
  const rows = await session.query(
    `update evm_sends set is_cancelled = true
     where key = $1 and state in ('planned', 'signed', 'broadcast') returning key`,
    [key],
  );
  return rows.length > 0;
}

function writeAction(action: SignedAction): string {
  return JSON.stringify(action, (_name, value) =>
    typeof value === "bigint" ? String(value) : value,
  );
}

function toSend(row: SendRow): EvmSend {
  const { amount } = row.action;
  const action = amount === undefined ? row.action : { ...row.action, amount: BigInt(`${amount}`) };
  return {
    ...row,
    action: action as SignedAction,
    nonce: toNumber(row.nonce),
    block_number: toNumber(row.block_number),
    address_index: toNumber(row.address_index),
    gas_cost: row.gas_cost === null ? null : BigInt(row.gas_cost),
  };
}

function toAttempt(row: AttemptRow): Attempt {
  return {
    ...row,
    max_fee: BigInt(row.max_fee),
    priority_fee: BigInt(row.priority_fee),
    accepted_block: toNumber(row.accepted_block),
  };
}

function toNumber(value: bigint | null): number | null {
  return value === null ? null : Number(value);
}
