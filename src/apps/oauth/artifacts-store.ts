import type { Role } from "../../accounts/model.ts";
import type { Session, Transaction } from "../../platform/db/database.ts";
import {
  distinctSetOf,
  findRow,
  findRows,
  insertRow,
  perAccount,
  type RecordKey,
} from "../../platform/db/rows.ts";

/** A code, token, consent or session of the OAuth server. */
export type ArtifactRow = {
  model: string;
  id_hash: Buffer;
  payload: Buffer;
  grant_id: string | null;
  uid: string | null;
  app_id: string | null;
  account_id: string | null;
  person_id: string | null;
  consumed_at: Date | null;
  expires_at: Date;
};

/** With the account of its application. */
const STORED = `select artifact.*, app_ids.account_id as app_account_id
  from oauth_artifacts artifact left join app_ids on app_ids.id = artifact.app_id`;
const HAS_CONSENT = `(artifact.grant_id is null or exists (
  select from oauth_artifacts consent
  where consent.model = 'Grant' and consent.grant_id = artifact.grant_id))`;

type StoredArtifact = ArtifactRow & { app_account_id: string | null };

/** Saving again keeps `consumed_at`: a used code stays used. */
export async function insertArtifact(session: Session, row: ArtifactRow): Promise<void> {
  await session.query(
    `insert into oauth_artifacts
       (model, id_hash, payload, grant_id, uid, app_id, account_id, person_id, expires_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
     on conflict (model, id_hash) do update
       set payload = excluded.payload, grant_id = excluded.grant_id, uid = excluded.uid,
         app_id = excluded.app_id, account_id = excluded.account_id,
         person_id = excluded.person_id, expires_at = excluded.expires_at`,
    [
      row.model,
      row.id_hash,
      row.payload,
      row.grant_id,
      row.uid,
      row.app_id,
      row.account_id,
      row.person_id,
      row.expires_at,
    ],
  );
}

/** With the current role of the person in the account. */
export type FoundArtifact = StoredArtifact & { role: Role | null };

/**
 * Filters to valid artifacts: the application still exists, and so do the consent it belongs to
 * (HAS_CONSENT) and the person's membership. Whoever deletes the membership deletes the consents
 * and everything that depends on them (`deleteMember`): else another consent after their return
 * revived them. The accounts of the application and of the person may be on different servers.
 */
async function listValid<Row extends StoredArtifact>(
  session: Session,
  rows: readonly Row[],
  redirect_uri?: string,
): Promise<(Row & { role: Role | null })[]> {
  const apps = rows.flatMap(({ app_account_id, app_id }) =>
    app_account_id && app_id ? [{ account_id: app_account_id, id: app_id }] : [],
  );
  const people = rows.flatMap(({ account_id, person_id }) =>
    account_id && person_id ? [{ account_id, person_id }] : [],
  );
  const granted = rows.flatMap(({ account_id, app_id, person_id }) =>
    account_id && app_id && person_id ? [{ account_id, app_id, person_id }] : [],
  );
  const [live_apps, grants, members] = await Promise.all([
    listLiveApps(session, apps),
    listGrants(session, granted),
    listRoles(session, people),
  ]);
  const grant_of = new Map(grants.map((grant) => [grantKey(grant), grant]));
  const roles = new Map(members.map((row) => [`${row.account_id} ${row.person_id}`, row.role]));
  return rows
    .filter((row) => {
      const grant = grant_of.get(grantKey(row));
      const has_app = row.app_id === null || live_apps.has(row.app_id);
      const has_grant = row.grant_id === null || grant !== undefined;
      const is_told = redirect_uri === undefined || grant?.redirect_uri === redirect_uri;
      return has_app && has_grant && is_told;
    })
    .map((row) => ({ ...row, role: roles.get(`${row.account_id} ${row.person_id}`) ?? null }));
}

async function listLiveApps(session: Session, keys: readonly RecordKey[]): Promise<Set<string>> {
  const rows = await findRows<RecordKey & { deleted_at: Date | null }>(session, "apps", keys);
  return new Set(rows.filter((app) => app.deleted_at === null).map((app) => app.id));
}

type GrantKey = { account_id: string; app_id: string; person_id: string };

function grantKey(row: Readonly<Record<keyof GrantKey, string | null>>): string {
  return `${row.account_id} ${row.app_id} ${row.person_id}`;
}

function listGrants(
  session: Session,
  keys: readonly GrantKey[],
): Promise<(GrantKey & { redirect_uri: string | null })[]> {
  return perAccount(session, keys, (own) => {
    const columns = "account_id uuid, app_id uuid, person_id uuid";
    const wanted = distinctSetOf(session, "wanted", columns, own);
    return session.query(
      `select account_id, app_id, person_id, redirect_uri
       from app_grants join ${wanted.from} using (account_id, app_id, person_id)
       where revoked_at is null`,
      wanted.values,
    );
  });
}

function listRoles(
  session: Session,
  keys: readonly { account_id: string; person_id: string }[],
): Promise<{ account_id: string; person_id: string; role: Role }[]> {
  return perAccount(session, keys, (own) => {
    const wanted = distinctSetOf(session, "wanted", "account_id uuid, person_id uuid", own);
    return session.query(
      `select account_id, person_id, role
       from members join ${wanted.from} using (account_id, person_id)`,
      wanted.values,
    );
  });
}

/** By the hash of its id, or by its uid. */
export async function findArtifact(
  session: Session,
  model: string,
  key: Buffer | string,
  now: Date,
): Promise<FoundArtifact | undefined> {
  const column = typeof key === "string" ? "uid" : "id_hash";
  const rows = await session.query<StoredArtifact>(
    `${STORED} where model = $1 and ${column} = $2 and expires_at > $3 and ${HAS_CONSENT}`,
    [model, key, now],
  );
  return (await listValid(session, rows))[0];
}

/** True for the first use only; the time of the first use is kept. */
export async function updateArtifactConsumed(
  session: Session,
  model: string,
  id_hash: Buffer,
  now: Date,
): Promise<boolean> {
  const rows = await session.query(
    `update oauth_artifacts set consumed_at = $3
     where model = $1 and id_hash = $2 and consumed_at is null returning model`,
    [model, id_hash, now],
  );
  return rows.length > 0;
}

export async function deleteArtifact(
  session: Session,
  model: string,
  id_hash: Buffer,
): Promise<void> {
  await session.query("delete from oauth_artifacts where model = $1 and id_hash = $2", [
    model,
    id_hash,
  ]);
}

/** How many artifacts are deleted at once: an application may have got millions. */
const DELETED_AT_ONCE_MAX = 1_000;

/**
 * Those of a consent that ends: without it they are not valid, and what is left is deleted when it
 * expires. Without waiting: the library deletes those of several models at once.
 */
export async function deleteArtifactsOfGrant(
  session: Session,
  model: string,
  grant_id: string,
): Promise<void> {
  await session.query(
    `delete from oauth_artifacts where (model, id_hash) in (
       select model, id_hash from oauth_artifacts where grant_id = $2 and model = $1
       limit $3 for update skip locked)`,
    [model, grant_id, DELETED_AT_ONCE_MAX],
  );
}

/** The consent that a code or token depends on. */
export async function findGrantOf(
  session: Session,
  model: string,
  id_hash: Buffer,
): Promise<string | null> {
  const row = await findRow<ArtifactRow>(session, "oauth_artifacts", { model, id_hash });
  return row?.grant_id ?? null;
}

/** The latest consent of a person to an application for one account and redirect URI. */
export async function findGrantId(
  session: Session,
  consent: RememberedConsent & { account_id: string },
  now: Date,
): Promise<string | undefined> {
  const rows = await session.query<StoredArtifact>(
    `${REMEMBERED} and artifact.account_id = $4
     order by artifact.expires_at desc limit ${REMEMBERED_MAX}`,
    [consent.person_id, consent.app_id, now, consent.account_id],
  );
  const [found] = await listValid(session, rows, consent.redirect_uri);
  return found?.grant_id ?? undefined;
}

type RememberedConsent = { app_id: string; person_id: string; redirect_uri: string };
const REMEMBERED = `${STORED}
  where artifact.model = 'Grant' and artifact.person_id = $1 and artifact.app_id = $2
    and artifact.expires_at > $3 and ${HAS_CONSENT}`;
/** A person has one in an account, besides those that another consent has just replaced. */
const REMEMBERED_MAX = 1_000;

/**
 * The grant by which a person is sent back without a page: they were told this redirect URI when
 * they consented. Of several accounts, the one that this browser chose last comes first.
 */
export async function findRememberedGrantId(
  session: Session,
  consent: RememberedConsent,
  last_grant_id: string | undefined,
  now: Date,
): Promise<string | undefined> {
  const rows = await session.query<StoredArtifact>(
    `${REMEMBERED} order by artifact.grant_id is not distinct from $4 desc,
       artifact.expires_at desc limit ${REMEMBERED_MAX}`,
    [consent.person_id, consent.app_id, now, last_grant_id ?? null],
  );
  const [found] = await listValid(session, rows, consent.redirect_uri);
  return found?.grant_id ?? undefined;
}

/** An access token with its account and role, besides its sealed payload. */
export type TokenRow = ArtifactRow & {
  app_account_id: string;
  /** The person's role in the granting account; null for client credentials. */
  role: Role | null;
};

/** The token of a person (`AccessToken`) or of the application itself (`ClientCredentials`). */
export async function findToken(
  session: Session,
  id_hashes: Readonly<Record<"AccessToken" | "ClientCredentials", Buffer>>,
  now: Date,
): Promise<TokenRow | undefined> {
  const rows = await session.query<StoredArtifact & { app_account_id: string }>(
    `${STORED} where (model, artifact.id_hash) in (('AccessToken', $1), ('ClientCredentials', $2))
       and expires_at > $3 and app_ids.id is not null and ${HAS_CONSENT}`,
    [id_hashes.AccessToken, id_hashes.ClientCredentials, now],
  );
  return (await listValid(session, rows))[0];
}

/**
 * Filters tokens to those still valid, with the person's current role; runs in the transaction of
 * every write.
 */
export async function findValidTokens(
  session: Session,
  id_hashes: readonly Buffer[],
  now: Date,
): Promise<Pick<TokenRow, "id_hash" | "role">[]> {
  const rows = await session.query<StoredArtifact>(
    `${STORED} where model in ('AccessToken', 'ClientCredentials') and id_hash = any($1::bytea[])
       and expires_at > $2 and ${HAS_CONSENT}`,
    [id_hashes, now],
  );
  return listValid(session, rows);
}

/** Deletes at most `limit` expired artifacts; returns how many. */
export async function deleteExpiredArtifacts(
  session: Session,
  now: Date,
  limit: number,
): Promise<number> {
  const rows = await session.query(
    `delete from oauth_artifacts where (model, id_hash) in (
       select model, id_hash from oauth_artifacts where expires_at <= $1
       order by expires_at limit $2 for update skip locked)
     returning model`,
    [now, limit],
  );
  return rows.length;
}

export type SigningKeyRow = { id: string; jwk: Buffer; created_at: Date };

/** Newest first: it signs; the others still verify. */
export function listSigningKeys(session: Session): Promise<SigningKeyRow[]> {
  return session.query<SigningKeyRow>(
    "select * from oauth_signing_keys order by created_at desc, id",
  );
}

export function insertSigningKey(tx: Transaction, row: SigningKeyRow): void {
  insertRow(tx, "oauth_signing_keys", row);
}
