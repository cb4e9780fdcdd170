import type { Database, Session, Transaction } from "../../../../platform/db/database.ts";
import { refusalOf } from "./ended-sends.ts";
import { type Attempt, CANCELLED, type EvmSend } from "./model.ts";

export type Fees = { max_fee: bigint; priority_fee: bigint };

/**
 * Gives the queue's next nonce to a queued send and stores what is to be signed. False where it is
 * not queued any more, or another one is planned and not yet signed.
 */
export function updatePlanned(
  database: Database,
  { key, chain, sender }: Pick<EvmSend, "key" | "chain" | "sender">,
  plan: Fees & { gas: bigint; planned_block: number },
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
         planned_block = $5, problem = null, retry_at = null
       where key = $1 and state = 'queued' and not is_cancelled returning key`,
      [key, queue.next_nonce, now, plan.gas, plan.planned_block],
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

/** What was planned and not signed becomes a cancel. */
export async function updateToCancel(
  session: Session,
  { key, attempt }: Pick<Attempt, "key" | "attempt">,
): Promise<void> {
  await session.query(
    "update evm_attempts set is_cancel = true where key = $1 and attempt = $2 and raw is null",
    [key, attempt],
  );
}

/** Stores the bytes of a planned attempt if the send still has their nonce; the first ones stay. */
export async function updateSigned(
  database: Database,
  {
    key,
    attempt,
    is_cancel,
    nonce,
  }: Pick<Attempt, "key" | "attempt" | "is_cancel"> & {
    nonce: number;
  },
  { raw, tx_id }: { raw: string; tx_id: string },
  now: Date,
): Promise<void> {
  await database.transaction(async (tx) => {
    tx.write(
      `update evm_attempts set raw = $3, tx_id = $4
       where key = $1 and attempt = $2 and raw is null and is_cancel = $5
         and exists (select from evm_sends where key = $1 and nonce = $6)`,
      [key, attempt, raw, tx_id, is_cancel, nonce],
    );
    tx.write(
      `update evm_sends set state = 'signed', state_since = $2
       where key = $1 and state = 'planned'
         and exists (select from evm_attempts where key = $1 and raw is not null)`,
      [key, now],
    );
  });
}

/**
 * Nothing was signed for a planned attempt: the signer refused it, or nothing may leave now. The
 * nonce of a first one is free again, and a send that was cancelled ends. False where it was
 * signed, or planned with another nonce, meanwhile.
 */
export async function deleteAttempt(
  database: Database,
  send: Pick<EvmSend, "key" | "chain" | "sender" | "nonce">,
  { attempt }: Pick<Attempt, "attempt">,
  later: { retry_at: Date; problem: string | null },
  now: Date,
): Promise<boolean> {
  const { key, chain, sender, nonce } = send;
  return database.transaction(async (tx) => {
    await tx.query("select from evm_senders where chain = $1 and address = $2 for update", [
      chain,
      sender,
    ]);
    const deleted = await tx.query(
      `delete from evm_attempts where key = $1 and attempt = $2 and raw is null
         and exists (select from evm_sends where key = $1 and nonce = $3) returning key`,
      [key, attempt, nonce],
    );
    if (deleted.length === 0) return false;
    tx.write("update evm_sends set retry_at = $2, problem = $3 where key = $1", [
      ...[key, later.retry_at, later.problem],
    ]);
    if (attempt > 1) return true;
    tx.write(
      `update evm_senders set next_nonce = $3
       where chain = $1 and address = $2 and next_nonce = $3 + 1`,
      [chain, sender, nonce],
    );
    tx.write(
      `update evm_sends set state = case when is_cancelled then 'refused' else 'queued' end,
         problem = case when is_cancelled then $3 else problem end, state_since = $2, nonce = null,
         mac = case when is_cancelled then $4::bytea end
       where key = $1 and state = 'planned'`,
      [key, now, CANCELLED, refusalOf(tx, key)],
    );
    return true;
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
