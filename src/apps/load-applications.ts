import { openEmail } from "../accounts/person-email.ts";
import { may } from "../accounts/roles.ts";
import type { MemberSession } from "../accounts/sign-in/sessions.ts";
import type { Session } from "../platform/db/database.ts";
import type { App } from "./model.ts";
import { type ConsentView, listConsentViews } from "./oauth/consents-store.ts";
import { listApps } from "./store.ts";

export type Applications = {
  /** Null for roles that may not create applications. */
  apps: App[] | null;
  consents: (Omit<ConsentView, "email"> & { email: string })[];
};

const CONSENTS_MAX = 200;

export async function loadApplications(
  { database, index_key }: { database: Session; index_key: Buffer },
  session: Pick<MemberSession, "account_id" | "person_id" | "role">,
): Promise<Applications> {
  const { account_id, person_id, role } = session;
  const seen_account = may(role, "manage_consents") ? account_id : null;
  const [apps, consents] = await Promise.all([
    may(role, "manage_apps") ? listApps(database, account_id) : null,
    listConsentViews(database, person_id, seen_account, CONSENTS_MAX),
  ]);
  return {
    apps,
    consents: consents.map((row) => ({
      ...row,
      email: openEmail(index_key, row.person_id, row.email),
    })),
  };
}
