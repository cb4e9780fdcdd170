import type { Session, Transaction } from "../platform/db/database.ts";
import type { RecordKey } from "../platform/db/rows.ts";
import { keyedHash } from "../platform/encryption/cipher.ts";
import type { AccountKeys } from "../platform/encryption/keyring.ts";
import { sealedText } from "../platform/encryption/sealed-column.ts";
import { normaliseEmail } from "./person-email.ts";

type BillingEmailRow = {
  account_id: string;
  email: Buffer;
  email_index: Buffer;
  verified_at: Date | null;
};

const EMAIL = sealedText("billing_emails", "email");

/** Finds the account of an e-mail address across accounts without storing the address. */
export function hashBillingEmail(index_key: Buffer, email: string): Buffer {
  return keyedHash(index_key, "billing email", normaliseEmail(email));
}

/** An account has one billing e-mail; setting it again replaces it. */
export function insertBillingEmail(
  tx: Transaction,
  account_key: Buffer,
  input: { account_id: string; email: string; email_index: Buffer },
  now: Date,
): void {
  const { account_id, email, email_index } = input;
  const sealed = EMAIL.seal(account_key, emailKey(account_id), normaliseEmail(email));
  tx.write(
    `insert into billing_emails (account_id, email, email_index, verified_at, created_at)
     values ($1, $2, $3, $4, $4)
     on conflict (account_id) do update set email = excluded.email,
       email_index = excluded.email_index, verified_at = excluded.verified_at,
       created_at = excluded.created_at`,
    [account_id, sealed, email_index, now],
  );
}

/** The accounts that own these verified addresses, by the address's hash in base64. */
export async function findBilledAccounts(
  session: Session,
  email_indexes: readonly Buffer[],
): Promise<Map<string, string>> {
  const rows = await session.query<BillingEmailRow>(
    `select account_id, email_index from billing_emails
     where email_index = any($1::bytea[]) and verified_at is not null`,
    [email_indexes],
  );
  return new Map(rows.map((row) => [row.email_index.toString("base64"), row.account_id]));
}

/** The hash of an account's own verified address. */
export async function findBillingIndex(
  session: Session,
  account_id: string,
): Promise<Buffer | undefined> {
  const [row] = await session.query<BillingEmailRow>(
    "select email_index from billing_emails where account_id = $1 and verified_at is not null",
    [account_id],
  );
  return row?.email_index;
}

/** The name and billing e-mail of accounts; the e-mail is null when none is set. */
export async function findBillingProfiles(
  session: Session,
  account_ids: readonly string[],
): Promise<BillingProfileRow[]> {
  return session.query<BillingProfileRow>(
    `select accounts.id as account_id, accounts.name, billing_emails.email
     from accounts left join billing_emails on billing_emails.account_id = accounts.id
     where accounts.id = any($1::uuid[])`,
    [account_ids],
  );
}

type BillingProfileRow = { account_id: string; name: string; email: Buffer | null };
export type BillingProfile = { account_id: string; name: string; email: string | null };

export function toProfiles(
  rows: readonly BillingProfileRow[],
  keys: AccountKeys,
): Map<string, BillingProfile> {
  return new Map(
    rows.map(({ account_id, name, email }) => {
      const key = keys.get(account_id);
      const opened = email && key ? EMAIL.open(key, emailKey(account_id), email) : null;
      return [account_id, { account_id, name, email: opened }];
    }),
  );
}

/** An account has one, which has no id of its own. */
function emailKey(account_id: string): RecordKey {
  return { account_id, id: account_id };
}
