import type { Mode } from "../platform/config/config.ts";
import type { Database, Transaction } from "../platform/db/database.ts";
import { lockApiKey, updateApiKeyExpiry } from "./api-key-store.ts";
import { recordAudit } from "./audit.ts";
import { createApiKey } from "./create-api-key.ts";
import { type Actor, type ApiKey, makeApiKey } from "./model.ts";

type RotateKey = {
  id: string;
  /** For a member of this account: they know the new key, and count as its creator. */
  for_member?: {
    account_id: string;
    person_id: string;
    /** Refuses a session that has ended since. */
    assertSession: (tx: Transaction) => Promise<unknown>;
  };
  mode: Mode;
  old_ends_at: Date;
  /** Of the new key. */
  expires_at: Date | null;
  /** Keys end by it, whatever the sandbox clock says. */
  real_time: Date;
  actor: Actor;
  reason: string;
};

/**
 * Creates a key with the name, scopes and networks of an old one, which stays valid for a while so
 * that programs can change over. Null when there is no such valid key.
 */
export function rotateApiKey(
  database: Database,
  index_key: Buffer,
  input: RotateKey,
  now: Date,
): Promise<{ old: ApiKey; created: ApiKey; key: string } | null> {
  return database.transaction(async (tx) => {
    await input.for_member?.assertSession(tx);
    const { for_member } = input;
    const old = await lockApiKey(tx, input.id, for_member?.account_id);
    if (!old || old.revoked_at) return null;
    if (old.expires_at && old.expires_at <= input.real_time) return null;
    const { account_id, name, scopes, networks } = old;
    const created_by_person = for_member?.person_id ?? old.created_by_person;
    const { actor, reason, old_ends_at } = input;
    // Never later than it would have ended without the rotation.
    const is_earlier = old.expires_at !== null && old.expires_at < old_ends_at;
    const expires_at = is_earlier ? old.expires_at! : old_ends_at;
    updateApiKeyExpiry(tx, old, expires_at);
    recordAudit(
      tx,
      {
        account_id,
        actor,
        action: "api_key.rotate",
        record: `api_key:${old.id}`,
        reason,
        detail: { expires_at: expires_at.toISOString() },
      },
      now,
    );
    const restrictions = { scopes, networks, expires_at: input.expires_at };
    const key = makeApiKey(index_key, input.mode, account_id);
    const created = createApiKey(
      tx,
      index_key,
      { account_id, name, key, created_by_person, restrictions, actor, reason },
      now,
    );
    return { old: { ...old, expires_at }, created, key };
  });
}
