import { findContents } from "../approvals/store.ts";
import { openInvoices } from "../invoices/store.ts";
import { openOfframps } from "../offramps/store.ts";
import { openDeposits } from "../onramps/deposits/store.ts";
import { openOnramps } from "../onramps/store.ts";
import { type PaymentDetailRow, toPaymentDetails } from "../payment-details/store.ts";
import type { Session } from "../platform/db/database.ts";
import { DecryptionError } from "../platform/encryption/cipher.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import { openTravelRecords } from "../travel/store.ts";
import { openUsers } from "../users/store.ts";
import { eachPage } from "./checks.ts";

/**
 * Encrypted values are not part of any digest, since a rotation must not break the chains. They are
 * authenticated instead: an altered value, or one moved from another row, cannot be decrypted. Data
 * of erased people cannot be decrypted at all.
 */
export async function verifyDetails(
  session: Session,
  keyring: Keyring,
  account_id: string,
): Promise<string | null> {
  type Open<Row> = (rows: Row[]) => Promise<unknown>;
  const check = <Row extends { id: string }>(table: string, name: string, open: Open<Row>) =>
    eachPage<Row>(
      session,
      account_id,
      `select * from ${table} where account_id = $1 and id > $2
         ${table === "users" ? "and erased_at is null" : ""} order by id limit $3`,
      async (rows) => {
        if (await opens(open, rows)) return null;
        for (const row of rows) {
          if (await opens(open, [row])) continue;
          return `${name} ${row.id} of account ${account_id}: its encrypted data was changed`;
        }
        return null;
      },
    );
  const openDetails: Open<PaymentDetailRow> = async (rows) => {
    return toPaymentDetails(rows, await keyring.openUserKeys(session, rows));
  };
  const open =
    <Row>(openRows: (session: Session, keyring: Keyring, rows: Row[]) => Promise<unknown>) =>
    (rows: Row[]) =>
      openRows(session, keyring, rows);
  return (
    (await check("users", "user", open(openUsers))) ??
    (await check("payment_details", "payment detail", openDetails)) ??
    (await check("offramps", "offramp", open(openOfframps))) ??
    (await check("invoices", "invoice", open(openInvoices))) ??
    (await check("onramps", "onramp", open(openOnramps))) ??
    (await check("travel_records", "travel record", open(openTravelRecords))) ??
    (await check("fiat_deposits", "deposit", open(openDeposits))) ??
    (await check("proposals", "proposal", open(findContents)))
  );
}

/** Whether nothing of the rows was changed: else something cannot be decrypted. */
async function opens<Row>(open: (rows: Row[]) => Promise<unknown>, rows: Row[]): Promise<boolean> {
  try {
    await open(rows);
    return true;
  } catch (error) {
    if (error instanceof DecryptionError) return false;
    throw error;
  }
}
