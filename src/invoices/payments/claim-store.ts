import type { Chain } from "../../catalogue/chains.ts";
import type { Session, Transaction } from "../../platform/db/database.ts";
import { columnsOf, insertRows, setOf } from "../../platform/db/rows.ts";
import type { TrackedTransaction } from "../model.ts";
import type { InvoiceKey } from "../store.ts";
import { type PaymentClaim, type TransferUsers, transferName } from "./claim-model.ts";

const COLUMNS = "account_id, invoice_id, chain, tx_id, expires_at";

export function insertClaims(tx: Transaction, claims: readonly PaymentClaim[]): void {
  const columns =
    "account_id uuid, invoice_id uuid, chain text, tx_id text, expires_at timestamptz";
  insertRows(tx, "invoice_claims", columns, claims);
}

export function deleteClaims(tx: Transaction, keys: readonly InvoiceKey[]): void {
  if (keys.length === 0) return;
  const set = setOf(tx, "t", "account_id uuid, id uuid", keys);
  tx.write(
    `delete from invoice_claims c using ${set.from}
     where c.account_id = t.account_id and c.invoice_id = t.id`,
    set.values,
  );
}

/** The claim of an invoice that still waits for the chain. */
export async function findClaim(
  session: Session,
  key: InvoiceKey,
): Promise<PaymentClaim | undefined> {
  const [claim] = await session.query<PaymentClaim>(
    `select ${COLUMNS} from invoice_claims where account_id = $1 and invoice_id = $2`,
    [key.account_id, key.id],
  );
  return claim;
}

/** How many claims that already show a transfer are checked when the sandbox adds another one. */
const SHOWING_CHECKED_MAX = 100;

/**
 * The claims of all accounts that name this transaction and wait for it, and some of those that
 * show another transfer of it.
 */
export async function listClaims(
  session: Session,
  chain: Chain,
  tx_id: string,
): Promise<PaymentClaim[]> {
  const claims = `select ${COLUMNS} from invoice_claims where chain = $1 and tx_id = $2`;
  const found = await Promise.all([
    session.query<PaymentClaim>(`${claims} and log_index is null`, [chain, tx_id]),
    session.query<PaymentClaim>(
      `${claims} and log_index is not null limit ${SHOWING_CHECKED_MAX}`,
      [chain, tx_id],
    ),
  ]);
  return found.flat();
}

/** The invoices of all accounts that claim this transaction and show this transfer of it. */
export function listShowing(
  session: Session,
  { chain, tx_id, log_index }: TrackedTransaction,
): Promise<InvoiceKey[]> {
  // -1: claims from before the transfer was noted.
  return session.query<InvoiceKey>(
    `select account_id, invoice_id as id from invoice_claims
     where chain = $1 and tx_id = $2 and log_index in ($3, -1)`,
    [chain, tx_id, log_index],
  );
}

/** Notes which transfer of the claimed transaction the invoice shows. */
export function updateShown(tx: Transaction, { account_id, id }: InvoiceKey, log_index: number) {
  tx.write("update invoice_claims set log_index = $3 where account_id = $1 and invoice_id = $2", [
    account_id,
    id,
    log_index,
  ]);
}

/** Until the commit nobody else decides about a transfer of this transaction. */
export async function lockTransaction(tx: Transaction, chain: Chain, tx_id: string): Promise<void> {
  await tx.query("select pg_advisory_xact_lock(hashtextextended($1, 0))", [
    `invoice transfers ${chain} ${tx_id}`,
  ]);
}

type UsedTransfer = { account_id: string; invoice_id: string; is_proven: boolean };

/**
 * Uses a transfer for this invoice; null when it already paid one in this installation. Its
 * sender's signature counts more than what another account's seller says of a transfer: `loser` is
 * the invoice that it is taken from.
 */
export async function upsertUsedTransfer(
  session: Session,
  invoice: InvoiceKey,
  { chain, tx_id, log_index }: TrackedTransaction,
  is_proven: boolean,
): Promise<{ loser: InvoiceKey | null } | null> {
  const key = [chain, tx_id, log_index];
  const inserted = await session.query(
    `insert into invoice_transfers (chain, tx_id, log_index, account_id, invoice_id, is_proven)
     values ($1, $2, $3, $4, $5, $6)
     on conflict (chain, tx_id, log_index) do nothing returning log_index`,
    [...key, invoice.account_id, invoice.id, is_proven],
  );
  if (inserted.length > 0) return { loser: null };
  if (!is_proven) return null;
  const [used] = await session.query<UsedTransfer>(
    `select account_id, invoice_id, is_proven from invoice_transfers
     where chain = $1 and tx_id = $2 and log_index = $3 for update`,
    key,
  );
  if (!used || !mayTake(invoice, used, is_proven)) return null;
  await session.query(
    `update invoice_transfers set account_id = $4, invoice_id = $5, is_proven = true
     where chain = $1 and tx_id = $2 and log_index = $3`,
    [...key, invoice.account_id, invoice.id],
  );
  return { loser: { account_id: used.account_id, id: used.invoice_id } };
}

/** Whether an invoice may use a transfer that another one has used. */
export function mayTake(
  { account_id }: Pick<InvoiceKey, "account_id">,
  used: UsedTransfer,
  is_proven: boolean,
): boolean {
  return is_proven && !used.is_proven && used.account_id !== account_id;
}

/** Which invoice has used each of the transfers. */
export async function findTransferUsers(
  session: Session,
  transfers: readonly TrackedTransaction[],
): Promise<TransferUsers> {
  if (transfers.length === 0) return new Map();
  const rows = await session.query<{
    chain: string;
    tx_id: string;
    log_index: number;
    invoice_id: string;
  }>(
    `select chain, tx_id, log_index, invoice_id from invoice_transfers
     where (chain, tx_id, log_index) in (select * from unnest($1::text[], $2::text[], $3::int[]))`,
    columnsOf(transfers, "chain", "tx_id", "log_index"),
  );
  return new Map(rows.map((row) => [transferName(row), row.invoice_id]));
}

/** Which transfers of a transaction have paid an invoice of this installation. */
export function listUsedTransfers(
  session: Session,
  chain: Chain,
  tx_id: string,
): Promise<(UsedTransfer & { log_index: number })[]> {
  return session.query(
    `select log_index, account_id, invoice_id, is_proven from invoice_transfers
     where chain = $1 and tx_id = $2`,
    [chain, tx_id],
  );
}
