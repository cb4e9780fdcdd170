import type { Session, Transaction } from "../platform/db/database.ts";
import { insertRow, insertRows, updateRow } from "../platform/db/rows.ts";
import type { ApiKey } from "./model.ts";

export function insertApiKey(tx: Transaction, key: ApiKey, key_hash: Buffer): void {
  const columns = `account_id uuid, id uuid, name text, prefix text, last_four text,
    created_by_person uuid, created_at timestamptz`;
  insertRows(tx, "api_keys", columns, [key]);
  insertRow(tx, "api_key_hashes", { key_hash, account_id: key.account_id, api_key_id: key.id });
}

export function listApiKeys(session: Session): Promise<(ApiKey & { account_name: string })[]> {
  return session.query(
    `select api_keys.*, accounts.name as account_name
     from api_keys join accounts on accounts.id = api_keys.account_id
     order by api_keys.account_id, api_keys.id`,
  );
}

export async function findApiKeyByHash(
  session: Session,
  key_hash: Buffer,
): Promise<ApiKey | undefined> {
  const [key] = await session.query<ApiKey>(
    `select api_keys.* from api_key_hashes
     join api_keys on api_keys.account_id = api_key_hashes.account_id
       and api_keys.id = api_key_hashes.api_key_id
     where key_hash = $1 and revoked_at is null`,
    [key_hash],
  );
  return key;
}

/** Filters keys to those not revoked; runs in the transaction of every write. */
export async function findActiveKeys(
  session: Session,
  api_key_ids: string[],
  account_ids: string[],
): Promise<Set<string>> {
  const rows = await session.query<{ id: string }>(
    `select id from api_keys
     where account_id = any($1::uuid[]) and id = any($2::uuid[]) and revoked_at is null`,
    [account_ids, api_key_ids],
  );
  return new Set(rows.map((row) => row.id));
}

/** Who created these keys, by the key's id; keys created on the command line are left out. */
export async function findKeyCreators(
  session: Session,
  api_key_ids: readonly string[],
): Promise<Map<string, string>> {
  if (api_key_ids.length === 0) return new Map();
  const rows = await session.query<{ id: string; created_by_person: string }>(
    `select id, created_by_person from api_keys
     where id = any($1::uuid[]) and created_by_person is not null`,
    [api_key_ids],
  );
  return new Map(rows.map((row) => [row.id, row.created_by_person]));
}

/** The keys of these ids, whoever owns them. */
export function listApiKeysById(session: Session, ids: readonly string[]): Promise<ApiKey[]> {
  if (ids.length === 0) return Promise.resolve([]);
  return session.query<ApiKey>("select * from api_keys where id = any($1::uuid[])", [ids]);
}

export async function lockApiKey(tx: Session, id: string): Promise<ApiKey | undefined> {
  const [key] = await tx.query<ApiKey>("select * from api_keys where id = $1 for update", [id]);
  return key;
}

export function updateApiKeyRevoked(tx: Transaction, key: ApiKey, revoked_at: Date): void {
  const { account_id, id } = key;
  updateRow(tx, "api_keys", { account_id, id }, { revoked_at });
}

export function listApiKeysOfAccount(
  session: Session,
  account_id: string,
  limit: number,
): Promise<ApiKey[]> {
  return session.query<ApiKey>(
    "select * from api_keys where account_id = $1 order by id desc limit $2",
    [account_id, limit],
  );
}
