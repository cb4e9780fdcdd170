import { recordAudit } from "../../accounts/audit.ts";
import type { Actor } from "../../accounts/model.ts";
import { deleteTokens } from "../../accounts/tokens-store.ts";
import type { Transaction } from "../../platform/db/database.ts";
import type { ModuleCore } from "../../platform/module.ts";
import { realTime } from "../../platform/tasks/real-time.ts";
import { updateAppGrantRevoked } from "../store.ts";
import { findArtifact } from "./artifacts-store.ts";
import { hashArtifactId } from "./sealed-artifacts.ts";

export type Consent = { account_id: string; app_id: string; person_id: string };

/**
 * Called when the OAuth library ends a consent: the application revoked its refresh token, or a
 * code or refresh token was used twice.
 */
export async function revokeGrant(
  deps: Pick<ModuleCore, "database" | "index_key" | "clock">,
  grant_id: string,
): Promise<void> {
  const { database, index_key, clock } = deps;
  const id_hash = hashArtifactId(index_key, "Grant", grant_id);
  await database.transaction(async (tx) => {
    const row = await findArtifact(tx, "Grant", id_hash, realTime(clock));
    if (!row?.account_id || !row.app_id || !row.person_id) return;
    const { account_id, app_id, person_id } = row;
    const by = { actor: `app:${app_id}`, reason: "revoked by OAuth" } as const;
    endConsent(tx, { account_id, app_id, person_id }, by, clock.now());
  });
}

/** Deletes the consent and everything that depends on it, in one transaction. */
export function endConsent(
  tx: Transaction,
  consent: Consent,
  by: { actor: Actor; reason: string },
  now: Date,
): void {
  const { account_id, app_id, person_id } = consent;
  deleteTokens(tx, consent);
  updateAppGrantRevoked(tx, consent, now);
  recordAudit(
    tx,
    {
      account_id,
      ...by,
      action: "app_grant.revoke",
      record: `app:${app_id}`,
      detail: { person_id },
    },
    now,
  );
}
