import { may } from "../../accounts/roles.ts";
import type { MemberSession } from "../../accounts/sign-in/sessions.ts";
import { notFound, Refusal } from "../../platform/errors.ts";
import { isId } from "../../platform/ids.ts";
import type { ModuleCore } from "../../platform/module.ts";
import { lockConsent } from "./consents-store.ts";
import { type Consent, endConsent } from "./revoke-grant.ts";

/** A person revokes their own consents; an admin also those of other members. */
export async function revokeConsent(
  { database, clock }: Pick<ModuleCore, "database" | "clock">,
  session: Pick<MemberSession, "account_id" | "person_id" | "role">,
  consent: Consent,
): Promise<void> {
  const is_own = consent.person_id === session.person_id;
  const is_in_account = consent.account_id === session.account_id;
  const may_revoke = is_own || (is_in_account && may(session.role, "manage_consents"));
  const is_allowed = may_revoke && Object.values(consent).every(isId);
  await database.transaction(async (tx) => {
    if (!is_allowed || !(await lockConsent(tx, consent))) throw Refusal.of([notFound("app_id")]);
    const by = { actor: `member:${session.person_id}`, reason: "" } as const;
    endConsent(tx, consent, by, clock.now());
  });
}
