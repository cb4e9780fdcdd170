import type { Session, Transaction } from "../platform/db/database.ts";
import {
  accountsOf,
  columnsOf,
  distinctSetOf,
  findRow,
  insertRow,
  perAccount,
  type RecordKey,
  setOf,
  updateRow,
  updateRows,
} from "../platform/db/rows.ts";
import type { Page } from "../platform/http/list.ts";
import type { App, AppGrant, Endpoint, Health } from "./model.ts";

export function insertApp(tx: Transaction, { webhooks_enabled_at, ...app }: Endpoint): void {
  insertRow(tx, "apps", app);
  insertRow(tx, "app_ids", { id: app.id, account_id: app.account_id });
}

/** By client_id alone, for unauthenticated callers; a deleted application is absent. */
export async function findAppByClientId(session: Session, id: string): Promise<App | undefined> {
  const owner = await findRow<RecordKey>(session, "app_ids", { id });
  if (!owner) return undefined;
  const app = await findRow<App>(session, "apps", { account_id: owner.account_id, id });
  return app && app.deleted_at === null ? app : undefined;
}

/** Also of those that were deleted. */
export function listAppNames(
  session: Session,
  account_id: string,
  ids: readonly string[],
): Promise<Pick<App, "id" | "name">[]> {
  return session.query("select id, name from apps where account_id = $1 and id = any($2::uuid[])", [
    account_id,
    ids,
  ]);
}

/** Records the first use; later calls change nothing until an admin resets it. */
export function updateAppUsed(tx: Transaction, app: RecordKey, now: Date): void {
  tx.write("update apps set used_at = $3 where account_id = $1 and id = $2 and used_at is null", [
    app.account_id,
    app.id,
    now,
  ]);
}

/** Stores a person's consent; granting again renews it. */
export function insertAppGrant(tx: Transaction, grant: Omit<AppGrant, "revoked_at">): void {
  tx.write(
    `insert into app_grants as g
       (account_id, app_id, app_account_id, person_id, created_at, redirect_uri)
     values ($1, $2, $3, $4, $5, $6)
     on conflict (account_id, app_id, person_id)
     do update set redirect_uri = excluded.redirect_uri, revoked_at = null,
       created_at = case when g.revoked_at is null then g.created_at else excluded.created_at end`,
    [
      ...[grant.account_id, grant.app_id, grant.app_account_id, grant.person_id],
      ...[grant.created_at, grant.redirect_uri],
    ],
  );
}

export function updateAppGrantRevoked(
  tx: Transaction,
  grant: { account_id: string; app_id: string; person_id: string },
  now: Date,
): void {
  tx.write(
    `update app_grants set revoked_at = $4
     where account_id = $1 and app_id = $2 and person_id = $3 and revoked_at is null`,
    [grant.account_id, grant.app_id, grant.person_id, now],
  );
}

/** Applications by account and id, without deleted ones, with the account data needed to send. */
export function listEndpoints(session: Session, keys: readonly RecordKey[]): Promise<Endpoint[]> {
  return perAccount(session, keys, (some) => {
    const wanted = setOf(session, "wanted", "account_id uuid, id uuid", some);
    return session.query<Endpoint>(
      `select apps.*, accounts.webhooks_enabled_at
       from ${wanted.from}
       join apps on apps.account_id = wanted.account_id and apps.id = wanted.id
       join accounts on accounts.id = apps.account_id
       where apps.deleted_at is null`,
      wanted.values,
    );
  });
}

/** The applications of an account and those that its members authorised. */
export async function listEndpointsFor(session: Session, account_id: string): Promise<Endpoint[]> {
  const [own, granted] = await Promise.all([
    session.query<Endpoint>(
      `select apps.*, accounts.webhooks_enabled_at
       from apps join accounts on accounts.id = apps.account_id
       where apps.deleted_at is null and apps.account_id = $1`,
      [account_id],
    ),
    session.query<RecordKey>(
      `select distinct app_account_id as account_id, app_id as id from app_grants
       where account_id = $1 and app_account_id <> $1 and revoked_at is null`,
      [account_id],
    ),
  ]);
  const others = granted.length > 0 ? await listEndpoints(session, granted) : [];
  const keyOf = (app: Endpoint) => `${app.account_id} ${app.id}`;
  return [...own, ...others].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}

/** Which of these applications the accounts have authorised: they may have many others. */
export function listConsents(
  session: Session,
  account_ids: readonly string[],
  apps: readonly Pick<App, "id">[],
): Promise<{ account_id: string; app_id: string }[]> {
  const owned = account_ids.map((account_id) => ({ account_id }));
  return perAccount(session, owned, (some) => {
    const accounts = accountsOf(session, some);
    return session.query(
      `select distinct account_id, app_id from app_grants
       where account_id ${accounts.equal} and app_id = any($2::uuid[]) and revoked_at is null`,
      [accounts.value, ...columnsOf(apps, "id")],
    );
  });
}

/** Filters consents to those still valid. */
export function listValidConsents(
  session: Session,
  consents: readonly { account_id: string; app_id: string }[],
): Promise<{ account_id: string; app_id: string }[]> {
  return perAccount(session, consents, (some) => {
    const wanted = setOf(session, "wanted", "account_id uuid, app_id uuid", some);
    return session.query(
      `select distinct g.account_id, g.app_id
       from ${wanted.from}
       join app_grants g on g.account_id = wanted.account_id and g.app_id = wanted.app_id
       where g.revoked_at is null`,
      wanted.values,
    );
  });
}

/** The accounts whose members authorised this application. */
export async function listConsentingAccounts(session: Session, app_id: string): Promise<string[]> {
  const rows = await session.query<{ account_id: string }>(
    `select distinct account_id from app_grants
     where app_id = $1 and revoked_at is null order by account_id`,
    [app_id],
  );
  return rows.map((row) => row.account_id);
}

export async function lockApps(tx: Session, keys: readonly RecordKey[]): Promise<App[]> {
  const wanted = distinctSetOf(tx, "wanted", "account_id uuid, id uuid", keys);
  return tx.query<App>(
    `select apps.* from apps
     join ${wanted.from}
       using (account_id, id)
     where apps.deleted_at is null
     order by account_id, id for no key update of apps`,
    wanted.values,
  );
}

/** Writes everything of a locked application, as a new version. */
export function updateApp(
  tx: Transaction,
  { account_id, id, webhooks_enabled_at, webhook_version, ...changes }: Endpoint,
): void {
  const version = webhook_version + 1;
  updateRow(tx, "apps", { account_id, id }, { ...changes, webhook_version: version });
}

export type EndpointHealth = Health & {
  account_id: string;
  id: string;
  /** The version it was observed on: results from before the owner's last change do not count. */
  webhook_version: number;
};

/** Writes what deliveries have shown, without touching what the owner may change concurrently. */
export function updateHealth(tx: Transaction, healths: readonly EndpointHealth[]): void {
  updateRows(
    tx,
    "apps",
    "account_id uuid, id uuid, webhook_version int",
    `failing_since timestamptz, circuit_failures int, circuit_until timestamptz,
     failed_at timestamptz, failures_in_a_row int`,
    healths,
  );
}

/** False unless it is active and has this version: the owner's later changes are kept. */
export async function updateDisabled(
  tx: Session,
  app: { account_id: string; id: string; webhook_version: number },
  reason: string,
  now: Date,
): Promise<boolean> {
  const rows = await tx.query(
    `update apps set webhook_state = 'disabled', webhook_state_reason = $3, updated_at = $4
     where account_id = $1 and id = $2 and webhook_state = 'active' and webhook_version = $5
     returning id`,
    [app.account_id, app.id, reason, now, app.webhook_version],
  );
  return rows.length > 0;
}

/** The versions of these endpoints, without deleted ones. */
export function listEndpointVersions(
  session: Session,
  keys: readonly RecordKey[],
): Promise<{ id: string; webhook_version: number }[]> {
  return perAccount(session, keys, (some) => {
    const wanted = setOf(session, "wanted", "account_id uuid, id uuid", some);
    return session.query(
      `select apps.id, apps.webhook_version
       from ${wanted.from}
       join apps on apps.account_id = wanted.account_id and apps.id = wanted.id
       where apps.deleted_at is null`,
      wanted.values,
    );
  });
}

/** An account's applications, newest first. */
export function listEndpointPage(
  session: Session,
  account_id: string,
  page: Page,
): Promise<Endpoint[]> {
  return session.query<Endpoint>(
    `select apps.*, accounts.webhooks_enabled_at
     from apps join accounts on accounts.id = apps.account_id
     where apps.account_id = $1 and apps.deleted_at is null and apps.id < $2 and apps.id >= $3
     order by apps.id desc limit $4`,
    [account_id, page.below_id, page.from_id, page.limit + 1],
  );
}

type FailingEndpoint = {
  id: string;
  name: string;
  account_name: string;
  webhook_state: string;
  failing_since: Date | null;
};

/** The failing and disabled endpoints of all accounts, for the operator. */
export function listFailingEndpoints(session: Session, limit: number): Promise<FailingEndpoint[]> {
  return session.query<FailingEndpoint>(
    `select apps.id, apps.name, accounts.name as account_name, apps.webhook_state,
       apps.failing_since
     from apps join accounts on accounts.id = apps.account_id
     where apps.deleted_at is null and apps.webhook_url is not null
       and (apps.failing_since is not null or apps.webhook_state = 'disabled')
     order by apps.failing_since, apps.id limit $1`,
    [limit],
  );
}

/** Since when webhooks are enabled for these accounts. */
export async function findEnabled(
  session: Session,
  owned: readonly { account_id: string }[],
): Promise<Map<string, Date | null>> {
  const rows = await session.query<{ id: string; webhooks_enabled_at: Date | null }>(
    "select id, webhooks_enabled_at from accounts where id = any($1::uuid[])",
    columnsOf(owned, "account_id"),
  );
  return new Map(rows.map((row) => [row.id, row.webhooks_enabled_at]));
}

/** How many applications each account has; accounts without any are missing. */
export async function countApps(
  session: Session,
  owned: readonly { account_id: string }[],
): Promise<Map<string, number>> {
  const accounts = accountsOf(session, owned);
  const rows = await session.query<{ account_id: string; count: number }>(
    `select account_id, count(*)::integer as count from apps
     where account_id ${accounts.equal} and deleted_at is null group by account_id`,
    [accounts.value],
  );
  return new Map(rows.map((row) => [row.account_id, row.count]));
}

/** Permanent; an account that is already enabled stays unchanged. */
export function updateAccountEnabled(tx: Transaction, account_id: string, now: Date): void {
  tx.write(
    "update accounts set webhooks_enabled_at = $2 where id = $1 and webhooks_enabled_at is null",
    [account_id, now],
  );
}
