import type { Clock } from "../platform/clock.ts";
import type { Mode } from "../platform/config/config.ts";
import type { Session } from "../platform/db/database.ts";
import { MINUTE_MS } from "../platform/durations.ts";
import { keyedHash } from "../platform/encryption/cipher.ts";
import { knownCredentials } from "../platform/http/known-credentials.ts";
import type { Caller } from "../platform/http/route.ts";
import { isId } from "../platform/ids.ts";
import { LruMap } from "../platform/lru-map.ts";
import { realTime } from "../platform/tasks/real-time.ts";
import { findActiveKeys, findApiKeyByHash, upsertKeyUse } from "./api-key-store.ts";
import { isSessionCredential, listActiveMembers } from "./member-callers/authenticate-member.ts";
import { isKeyOfMode, isOwnKey } from "./model.ts";
import { compileKeyCheck } from "./restrict-key.ts";

/** A revoked key or token may still read for this long; writes query the database every time. */
const CACHED_MS = 1_000;
const CALLERS_CACHED_MAX = 10_000;
/** The last use is written no more often than this, so that it costs a busy key nothing. */
const USE_EVERY_MS = 10 * MINUTE_MS;

/** Credentials other than API keys: the access tokens of applications, resolved by `apps`. */
export type TokenPort = {
  findCaller(text: string): Promise<Caller | null>;
  isCredential(credential_id: string): boolean;
  listActive(session: Session, credential_ids: readonly string[]): Promise<string[]>;
};

type KeyDeps = { database: Session; index_key: Buffer; clock: Clock };

/** Resolves a presented key or token to its caller. */
export function createAuthenticate(
  deps: KeyDeps,
  mode: Mode,
  tokens: TokenPort,
): (text: string) => Promise<Caller | null> {
  const known = knownCredentials(deps.index_key);
  const cache = new LruMap<string, { caller: Caller; until_ms: number }>(CALLERS_CACHED_MAX);
  const findCaller = async (text: string, key_hash: Buffer) => {
    // Keys created here have a known prefix; other text may be a token or the operator's own key.
    const by_token = isOwnKey(text) ? null : await tokens.findCaller(text);
    return by_token ?? (await findKeyCaller(deps, key_hash));
  };
  return async (text) => {
    if (!isKeyOfMode(text, mode)) return null;
    const key_hash = hashApiKey(deps.index_key, text);
    const name = key_hash.toString("base64");
    const asked_ms = performance.now();
    const cached = cache.get(name);
    if (cached && cached.until_ms > asked_ms) return cached.caller;
    const caller = await findCaller(text, key_hash);
    known.note(text, caller?.account_id);
    if (!caller) {
      cache.delete(name);
      return null;
    }
    // Counted from before the query: a slow answer is not trusted for longer.
    cache.set(name, { caller, until_ms: asked_ms + CACHED_MS });
    return caller;
  };
}

/** Keys, tokens and sessions that are still valid; runs in the transaction of every write. */
export async function findActiveCredentials(
  tx: Session,
  tokens: TokenPort,
  credential_ids: string[],
  account_ids: string[],
  now: Date,
  tenant_id?: string,
): Promise<Set<string>> {
  const key_ids = credential_ids.filter(isId);
  if (key_ids.length === credential_ids.length) {
    return findActiveKeys(tx, key_ids, account_ids, now);
  }
  const [keys, active_tokens, members] = await Promise.all([
    findActiveKeys(tx, key_ids, account_ids, now),
    tokens.listActive(tx, credential_ids.filter(tokens.isCredential)),
    listActiveMembers(tx, credential_ids.filter(isSessionCredential), now, tenant_id),
  ]);
  return new Set([...keys, ...active_tokens, ...members]);
}

export function hashApiKey(index_key: Buffer, key: string): Buffer {
  return keyedHash(index_key, "api key", key);
}

async function findKeyCaller(
  { database, clock }: KeyDeps,
  key_hash: Buffer,
): Promise<Caller | null> {
  const now = realTime(clock);
  const found = await findApiKeyByHash(database, key_hash, now);
  if (!found) return null;
  const { account_id, id, prefix, last_four, used_at } = found;
  if (!used_at || now.getTime() - used_at.getTime() > USE_EVERY_MS) {
    // Not awaited, and not important enough to refuse a request if it fails.
    upsertKeyUse(database, found, now).catch(() => {});
  }
  const refuse = compileKeyCheck(found);
  return { account_id, credential_id: id, key_label: `${prefix}…${last_four}`, refuse };
}
