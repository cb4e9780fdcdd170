import type { Session } from "../platform/db/database.ts";
import { keyedHash } from "../platform/encryption/cipher.ts";
import type { Caller } from "../platform/http/route.ts";
import { LruMap } from "../platform/lru-map.ts";
import { isKeyOfMode, type Mode } from "./model.ts";
import { findApiKeyByHash } from "./store.ts";

/** A revoked key may still read for this long; writes ask the database every time. */
const CACHED_MS = 1_000;
const KEYS_CACHED_MAX = 10_000;

export function createAuthenticate(
  session: Session,
  index_key: Buffer,
  mode: Mode,
): (key: string) => Promise<Caller | null> {
  const cache = new LruMap<string, { caller: Caller; until_ms: number }>(KEYS_CACHED_MAX);
  return async (key) => {
    if (!isKeyOfMode(key, mode)) return null;
    const key_hash = hashApiKey(index_key, key);
    const name = key_hash.toString("base64");
    const asked_ms = performance.now();
    const cached = cache.get(name);
    if (cached && cached.until_ms > asked_ms) return cached.caller;
    const found = await findApiKeyByHash(session, key_hash);
    if (!found) return null;
    const { account_id, id, prefix, last_four } = found;
    const caller = { account_id, api_key_id: id, key_label: `${prefix}…${last_four}` };
    // Counted from before the question: an answer that was slow to come is not trusted longer.
    cache.set(name, { caller, until_ms: asked_ms + CACHED_MS });
    return caller;
  };
}

export function hashApiKey(index_key: Buffer, key: string): Buffer {
  return keyedHash(index_key, "api key", key);
}
