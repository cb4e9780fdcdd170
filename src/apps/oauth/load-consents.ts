import { openEmail } from "../../accounts/person-email.ts";
import { may } from "../../accounts/roles.ts";
import type { MemberSession } from "../../accounts/sign-in/sessions.ts";
import type { Session } from "../../platform/db/database.ts";
import { type ConsentView, listConsentViews } from "./consents-store.ts";

const CONSENTS_MAX = 200;

/** What a person let applications do; for an admin, also what the account's members did. */
export async function loadConsents(
  { database, index_key }: { database: Session; index_key: Buffer },
  { account_id, person_id, role }: Pick<MemberSession, "account_id" | "person_id" | "role">,
): Promise<(Omit<ConsentView, "email"> & { email: string })[]> {
  const seen_account = may(role, "manage_consents") ? account_id : null;
  const consents = await listConsentViews(database, person_id, seen_account, CONSENTS_MAX);
  return consents.map((row) => ({
    ...row,
    email: openEmail(index_key, row.person_id, row.email),
  }));
}
