import { CHAINS } from "../../catalogue/chains.ts";
import type { Database, Session, Transaction } from "../../platform/db/database.ts";
import type { Transfer, WalletTransfer } from "./port.ts";

/**
 * Transfers are read by number: one that is committed after a higher one was read would never be
 * seen. So each writer waits for the previous one, and numbers follow the order of commits. In a
 * statement of its own: the next one sees what the previous writer has committed.
 */
async function takeTurn(tx: Transaction): Promise<void> {
  await tx.query("select pg_advisory_xact_lock(hashtextextended('sandbox transfers', 0))");
}

/** Of a transaction: each is compared with the others of its transaction, while writers wait. */
export const TRANSFERS_MAX = 100;

/**
 * Creates a transfer on the sandbox's chain; of one request, by its name, only one. False if the
 * transaction has as many as it may have.
 */
export async function insertSandboxTransfer(
  database: Database,
  transfer: Omit<Transfer, "log_index">,
  request: string | null = null,
): Promise<boolean> {
  return database.transaction(async (tx) => {
    await takeTurn(tx);
    // One transaction may pay several of our addresses: each transfer has its own log index.
    const [row] = await tx.query<{ is_there: boolean }>(
      `with known as (
         select log_index, request from sandbox_transfers where chain = $1 and tx_id = $2
       ), created as (
         insert into sandbox_transfers
           (chain, tx_id, log_index, address, token, amount, mined_at, sender, request)
         select $1, $2, coalesce(max(log_index) + 1, 0), $3, $4, $5, $6, $7, $8
         from known having count(*) filter (where request = $8) = 0 and count(*) < $9
         returning log_index
       )
       select exists (select from created)
         or exists (select from known where request = $8) as is_there`,
      [
        ...[transfer.chain, transfer.tx_id, transfer.address, transfer.token],
        ...[transfer.amount, transfer.mined_at, transfer.sender, request, TRANSFERS_MAX],
      ],
    );
    return row!.is_there;
  });
}

export function listSandboxTransfers(
  session: Session,
  chain: string,
  after: bigint,
  limit: number,
): Promise<(Transfer & { number: bigint })[]> {
  return session.query(
    `select number, chain, tx_id, log_index, address, sender, token, amount, mined_at
     from sandbox_transfers where chain = $1 and number > $2 order by number limit $3`,
    [chain, after, limit],
  );
}

export async function existsSandboxTransfer(
  session: Session,
  chain: string,
  address: string,
): Promise<boolean> {
  const rows = await session.query(
    "select 1 from sandbox_transfers where chain = $1 and address = $2 limit 1",
    [chain, address],
  );
  return rows.length > 0;
}

/** Whether an address is one of ours, on any chain. */
export async function existsDepositAddress(session: Session, address: string): Promise<boolean> {
  const rows = await session.query(
    "select 1 from deposit_addresses where chain = any($1::text[]) and address = $2 limit 1",
    [CHAINS, address],
  );
  return rows.length > 0;
}

/** What a transaction transfers to our addresses. */
export function listSandboxTransaction(
  session: Session,
  chain: string,
  tx_id: string,
): Promise<Pick<Transfer, "address" | "token">[]> {
  return session.query(
    "select address, token from sandbox_transfers where chain = $1 and tx_id = $2",
    [chain, tx_id],
  );
}

type SandboxSend = {
  key: string;
  tx_id: string;
  chain: string;
  token: string;
  amount: bigint;
  recipient: Buffer;
};

/** False where the key was used for another transfer. */
export async function insertSandboxSend(session: Session, send: SandboxSend): Promise<boolean> {
  const values = [send.key, send.tx_id, send.chain, send.token, send.amount, send.recipient];
  const inserted = await session.query(
    `insert into sandbox_sends (key, tx_id, chain, token, amount, recipient)
     values ($1, $2, $3, $4, $5, $6) on conflict do nothing returning key`,
    values,
  );
  if (inserted.length > 0) return true;
  const same = await session.query(
    `select from sandbox_sends where key = $1 and tx_id = $2 and chain = $3 and token = $4
       and amount = $5 and recipient = $6`,
    values,
  );
  return same.length > 0;
}

export async function findSandboxSend(
  session: Session,
  key: string,
): Promise<{ tx_id: string } | null> {
  const [row] = await session.query<{ tx_id: string }>(
    "select tx_id from sandbox_sends where key = $1",
    [key],
  );
  return row ?? null;
}

/**
 * Creates a transfer between two wallets; one transaction may contain several, mined at once. Of
 * one request, by its name, only one. Null if the transaction has as many as it may have.
 */
export async function insertWalletTransfer(
  tx: Transaction,
  chain: string,
  tx_id: string,
  transfer: Omit<WalletTransfer, "log_index"> & { mined_at: Date },
  request: string | null,
): Promise<{ log_index: number; mined_at: Date } | null> {
  await takeTurn(tx);
  const [row] = await tx.query<{ log_index: number; mined_at: Date }>(
    `with known as (
       select log_index, mined_at, request from sandbox_wallet_transfers
       where chain = $1 and tx_id = $2
     ), created as (
       insert into sandbox_wallet_transfers
         (chain, tx_id, log_index, sender, recipient, token, amount, mined_at, request)
       select $1, $2, coalesce(max(log_index) + 1, 0), $3, $4, $5, $6, coalesce(min(mined_at), $7),
         $8
       from known having count(*) filter (where request = $8) = 0 and count(*) < $9
       returning log_index, mined_at
     )
     select * from created union all select log_index, mined_at from known where request = $8`,
    [
      ...[chain, tx_id, transfer.from, transfer.to, transfer.token],
      ...[transfer.amount, transfer.mined_at, request, TRANSFERS_MAX],
    ],
  );
  return row ?? null;
}

export function listWalletTransfers(
  session: Session,
  chain: string,
  tx_id: string,
): Promise<(WalletTransfer & { mined_at: Date })[]> {
  return session.query(
    `select log_index, sender as "from", recipient as "to", token, amount, mined_at
     from sandbox_wallet_transfers where chain = $1 and tx_id = $2 order by log_index`,
    [chain, tx_id],
  );
}
