import type { Database } from "../platform/db/database.ts";
import { lockApiKey, updateApiKeyRevoked } from "./api-key-store.ts";
import { recordAudit } from "./audit.ts";
import type { Actor, ApiKey } from "./model.ts";

/** Takes effect at once for writes, which query the database, and within a second for reads. */
export function revokeApiKey(
  database: Database,
  input: { id: string; account_id?: string; actor: Actor; reason: string },
  now: Date,
): Promise<ApiKey | undefined> {
  return database.transaction(async (tx) => {
    const key = await lockApiKey(tx, input.id, input.account_id);
    if (!key || key.revoked_at) return key;
    updateApiKeyRevoked(tx, key, now);
    const { account_id, id } = key;
    const { actor, reason } = input;
    recordAudit(
      tx,
      { account_id, actor, action: "api_key.revoke", record: `api_key:${id}`, reason },
      now,
    );
    return { ...key, revoked_at: now };
  });
}
