import type { Session, Transaction } from "../platform/db/database.ts";
import type { App, AppGrant } from "./app-model.ts";

export function insertApp(tx: Transaction, app: App): void {
  tx.write(
    `insert into apps (account_id, id, name, flow, client_secret_hash, client_secret_last_four,
       redirect_uris, webhook_url, webhook_secret, webhook_headers, events, is_ordered,
       webhook_state, created_at, updated_at)
     values ($1, $2, $3, $4, $5, $6, $7::text[], $8, $9, $10, $11::text[], $12, $13, $14, $15)`,
    [
      app.account_id,
      app.id,
      app.name,
      app.flow,
      app.client_secret_hash,
      app.client_secret_last_four,
      app.redirect_uris,
      app.webhook_url,
      app.webhook_secret,
      app.webhook_headers,
      app.events,
      app.is_ordered,
      app.webhook_state,
      app.created_at,
      app.updated_at,
    ],
  );
  tx.write("insert into app_ids (id, account_id) values ($1, $2)", [app.id, app.account_id]);
}

/** By client_id alone, for whoever presents it; a deleted application is absent. */
export async function findAppByClientId(session: Session, id: string): Promise<App | undefined> {
  const [app] = await session.query<App>(
    `select apps.* from app_ids
     join apps on apps.account_id = app_ids.account_id and apps.id = app_ids.id
     where app_ids.id = $1 and apps.deleted_at is null`,
    [id],
  );
  return app;
}

export async function findApp(
  session: Session,
  account_id: string,
  id: string,
): Promise<App | undefined> {
  const [app] = await session.query<App>(
    "select * from apps where account_id = $1 and id = $2 and deleted_at is null",
    [account_id, id],
  );
  return app;
}

/** Oldest first. */
export function listApps(session: Session, account_id: string): Promise<App[]> {
  return session.query<App>(
    "select * from apps where account_id = $1 and deleted_at is null order by id",
    [account_id],
  );
}

/** Notes the first use, for good; later calls change nothing. */
export function updateAppUsed(
  tx: Transaction,
  app: { account_id: string; id: string },
  now: Date,
): void {
  tx.write("update apps set used_at = $3 where account_id = $1 and id = $2 and used_at is null", [
    app.account_id,
    app.id,
    now,
  ]);
}

/** A person's consent; given again, it is as new. */
export function insertAppGrant(tx: Transaction, grant: Omit<AppGrant, "revoked_at">): void {
  tx.write(
    `insert into app_grants (account_id, app_id, app_account_id, person_id, created_at)
     values ($1, $2, $3, $4, $5)
     on conflict (account_id, app_id, person_id)
     do update set created_at = excluded.created_at, revoked_at = null
       where app_grants.revoked_at is not null`,
    [grant.account_id, grant.app_id, grant.app_account_id, grant.person_id, grant.created_at],
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

/** The consents that hold, of one account. */
export function listAppGrants(session: Session, account_id: string): Promise<AppGrant[]> {
  return session.query<AppGrant>(
    "select * from app_grants where account_id = $1 and revoked_at is null order by app_id",
    [account_id],
  );
}
