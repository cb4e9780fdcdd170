import type { TokenPort } from "../../accounts/authenticate.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Session } from "../../platform/db/database.ts";
import type { Caller } from "../../platform/http/route.ts";
import { isBareCredential } from "../../platform/named-credentials.ts";
import { realTime } from "../../platform/tasks/real-time.ts";
import { findToken, findValidTokens, type TokenRow } from "./artifacts-store.ts";
import { isScope, mayGrant, type Scope } from "./model.ts";
import { hashArtifactId, openPayload } from "./sealed-artifacts.ts";

const PREFIX = "token:";

type TokenDeps = { database: Session; index_key: Buffer; clock: Clock };

export function openTokens(deps: TokenDeps): TokenPort {
  return {
    findCaller: (text) => findTokenCaller(deps, text),
    isCredential: (credential_id) => credential_id.startsWith(PREFIX),
    listActive: (session, credential_ids) => listActive(session, credential_ids, deps.clock),
  };
}

/** The caller of an access token: an application, for the account that granted access. */
async function findTokenCaller(deps: TokenDeps, token: string): Promise<Caller | null> {
  if (!isBareCredential(token)) return null;
  const { database, index_key, clock } = deps;
  const id_hashes = {
    AccessToken: hashArtifactId(index_key, "AccessToken", token),
    ClientCredentials: hashArtifactId(index_key, "ClientCredentials", token),
  };
  const row = await findToken(database, id_hashes, realTime(clock));
  return row ? toCaller(index_key, row) : null;
}

/**
 * The tokens that may still write. Every write needs the same scope, and the caller's scopes may
 * be a second old: the role is that of this moment.
 */
async function listActive(
  session: Session,
  credential_ids: readonly string[],
  clock: Clock,
): Promise<string[]> {
  const hashes = credential_ids.map((id) => Buffer.from(id.slice(PREFIX.length), "hex"));
  const found = await findValidTokens(session, hashes, realTime(clock));
  return found
    .filter((row) => mayStill(row)("invoices:write"))
    .map(({ id_hash }) => credentialOf(id_hash));
}

function credentialOf(id_hash: Buffer): string {
  return `${PREFIX}${id_hash.toString("hex")}`;
}

function toCaller(index_key: Buffer, row: TokenRow): Caller {
  const { scope = "" } = openPayload<{ scope?: string }>(index_key, row);
  const app_id = row.app_id!;
  const caller = {
    account_id: row.account_id ?? row.app_account_id,
    credential_id: credentialOf(row.id_hash),
    key_label: `app …${app_id.slice(-8)}`,
    app_id,
    scopes: scope.split(" ").filter(isScope).filter(mayStill(row)),
  };
  return row.person_id === null ? caller : { ...caller, person_id: row.person_id };
}

/** A person's current role limits the scopes they granted earlier. */
function mayStill({ role }: Pick<TokenRow, "role">): (scope: Scope) => boolean {
  return (scope) => role === null || mayGrant(role, [scope]);
}
