import type { Chain } from "../../../../catalogue/chains.ts";
import type { Session, Transaction } from "../../../../platform/db/database.ts";
import type { SignedAction } from "../signer/port.ts";
import { parseAction } from "../signer/request-text.ts";
import { assertEnded, endOf, refusalOf } from "./ended-sends.ts";
import type { Attempt, EvmSend, OpenSend, StoredAction } from "./model.ts";

type NumberColumn = "nonce" | "planned_block" | "block_number" | "address_index";
type SendRow = Omit<EvmSend, NumberColumn | "action" | "gas_cost"> &
  Record<NumberColumn, bigint | null> & {
    action: unknown;
    gas_cost: string | null;
  };
type AttemptRow = Omit<Attempt, "max_fee" | "priority_fee" | "accepted_block"> & {
  max_fee: string;
  priority_fee: string;
  accepted_block: bigint | null;
};

type NewSend = Pick<EvmSend, "key" | "chain" | "sender" | "asked_at"> & {
  action: SignedAction;
  address_index?: number | null;
  /** Null: it is estimated. */
  gas?: bigint | null;
};

/** No pause is as long as an hour: one that is was begun by a clock that was ahead. */
const MAY_BE_TRIED = `coalesce(
  retry_at <= $3 or retry_at > $3::timestamptz + interval '1 hour', true)`;

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
    // Addresses were once stored in the case in which callers sent them.
    `select *, chain = $2 and lower(action::text)::jsonb = $3::jsonb as is_same
     from evm_sends where key = $1`,
    [send.key, send.chain, action],
  );
  if (!row!.is_same) throw new KeyReused(`the key ${send.key} was used for another transfer`);
  return toSend(assertEnded(session, row!));
}

export async function findSendByKey(session: Session, key: string): Promise<EvmSend | null> {
  const [row] = await session.query<SendRow>("select * from evm_sends where key = $1", [key]);
  return row ? toSend(assertEnded(session, row)) : null;
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

/** Those of them that are in no block. */
export async function listUnmined(
  session: Session,
  { chain, address }: { chain: Chain; address: string },
): Promise<OpenSend[]> {
  const rows = await session.query<SendRow>(
    `select * from evm_sends where chain = $1 and sender = $2
       and state in ('planned', 'signed', 'broadcast') order by nonce`,
    [chain, address],
  );
  return withAttempts(session, rows);
}

/** Those in a block that is not final yet, lowest nonce first. */
export async function listMined(
  session: Session,
  { chain, address }: { chain: Chain; address: string },
  limit: number,
): Promise<OpenSend[]> {
  const rows = await session.query<SendRow>(
    `select * from evm_sends where chain = $1 and sender = $2 and state = 'mined'
     order by nonce limit $3`,
    [chain, address, limit],
  );
  return withAttempts(session, rows);
}

/** A send that has a nonce and is not final. */
export async function findInFlight(session: Session, key: string): Promise<OpenSend | null> {
  const rows = await session.query<SendRow>(
    `select * from evm_sends where key = $1
       and state in ('planned', 'signed', 'broadcast', 'mined')`,
    [key],
  );
  return (await withAttempts(session, rows))[0] ?? null;
}

/**
 * Queued sends that may be tried now: at most `limit` that were tried before and as many that were
 * not, in turns, of each first those that waited longest. Tokens take turns, too: what cannot be
 * sent takes nobody's place.
 */
export async function listQueued(
  session: Session,
  { chain, address }: { chain: Chain; address: string },
  { now, asked_since }: { now: Date; asked_since: Date },
  limit: number,
): Promise<EvmSend[]> {
  const rows = await session.query<SendRow>(
    `with queued as (
       select key, number, retry_at is not null as is_waiting, row_number() over (
         partition by retry_at is null, action ->> 'contract'
         order by coalesce(retry_at, created_at), number) as place
       from evm_sends where chain = $1 and sender = $2 and state = 'queued'
         and ${MAY_BE_TRIED} and coalesce(asked_at >= $4, true)
     ), turns as (
       select *, row_number() over (partition by is_waiting order by place, number) as turn
       from queued
     )
     select s.* from turns t join evm_sends s using (key)
     where t.turn <= $5 order by t.turn, t.is_waiting desc`,
    [chain, address, now, asked_since, limit],
  );
  return rows.map(toSend);
}

/** Why the oldest queued send is not tried now; none if all may be tried. */
export async function findWaitingProblem(
  session: Session,
  { chain, address }: { chain: Chain; address: string },
  { now, asked_since }: { now: Date; asked_since: Date },
): Promise<string[]> {
  const rows = await session.query<{ problem: string }>(
    `select problem from evm_sends where chain = $1 and sender = $2 and state = 'queued'
       and not ${MAY_BE_TRIED} and coalesce(asked_at >= $4, true) and problem is not null
     order by number limit 1`,
    [chain, address, now, asked_since],
  );
  return rows.map(({ problem }) => problem);
}

/** Sends that are not final, oldest first; for the operator. */
export async function listOpenSends(
  session: Session,
  limit: number,
  above_number = 0n,
): Promise<OpenSend[]> {
  const rows = await session.query<SendRow>(
    `select * from evm_sends where state not in ('final', 'refused') and number > $2
     order by number limit $1`,
    [limit, above_number],
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
       block_number = $6, block_hash = $7, gas_cost = $8, mac = $9
     where key = $1 and state in ('signed', 'broadcast', 'mined')`,
    [
      ...[key, outcome.state, now, "problem" in outcome ? outcome.problem : null],
      ...[mined.tx_id, mined.block_number, mined.block_hash, mined.gas_cost],
      endOf(session, { key, ...mined, state: outcome.state }),
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
    `update evm_sends set state = 'refused', state_since = $3, problem = $2, mac = $4
     where key = $1 and state = 'queued' returning key`,
    [key, problem, now, refusalOf(session, key)],
  );
  return rows.length > 0;
}

/** Why a queued send has to wait. */
export async function updateWaiting(
  session: Session,
  key: string,
  { retry_at, problem }: { retry_at: Date; problem: string },
): Promise<void> {
  await session.query(
    "update evm_sends set retry_at = $2, problem = $3 where key = $1 and state = 'queued'",
    [key, retry_at, problem],
  );
}

/**
 * The operator does not want it any more: a queued one is refused, a later one is replaced by a
 * transfer of nothing. Returns the state; null where it is too late, or there is none. What uses up
 * a nonce (`nonce:…`) cannot be cancelled: without it the queue would stand still.
 */
export async function updateCancelled(
  session: Session,
  key: string,
  problem: string,
  now: Date,
): Promise<EvmSend["state"] | null> {
  const [row] = await session.query<{ state: EvmSend["state"] }>(
    `update evm_sends set is_cancelled = true,
       state = case when state = 'queued' then 'refused' else state end,
       state_since = case when state = 'queued' then $3 else state_since end,
       problem = case when state = 'queued' then $2 else problem end,
       mac = case when state = 'queued' then $4::bytea end
     where key = $1 and key not like 'nonce:%'
       and state in ('queued', 'planned', 'signed', 'broadcast') returning state`,
    [key, problem, now, refusalOf(session, key)],
  );
  return row?.state ?? null;
}

/** A final transaction that is not ours has the nonce of these sends. */
export function updateLost(
  tx: Transaction,
  keys: readonly string[],
  problem: string,
  now: Date,
): void {
  for (const key of keys) {
    tx.write(
      `update evm_sends set state = 'refused', state_since = $3, problem = $2, mac = $4
       where key = $1 and state in ('planned', 'signed', 'broadcast')`,
      [key, problem, now, refusalOf(tx, key)],
    );
  }
}

function writeAction(action: SignedAction): string {
  return JSON.stringify(action, (_name, value) =>
    typeof value === "bigint" ? String(value) : value,
  );
}

function readAction(stored: unknown): StoredAction {
  try {
    return parseAction(JSON.stringify(stored).toLowerCase());
  } catch {
    return { kind: "unreadable" };
  }
}

function toSend(row: SendRow): EvmSend {
  return {
    ...row,
    action: readAction(row.action),
    nonce: toNumber(row.nonce),
    planned_block: toNumber(row.planned_block),
    block_number: toNumber(row.block_number),
    address_index: toNumber(row.address_index),
    gas_cost: row.gas_cost === null ? null : toWhole(row.gas_cost),
  };
}

function toAttempt(row: AttemptRow): Attempt {
  return {
    ...row,
    max_fee: toWhole(row.max_fee),
    priority_fee: toWhole(row.priority_fee),
    accepted_block: toNumber(row.accepted_block),
  };
}

/** What is no whole number was not written by Sliproad; one such row must not stop the others. */
function toWhole(text: string): bigint {
  return BigInt(/^\d+/.exec(text)?.[0] ?? 0);
}

function toNumber(value: bigint | null): number | null {
  return value === null ? null : Number(value);
}
