import type { Chain } from "../../catalogue/chains.ts";
import type { Session, Transaction } from "../../platform/db/database.ts";
import { insertRows, setOf } from "../../platform/db/rows.ts";
import type { TrackedTransaction } from "../model.ts";
import type { InvoiceKey } from "../store.ts";
import type { PaymentClaim } from "./claim-model.ts";

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

/** The claims of all accounts that name this transaction. */
export function listClaims(session: Session, chain: Chain, tx_id: string): Promise<PaymentClaim[]> {
  return session.query<PaymentClaim>(
    `select ${COLUMNS} from invoice_claims where chain = $1 and tx_id = $2`,
    [chain, tx_id],
  );
}

/**
 * Uses a transfer for this invoice; false when it already paid one in this installation. Its
 * sender's signature counts more than what another account's seller says of a transfer.
 */
export async function insertUsedTransfer(
  session: Session,
  invoice: InvoiceKey,
  { chain, tx_id, log_index }: TrackedTransaction,
  is_proven: boolean,
): Promise<boolean> {
  const rows = await session.query(
    `insert into invoice_transfers (chain, tx_id, log_index, account_id, invoice_id, is_proven)
     values ($1, $2, $3, $4, $5, $6)
     on conflict (chain, tx_id, log_index) do update
       set account_id = excluded.account_id, invoice_id = excluded.invoice_id, is_proven = true
       where excluded.is_proven and not invoice_transfers.is_proven
         and invoice_transfers.account_id <> excluded.account_id
     returning log_index`,
    [chain, tx_id, log_index, invoice.account_id, invoice.id, is_proven],
  );
  return rows.length > 0;
}

/** Which transfers of a transaction have paid an invoice of this installation. */
export function listUsedTransfers(
  session: Session,
  chain: Chain,
  tx_id: string,
): Promise<{ log_index: number; invoice_id: string }[]> {
  return session.query(
    "select log_index, invoice_id from invoice_transfers where chain = $1 and tx_id = $2",
    [chain, tx_id],
  );
}
