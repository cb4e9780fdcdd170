import { findContents, type SealedProposal } from "../approvals/store.ts";
import { type InvoiceRow, openInvoices } from "../invoices/store.ts";
import { type OfframpRow, openOfframps } from "../offramps/store.ts";
import { type FiatDepositRow, openDeposits } from "../onramps/deposits/store.ts";
import { type OnrampRow, openOnramps } from "../onramps/store.ts";
import { type PaymentDetailRow, toPaymentDetails } from "../payment-details/store.ts";
import type { Session } from "../platform/db/database.ts";
import { DecryptionError } from "../platform/encryption/cipher.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import { openUsers, type UserRow } from "../users/store.ts";
import { eachPage } from "./each-page.ts";

const PAGE_ROWS = 500;

type Opening<Row> = {
  table:
    | "users"
    | "payment_details"
    | "offramps"
    | "invoices"
    | "onramps"
    | "fiat_deposits"
    | "proposals";
  name: string;
  /** Throws if anything cannot be decrypted. */
  open: (rows: Row[]) => Promise<unknown>;
};

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
  const users: Opening<UserRow> = {
    table: "users",
    name: "user",
    open: (rows) => openUsers(session, keyring, rows),
  };
  const payment_details: Opening<PaymentDetailRow> = {
    table: "payment_details",
    name: "payment detail",
    open: async (rows) => {
      const subjects = rows.map((row) => ({ account_id, subject_id: row.user_id }));
      return toPaymentDetails(rows, await keyring.openSubjects(session, subjects));
    },
  };
  const offramps: Opening<OfframpRow> = {
    table: "offramps",
    name: "offramp",
    open: (rows) => openOfframps(session, keyring, rows),
  };
  const onramps: Opening<OnrampRow> = {
    table: "onramps",
    name: "onramp",
    open: (rows) => openOnramps(session, keyring, rows),
  };
  const deposits: Opening<FiatDepositRow> = {
    table: "fiat_deposits",
    name: "deposit",
    open: (rows) => openDeposits(session, keyring, rows),
  };
  const proposals: Opening<SealedProposal> = {
    table: "proposals",
    name: "proposal",
    open: (rows) => findContents(session, keyring, rows),
  };
  const invoices: Opening<InvoiceRow> = {
    table: "invoices",
    name: "invoice",
    open: (rows) => openInvoices(session, keyring, rows),
  };
  return (
    (await verifyTable(session, account_id, users)) ??
    (await verifyTable(session, account_id, payment_details)) ??
    (await verifyTable(session, account_id, offramps)) ??
    (await verifyTable(session, account_id, invoices)) ??
    (await verifyTable(session, account_id, onramps)) ??
    (await verifyTable(session, account_id, deposits)) ??
    (await verifyTable(session, account_id, proposals))
  );
}

function verifyTable<Row extends { id: string }>(
  session: Session,
  account_id: string,
  { table, name, open }: Opening<Row>,
): Promise<string | null> {
  const is_there = table === "users" ? "and erased_at is null" : "";
  return eachPage<Row>(
    (above_id) =>
      session.query<Row>(
        `select * from ${table} where account_id = $1 and id > $2 ${is_there}
         order by id limit $3`,
        [account_id, above_id, PAGE_ROWS],
      ),
    async (rows) => {
      if (await opens(open, rows)) return null;
      for (const row of rows) {
        if (await opens(open, [row])) continue;
        return `${name} ${row.id} of account ${account_id}: its encrypted data was changed`;
      }
      return null;
    },
  );
}

async function opens<Row>(open: (rows: Row[]) => Promise<unknown>, rows: Row[]): Promise<boolean> {
  try {
    await open(rows);
    return true;
  } catch (error) {
    if (error instanceof DecryptionError) return false;
    throw error;
  }
}
