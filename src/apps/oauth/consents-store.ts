import { listMemberships } from "../../accounts/store.ts";
import type { Session } from "../../platform/db/database.ts";
import { distinctSetOf, perAccount, type RecordKey } from "../../platform/db/rows.ts";

type Consent = {
  account_id: string;
  account_name: string;
  app_id: string;
  person_id: string;
  email: Buffer;
  created_at: Date;
};

/** A valid consent, with display names. */
export type ConsentView = Consent & { app_name: string; owner_name: string };

const COLUMNS = `app_grants.account_id, accounts.name as account_name, app_grants.app_id,
  app_grants.person_id, people.email, app_grants.created_at`;
const GRANTS = `app_grants
  join accounts on accounts.id = app_grants.account_id
  join people on people.id = app_grants.person_id`;
const ORDER = "order by app_grants.created_at desc, app_grants.app_id";

/** The consents of the person and, with an account, those of its other members. */
export async function listConsentViews(
  session: Session,
  person_id: string,
  account_id: string | null,
  limit: number,
): Promise<ConsentView[]> {
  if (session.by_account) return listByAccount(session, person_id, account_id, limit);
  return session.query<ConsentView>(
    `select ${COLUMNS}, apps.name as app_name, owners.name as owner_name
     from ${GRANTS}
     join apps on apps.account_id = app_grants.app_account_id and apps.id = app_grants.app_id
     join accounts owners on owners.id = apps.account_id
     where app_grants.revoked_at is null and apps.deleted_at is null
       and (app_grants.person_id = $1 or app_grants.account_id = $2)
     ${ORDER} limit $3`,
    [person_id, account_id, limit],
  );
}

/** Of each account; consents to deleted applications, which are not shown, are read too. */
const READ_MAX = 1_000;

/** Where a statement names one account: the person's accounts first, the applications last. */
async function listByAccount(
  session: Session,
  person_id: string,
  account_id: string | null,
  limit: number,
): Promise<ConsentView[]> {
  const memberships = await listMemberships(session, person_id, READ_MAX);
  const account_ids = new Set(memberships.map((membership) => membership.account_id));
  if (account_id !== null) account_ids.add(account_id);
  const consents = await Promise.all(
    [...account_ids].map((id) =>
      session.query<Consent & { app_account_id: string }>(
        `select ${COLUMNS}, app_grants.app_account_id from ${GRANTS}
         where app_grants.account_id = $1 and app_grants.revoked_at is null
           and ($2 or app_grants.person_id = $3)
         ${ORDER} limit $4`,
        [id, id === account_id, person_id, READ_MAX],
      ),
    ),
  );
  const found = consents.flat().sort(compareConsents);
  const keys = found.map((consent) => ({ account_id: consent.app_account_id, id: consent.app_id }));
  const names = new Map((await listAppNames(session, keys)).map(({ id, ...name }) => [id, name]));
  return found
    .flatMap(({ app_account_id: _, ...consent }) => {
      const name = names.get(consent.app_id);
      return name ? [{ ...consent, ...name }] : [];
    })
    .slice(0, limit);
}

function compareConsents(a: Consent, b: Consent): number {
  return b.created_at.getTime() - a.created_at.getTime() || (a.app_id < b.app_id ? -1 : 1);
}

function listAppNames(session: Session, keys: readonly RecordKey[]) {
  return perAccount(session, keys, (some) => {
    const wanted = distinctSetOf(session, "wanted", "account_id uuid, id uuid", some);
    return session.query<{ id: string; app_name: string; owner_name: string }>(
      `select apps.id, apps.name as app_name, accounts.name as owner_name
       from ${wanted.from}
       join apps on apps.account_id = wanted.account_id and apps.id = wanted.id
       join accounts on accounts.id = apps.account_id
       where apps.deleted_at is null`,
      wanted.values,
    );
  });
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
