import type { Session } from "../../platform/db/database.ts";

/** A valid consent, with display names. */
export type ConsentView = {
  account_id: string;
  account_name: string;
  app_id: string;
  app_name: string;
  owner_name: string;
  person_id: string;
  email: Buffer;
  created_at: Date;
};

/** The consents of the person and, with an account, those of its other members. */
export function listConsentViews(
  session: Session,
  person_id: string,
  account_id: string | null,
  limit: number,
): Promise<ConsentView[]> {
  return session.query<ConsentView>(
    `select app_grants.account_id, accounts.name as account_name, app_grants.app_id,
       apps.name as app_name, owners.name as owner_name, app_grants.person_id, people.email,
       app_grants.created_at
     from app_grants
     join accounts on accounts.id = app_grants.account_id
     join apps on apps.account_id = app_grants.app_account_id and apps.id = app_grants.app_id
     join accounts owners on owners.id = apps.account_id
     join people on people.id = app_grants.person_id
     where app_grants.revoked_at is null and apps.deleted_at is null
       and (app_grants.person_id = $1 or app_grants.account_id = $2)
     order by app_grants.created_at desc, app_grants.app_id limit $3`,
    [person_id, account_id, limit],
  );
}

/** Locks the consent's row; absent when the consent is not valid. */
export async function lockConsent(
  tx: Session,
  consent: { account_id: string; app_id: string; person_id: string },
): Promise<boolean> {
  const rows = await tx.query(
    `select app_id from app_grants
     where account_id = $1 and app_id = $2 and person_id = $3 and revoked_at is null for update`,
    [consent.account_id, consent.app_id, consent.person_id],
  );
  return rows.length > 0;
}
