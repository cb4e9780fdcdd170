import type { Transaction } from "../platform/db/database.ts";
import { newId } from "../platform/ids.ts";
import { insertApiKey } from "./api-key-store.ts";
import { recordAudit } from "./audit.ts";
import { hashApiKey } from "./authenticate.ts";
import { type Actor, type ApiKey, labelOf } from "./model.ts";
import { type KeyRestrictions, UNRESTRICTED } from "./restrict-key.ts";

/** Stores only the key's hash; the caller is the only one who knows the key. */
export function createApiKey(
  tx: Transaction,
  index_key: Buffer,
  input: {
    account_id: string;
    name: string;
    key: string;
    created_by_person?: string | null;
    restrictions?: KeyRestrictions;
    actor: Actor;
    reason: string;
  },
  now: Date,
): ApiKey {
  const { account_id, name, key, actor, reason, restrictions = UNRESTRICTED } = input;
  const api_key: ApiKey = {
    account_id,
    id: newId(now),
    name,
    ...labelOf(key),
    created_by_person: input.created_by_person ?? null,
    created_at: now,
    revoked_at: null,
    ...restrictions,
  };
  insertApiKey(tx, api_key, hashApiKey(index_key, key));
  recordAudit(
    tx,
    {
      account_id,
      actor,
      action: "api_key.create",
      record: `api_key:${api_key.id}`,
      reason,
      detail: { ...restrictions, expires_at: restrictions.expires_at?.toISOString() ?? null },
    },
    now,
  );
  return api_key;
}
