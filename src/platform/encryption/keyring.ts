import { randomBytes } from "node:crypto";
import { AccountMap } from "../account-map.ts";
import type { Session, Transaction } from "../db/database.ts";
import { accountsOf, insertRow, insertRows, perAccount } from "../db/rows.ts";
import { LruMap } from "../lru-map.ts";
import { KEY_BYTES, open, type Place, seal } from "./cipher.ts";
import type { MasterKeys } from "./key-port.ts";
import { ACCOUNT_KEY_VERSION } from "./local-keys.ts";

/** A person whose data is encrypted with their own key. */
type Subject = { account_id: string; subject_id: string };

/** Whom a record's data belongs to: a subject, or the account as such. */
type Owner = { account_id: string; subject_id: string | null };

/** Undefined for an erased subject. */
type OwnerKeys = (owner: Owner) => Buffer | undefined;

/** Unwraps keys on demand and caches the recently used ones in memory. */
export type Keyring = {
  /** The data keys of these subjects; erased subjects are missing. */
  openSubjects(session: Session, subjects: readonly Subject[]): Promise<SubjectKeys>;
  /** The same for users: most subjects are. */
  openUserKeys(session: Session, users: readonly UserKey[]): Promise<SubjectKeys>;
  /** The keys of the accounts that these belong to. */
  openAccounts(session: Session, owned: readonly { account_id: string }[]): Promise<AccountKeys>;
  openAccount(session: Session, account_id: string): Promise<Buffer>;
  /** The key of each record: its subject's, or its account's if it is about nobody. */
  openOwners(session: Session, owners: readonly Owner[]): Promise<OwnerKeys>;
  createAccount(tx: Transaction, account_id: string, now: Date): Promise<void>;
  /** Deletes the subject's key: data encrypted with it can never be read again. */
  eraseSubject(tx: Transaction, subject: Subject): void;
  /** Drops people's keys from memory: another process may have erased a person. */
  forgetSubjects(): void;
};

type UserKey = { account_id: string; user_id: string };

export type SubjectKeys = AccountMap<Buffer>;
export type AccountKeys = ReadonlyMap<string, Buffer>;

/** Keys that are not cached are requested from the key service again. */
const ACCOUNTS_CACHED_MAX = 10_000;
const SUBJECTS_CACHED_MAX = 50_000;

export function createKeyring(masters: MasterKeys): Keyring {
  const subject_keys = new LruMap<string, Buffer>(SUBJECTS_CACHED_MAX);
  const openAccounts = createOpenAccounts(masters);
  let forgotten = 0;

  const openSubjects: Keyring["openSubjects"] = async (session, subjects) => {
    const found = new AccountMap<Buffer>();
    const missing: Subject[] = [];
    for (const subject of subjects) {
      const cached = subject_keys.get(cacheName(subject));
      if (cached) found.set(subject.account_id, subject.subject_id, cached);
      else missing.push(subject);
    }
    if (missing.length === 0) return found;
    const forgotten_before = forgotten;
    const [rows, wrapping_keys] = await Promise.all([
      perAccount(session, missing, (subjects) => listSubjectKeys(session, subjects)),
      openAccounts(session, missing),
    ]);
    for (const row of rows) {
      const key = open(wrapping_keys.get(row.account_id)!, subjectPlace(row), row.wrapped);
      // A key read before its person was erased must not be cached afterwards.
      if (forgotten === forgotten_before) subject_keys.set(cacheName(row), key);
      found.set(row.account_id, row.subject_id, key);
    }
    return found;
  };

  return {
    openAccounts,
    openAccount: async (session, account_id) =>
      (await openAccounts(session, [{ account_id }])).get(account_id)!,
    openOwners: async (session, owners) => {
      const subjects = owners.filter((owner): owner is Subject => owner.subject_id !== null);
      const [subject_keys, account_keys] = await Promise.all([
        openSubjects(session, subjects),
        openAccounts(session, owners),
      ]);
      return ({ account_id, subject_id }) =>
        subject_id === null
          ? account_keys.get(account_id)
          : subject_keys.get(account_id, subject_id);
    },
    openUserKeys: (session, users) =>
      openSubjects(
        session,
        users.map(({ account_id, user_id }) => ({ account_id, subject_id: user_id })),
      ),
    openSubjects,
    eraseSubject: (tx, { account_id, subject_id }) => {
      subject_keys.delete(cacheName({ account_id, subject_id }));
      tx.write("delete from subject_keys where account_id = $1 and subject_id = $2", [
        account_id,
        subject_id,
      ]);
      tx.write("update installation set erasures = erasures + 1", []);
    },
    forgetSubjects: () => {
      forgotten += 1;
      subject_keys.clear();
    },
    createAccount: async (tx, account_id, now) => {
      // The share lock makes a rotation and this transaction wait for each other: the key is
      // wrapped with the master key that the installation names now, never with one about to be
      // dropped.
      const [row] = await tx.query<{ master_key_id: string }>(
        "select master_key_id from installation for share",
      );
      const { master_key_id } = row!;
      const place = accountPlace(account_id);
      const wrapped = await masters.wrap(master_key_id, place, randomBytes(KEY_BYTES));
      const key = { account_id, version: ACCOUNT_KEY_VERSION, master_key_id, wrapped };
      insertRow(tx, "account_keys", { ...key, created_at: now });
    },
  };
}

/** Account keys are never erased: they can stay cached. */
function createOpenAccounts(masters: MasterKeys): Keyring["openAccounts"] {
  const cache = new LruMap<string, Buffer>(ACCOUNTS_CACHED_MAX);
  return async (session, owned) => {
    const found = new Map<string, Buffer>();
    const missing: { account_id: string }[] = [];
    for (const id of new Set(owned.map(({ account_id }) => account_id))) {
      const cached = cache.get(id);
      if (cached) found.set(id, cached);
      else missing.push({ account_id: id });
    }
    if (missing.length === 0) return found;
    const rows = await perAccount(session, missing, (some) => listAccountKeys(session, some));
    const unwrapped = rows.map(async ({ account_id, master_key_id, wrapped }) => {
      const key = await masters.unwrap(master_key_id, accountPlace(account_id), wrapped);
      cache.set(account_id, key);
      found.set(account_id, key);
    });
    await Promise.all(unwrapped);
    return found;
  };
}

type WrappedSubjectKey = Subject & { wrapped: Buffer };

function listSubjectKeys(
  session: Session,
  subjects: readonly Subject[],
): Promise<WrappedSubjectKey[]> {
  const accounts = accountsOf(session, subjects);
  return session.query<WrappedSubjectKey>(
    `select account_id, subject_id, wrapped from subject_keys
     where account_id ${accounts.equal} and subject_id = any($2::uuid[])`,
    [accounts.value, subjects.map(({ subject_id }) => subject_id)],
  );
}

function listAccountKeys(
  session: Session,
  owned: readonly { account_id: string }[],
): Promise<WrappedAccountKey[]> {
  const accounts = accountsOf(session, owned);
  return session.query<WrappedAccountKey>(
    `select account_id, master_key_id, wrapped from account_keys
     where account_id ${accounts.equal} and version = $2`,
    [accounts.value, ACCOUNT_KEY_VERSION],
  );
}

/** Creates a key for each new subject; they exist once the transaction commits. */
export function createSubjectKeys(
  tx: Transaction,
  account_keys: AccountKeys,
  subjects: readonly (Subject & { key: Buffer })[],
  now: Date,
): void {
  const rows = subjects.map(({ account_id, subject_id, key }) => {
    const place = subjectPlace({ account_id, subject_id });
    const wrapped = seal(account_keys.get(account_id)!, ACCOUNT_KEY_VERSION, place, key);
    return {
      account_id,
      subject_id,
      account_key_version: ACCOUNT_KEY_VERSION,
      wrapped,
      created_at: now,
    };
  });
  const columns = `account_id uuid, subject_id uuid, account_key_version int, wrapped bytea,
    created_at timestamptz`;
  insertRows(tx, "subject_keys", columns, rows);
}

/** Wraps an account's key again, for a rotation of the master key. */
export async function rewrapAccountKey(
  masters: MasterKeys,
  { account_id, master_key_id, wrapped }: WrappedAccountKey,
  to: string,
): Promise<Buffer> {
  const place = accountPlace(account_id);
  return masters.wrap(to, place, await masters.unwrap(master_key_id, place, wrapped));
}

export type WrappedAccountKey = { account_id: string; master_key_id: string; wrapped: Buffer };

function cacheName({ account_id, subject_id }: Subject): string {
  return `${account_id} ${subject_id}`;
}

function accountPlace(account_id: string): Place {
  return { account_id, table: "account_keys", column: "wrapped", record_id: account_id };
}

function subjectPlace({ account_id, subject_id }: Subject): Place {
  return { account_id, table: "subject_keys", column: "wrapped", record_id: subject_id };
}
