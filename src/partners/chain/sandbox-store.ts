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

/**
 * Creates a transfer on the sandbox's chain; of one request, by its name, only one. Anybody may
 * name a transaction, any number of times: its other transfers are not read.
 */
export async function insertSandboxTransfer(
  database: Database,
  transfer: Omit<Transfer, "log_index">,
  request: string | null = null,
): Promise<void> {
  await database.transaction(async (tx) => {
    await takeTurn(tx);
    // One transaction may pay several of our addresses: each transfer has its own log index.
    await tx.query(
      `insert into sandbox_transfers
         (chain, tx_id, log_index, address, token, amount, mined_at, sender, request)
       select $1, $2, coalesce((
           select log_index + 1 from sandbox_transfers where chain = $1 and tx_id = $2
           order by log_index desc limit 1), 0), $3, $4, $5, $6, $7, $8
       where not exists (select from sandbox_transfers where request = $8)`,
      [
        ...[transfer.chain, transfer.tx_id, transfer.address, transfer.token],
        ...[transfer.amount, transfer.mined_at, transfer.sender, request],
      ],
    );
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

/** Whether there is a transaction, and whether it transfers this token to this address. */
export async function findSandboxPayment(
  session: Session,
  { chain, tx_id, address, token }: Pick<Transfer, "chain" | "tx_id" | "address" | "token">,
): Promise<{ is_there: boolean; pays: boolean }> {
  const [row] = await session.query<{ is_there: boolean; pays: boolean }>(
    `select exists (select from sandbox_transfers where chain = $1 and tx_id = $2) as is_there,
       exists (select from sandbox_transfers
         where address = $3 and tx_id = $2 and chain = $1 and token = $4) as pays`,
    [chain, tx_id, address, token],
  );
  return row!;
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

/** Of a transaction between wallets: each claim of it reads all of them. */
export const TRANSFERS_MAX = 100;

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
