import type { Session, Transaction } from "../platform/db/database.ts";
import { accountsOf, insertRow, updateRow } from "../platform/db/rows.ts";
import type { Page } from "../platform/http/list.ts";
import { isId } from "../platform/ids.ts";
import { vouchedTable } from "../platform/sealing/vouched-rows.ts";
import type { ApiKey } from "./model.ts";

export const API_KEYS = vouchedTable(
  "api_keys",
  ["account_id", "id"],
  [
    ...["name", "prefix", "last_four", "created_at", "revoked_at", "created_by_person", "scopes"],
    ...["networks", "expires_at"],
  ],
);
export const API_KEY_HASHES = vouchedTable(
  "api_key_hashes",
  ["key_hash"],
  ["account_id", "api_key_id"],
);

export function insertApiKey(tx: Transaction, key: ApiKey, key_hash: Buffer): void {
  const owner = { key_hash, account_id: key.account_id, api_key_id: key.id };
  insertRow(tx, "api_keys", API_KEYS.withMacs(tx, [key])[0]!);
  insertRow(tx, "api_key_hashes", API_KEY_HASHES.withMacs(tx, [owner])[0]!);
}

/** With its last use, to about ten minutes. */
export type UsedKey = ApiKey & { used_at: Date | null };

export function listApiKeys(session: Session): Promise<(UsedKey & { account_name: string })[]> {
  return session.query(
    `select api_keys.*, used_at, accounts.name as account_name
     from api_keys join accounts on accounts.id = api_keys.account_id
     left join api_key_uses on api_key_uses.account_id = api_keys.account_id
       and api_key_id = api_keys.id
     order by api_keys.account_id, api_keys.id`,
  );
}

const isActive = (now: string) =>
  `revoked_at is null and (expires_at is null or expires_at > ${now})`;

/**
 * Two reads by key: the second one asks only for the account's own data. A key that was not created
 * here, or changed, is none; nor one that the audit log says is revoked, which an earlier state of
 * its row would not say.
 */
export async function findApiKeyByHash(
  session: Session,
  key_hash: Buffer,
  now: Date,
): Promise<UsedKey | undefined> {
  const [owner] = await session.query<{ account_id: string; api_key_id: string }>(
    "select * from api_key_hashes where key_hash = $1",
    [key_hash],
  );
  if (!owner || API_KEY_HASHES.vouchedOnly(session, [owner]).length === 0) return undefined;
  const keys = await session.query<UsedKey>(
    `select api_keys.*, used_at from api_keys
     left join api_key_uses on api_key_uses.account_id = api_keys.account_id
       and api_key_uses.api_key_id = api_keys.id
     where api_keys.account_id = $1 and api_keys.id = $2 and ${isActive("$3")}
       and not exists (select from audit_entries e where e.account_id = $1
         and e.record = 'api_key:' || api_keys.id and e.action = 'api_key.revoke')`,
    [owner.account_id, owner.api_key_id, now],
  );
  return API_KEYS.vouchedOnly(session, keys)[0];
}

/** The later time counts: several processes write it. */
export async function upsertKeyUse(session: Session, key: ApiKey, used_at: Date): Promise<void> {
  await session.query(
    `insert into api_key_uses (account_id, api_key_id, used_at) values ($1, $2, $3)
     on conflict (account_id, api_key_id) do update
       set used_at = greatest(api_key_uses.used_at, excluded.used_at)`,
    [key.account_id, key.id, used_at],
  );
}

/** Filters keys to those neither revoked nor expired; runs in the transaction of every write. */
export async function findActiveKeys(
  session: Session,
  api_key_ids: string[],
  account_ids: string[],
  now: Date,
): Promise<Set<string>> {
  const accounts = accountsOf(session, account_ids);
  const rows = await session.query<{ id: string }>(
    `select id from api_keys
     where account_id ${accounts.equal} and id = any($2::uuid[]) and ${isActive("$3")}`,
    [accounts.value, api_key_ids, now],
  );
  return new Set(rows.map((row) => row.id));
}

/** Who created these keys, by the key's id; keys created on the command line are left out. */
export async function findKeyCreators(
  session: Session,
  /** Of members' sessions none. */
  credential_ids: readonly string[],
): Promise<Map<string, string>> {
  const key_ids = credential_ids.filter(isId);
  if (key_ids.length === 0) return new Map();
  const rows = await session.query<{ id: string; created_by_person: string }>(
    `select id, created_by_person from api_keys
     where id = any($1::uuid[]) and created_by_person is not null`,
    [key_ids],
  );
  return new Map(rows.map((row) => [row.id, row.created_by_person]));
}

/** The keys of these ids, whoever owns them. */
export function listApiKeysById(session: Session, ids: readonly string[]): Promise<ApiKey[]> {
  if (ids.length === 0) return Promise.resolve([]);
  return session.query<ApiKey>("select * from api_keys where id = any($1::uuid[])", [ids]);
}

/** Of this account, or of whichever if none is given. Fails if somebody changed the key. */
export async function lockApiKey(
  tx: Session,
  id: string,
  of_account?: string,
): Promise<ApiKey | undefined> {
  const account_id = of_account ?? (await listApiKeysById(tx, [id]))[0]?.account_id;
  if (account_id === undefined) return undefined;
  const keys = await tx.query<ApiKey>(
    "select * from api_keys where account_id = $1 and id = $2 for update",
    [account_id, id],
  );
  return API_KEYS.assertVouched(tx, keys)[0];
}

export function updateApiKeyRevoked(tx: Transaction, key: ApiKey, revoked_at: Date): void {
  updateApiKey(tx, { ...key, revoked_at });
}

export function updateApiKeyExpiry(tx: Transaction, key: ApiKey, expires_at: Date): void {
  updateApiKey(tx, { ...key, expires_at });
}

function updateApiKey(tx: Transaction, key: ApiKey): void {
  const { account_id, id, revoked_at, expires_at, mac } = API_KEYS.withMacs(tx, [key])[0]!;
  updateRow(tx, "api_keys", { account_id, id }, { revoked_at, expires_at, mac });
}

export function listApiKeysOfAccount(
  session: Session,
  account_id: string,
  { below_id, from_id, limit }: Page,
): Promise<UsedKey[]> {
  return session.query<UsedKey>(
    `select api_keys.*, used_at from api_keys
     left join api_key_uses on api_key_uses.account_id = api_keys.account_id
       and api_key_id = id
     where api_keys.account_id = $1 and id < $2 and id >= $3 order by id desc limit $4`,
    [account_id, below_id, from_id, limit + 1],
  );
}

/** The keys that work and that this person created: whoever created a key has seen it. */
export function listKeysCreatedBy(
  session: Session,
  { account_id, person_id }: { account_id: string; person_id: string },
  now: Date,
): Promise<ApiKey[]> {
  return session.query<ApiKey>(
    `select * from api_keys
     where account_id = $1 and created_by_person = $2 and ${isActive("$3")} order by id`,
    [account_id, person_id, now],
  );
}

/** Who created keys of an account, also those who are no longer members. */
export function listCreators(
  session: Session,
  account_id: string,
  person_ids: readonly string[],
): Promise<{ person_id: string; email: Buffer; is_member: boolean }[]> {
  return session.query(
    `select p.id as person_id, p.email, exists (
       select from members m where m.account_id = $1 and m.person_id = p.id) as is_member
     from people p where p.id = any($2::uuid[])`,
    [account_id, person_ids],
  );
}
