import type { Adapter, AdapterPayload } from "oidc-provider";
import { MINUTE_MS } from "../../platform/durations.ts";
import { Refusal } from "../../platform/errors.ts";
import {
  createRateLimiter,
  type RateLimit,
  type RateLimiter,
} from "../../platform/http/rate-limit.ts";
import { isId } from "../../platform/ids.ts";
import type { ModuleCore } from "../../platform/module.ts";
import { readAccount } from "../../platform/named-credentials.ts";
import { realTime } from "../../platform/tasks/real-time.ts";
import { findAppByClientId } from "../store.ts";
import {
  type ArtifactRow,
  deleteArtifact,
  deleteArtifactsOfGrant,
  type FoundArtifact,
  findArtifact,
  findGrantOf,
  insertArtifact,
  updateArtifactConsumed,
} from "./artifacts-store.ts";
import { clientOf } from "./client-metadata.ts";
import { accountOfGrant, mayGrant, REFRESH_GRACE_MS } from "./model.ts";
import { revokeGrant } from "./revoke-grant.ts";
import { hashArtifactId, openPayload, sealPayload } from "./sealed-artifacts.ts";

/** Tokens in a minute, of one consent and of an account's applications for themselves. */
const REFRESHES_MAX = 120;
const OWN_TOKENS_MAX = 600;

type AdapterDeps = Pick<ModuleCore, "database" | "index_key" | "clock"> & {
  /** The error for a code used twice at the same time. */
  alreadyUsed: () => Error;
};

/** Storage of the OAuth library: in PostgreSQL, shared by all processes. */
export function createArtifactsAdapter(deps: AdapterDeps): (model: string) => Adapter {
  // Each of these stores a token for a day, and a refresh another one for thirty.
  const limits = {
    refreshes: createRateLimiter(REFRESHES_MAX, MINUTE_MS)!,
    own_tokens: createRateLimiter(OWN_TOKENS_MAX, MINUTE_MS)!,
  };
  return (model) =>
    model === "Client" ? clientsAdapter(deps) : artifactsAdapter({ ...deps, ...limits }, model);
}

function artifactsAdapter(
  deps: AdapterDeps & Record<"refreshes" | "own_tokens", RateLimiter>,
  model: string,
): Adapter {
  const { database, index_key, clock, refreshes, own_tokens } = deps;
  const hash = (id: string) => hashArtifactId(index_key, model, id);
  const now = () => realTime(clock);
  return {
    upsert: async (id, payload, expiresIn) => {
      if (model === "ClientCredentials") {
        assertAllowed(own_tokens.take(readAccount(index_key, id) ?? payload.clientId!));
      }
      const row = { model, id_hash: hash(id), uid: payload.uid ?? null };
      await insertArtifact(database, {
        ...row,
        ...ownersOf(model, id, payload),
        payload: sealPayload(index_key, row, payload),
        consumed_at: null,
        expires_at: new Date(now().getTime() + (expiresIn ?? 0) * 1000),
      });
    },
    find: async (id) => {
      const at = now();
      return toPayload(index_key, await findArtifact(database, model, hash(id), at), at);
    },
    findByUid: async (uid) => {
      const at = now();
      return toPayload(index_key, await findArtifact(database, model, uid, at), at);
    },
    // Only the device flow has user codes, and it is not supported.
    findByUserCode: async () => undefined,
    consume: async (id) => {
      if (model === "RefreshToken") {
        const grant_id = await findGrantOf(database, model, hash(id));
        if (grant_id !== null) assertAllowed(refreshes.take(grant_id));
      }
      const is_first = await updateArtifactConsumed(database, model, hash(id), now());
      // Two requests used one code at once: the library accepted both, the database only one.
      if (!is_first && model === "AuthorizationCode") throw deps.alreadyUsed();
    },
    destroy: async (id) => {
      if (model === "Grant") await revokeGrant(deps, id);
      else await deleteArtifact(database, model, hash(id));
    },
    revokeByGrantId: (grant_id) => deleteArtifactsOfGrant(database, model, grant_id),
  };
}

function assertAllowed({ allowed, reset_seconds }: RateLimit): void {
  if (allowed) return;
  const message = `Too many tokens. Wait ${reset_seconds} seconds, then try again.`;
  throw new Refusal("too_many_requests", message, reset_seconds);
}

/** Clients are the applications: read at every request, so that a change applies at once. */
function clientsAdapter({ database }: AdapterDeps): Adapter {
  const refuse = async () => {
    throw new Error("applications are not changed through OAuth");
  };
  return {
    find: async (id) => {
      const app = isId(id) ? await findAppByClientId(database, id.toLowerCase()) : undefined;
      // An id in upper case is a different client: the library compares ids as text.
      return app?.id === id ? clientOf(app) : undefined;
    },
    upsert: refuse,
    findByUid: refuse,
    findByUserCode: refuse,
    consume: refuse,
    destroy: refuse,
    revokeByGrantId: refuse,
  };
}

function ownersOf(
  model: string,
  id: string,
  { grantId, clientId, accountId }: AdapterPayload,
): Pick<ArtifactRow, "grant_id" | "app_id" | "account_id" | "person_id"> {
  // An interaction only refers to the earlier consent; it must not be deleted with it.
  const grant_id = model === "Grant" ? id : model === "Interaction" ? null : (grantId ?? null);
  return {
    grant_id,
    app_id: clientId ?? null,
    account_id: grant_id === null ? null : accountOfGrant(grant_id),
    person_id: accountId ?? null,
  };
}

function toPayload(
  index_key: Buffer,
  row: FoundArtifact | undefined,
  now: Date,
): AdapterPayload | undefined {
  if (!row) return undefined;
  const payload = withinRole(openPayload<AdapterPayload>(index_key, row), row);
  if (!row.consumed_at) return payload;
  const used_ms = row.consumed_at.getTime();
  const is_in_grace = row.model === "RefreshToken" && now.getTime() - used_ms < REFRESH_GRACE_MS;
  return is_in_grace ? payload : { ...payload, consumed: Math.floor(used_ms / 1000) };
}

const WRITES = "invoices:write";
/** The artifacts that grant access; the others only record a request. */
const MODELS_WITH_SCOPE = ["AccessToken", "RefreshToken", "AuthorizationCode", "Grant"];

/** Removes the scopes that the person's current role no longer allows. */
function withinRole(payload: AdapterPayload, { model, role }: FoundArtifact): AdapterPayload {
  const may_write = role === null || mayGrant(role, [WRITES]);
  if (may_write || !MODELS_WITH_SCOPE.includes(model)) return payload;
  const { scope, openid } = payload as { scope?: string; openid?: { scope?: string } };
  const kept = { ...payload };
  if (scope !== undefined) kept.scope = withoutWrites(scope);
  if (openid?.scope !== undefined) kept.openid = { ...openid, scope: withoutWrites(openid.scope) };
  return kept;
}

function withoutWrites(scope: string): string {
  return scope
    .split(" ")
    .filter((name) => name !== WRITES)
    .join(" ");
}
