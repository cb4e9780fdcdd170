import type { Provider } from "oidc-provider";
import { recordAudit } from "../../accounts/audit.ts";
import { findMember } from "../../accounts/audited/find-member.ts";
import type { Role } from "../../accounts/model.ts";
import { needsFactor, type SessionSettings } from "../../accounts/sign-in/sessions.ts";
import { deleteTokens } from "../../accounts/tokens-store.ts";
import type { Session, Transaction } from "../../platform/db/database.ts";
import { Refusal } from "../../platform/errors.ts";
import { isId } from "../../platform/ids.ts";
import type { ModuleCore } from "../../platform/module.ts";
import { realTime } from "../../platform/tasks/real-time.ts";
import type { App } from "../model.ts";
import { insertAppGrant } from "../store.ts";
import { findGrantId } from "./artifacts-store.ts";
import { makeGrantId, mayGrant, type Scope } from "./model.ts";

type GrantDeps = Pick<ModuleCore, "config" | "database" | "clock">;
type NewGrant = {
  app: App;
  person_id: string;
  has_factor: boolean;
  /** As submitted by the form. */
  account_id: string;
  scopes: readonly Scope[];
  redirect_uri: string;
};

/**
 * Records that a person grants an application access to one of their accounts; returns the grant's
 * id. The library's part is saved first: without the `app_grants` row it grants nothing, whereas
 * that row alone would send events to an application that has no token. What was granted for
 * another redirect URI ends: its page named other scopes, and another address.
 */
export async function createGrant(
  deps: GrantDeps,
  provider: Provider,
  input: NewGrant,
): Promise<string> {
  const { config, database, clock } = deps;
  await checkMember(config, database, input);
  const grant_id = await saveGrant(deps, provider, input);
  await database.transaction(async (tx) => {
    await checkMember(config, tx, input);
    const { app, person_id, account_id } = input;
    deleteTokens(tx, { app_id: app.id, person_id, account_id, kept_id: grant_id });
    recordGrant(tx, input, clock.now());
  });
  return grant_id;
}

/**
 * Consents are given for accounts that the person is not signed in to: what their role needs there,
 * it needs here too.
 */
export function lacksFactor(
  config: SessionSettings,
  { has_factor }: Pick<NewGrant, "has_factor">,
  role: Role,
): boolean {
  return !has_factor && needsFactor(config, role);
}

async function checkMember(
  config: SessionSettings,
  session: Session,
  { account_id, person_id, has_factor, scopes }: NewGrant,
): Promise<void> {
  const member = isId(account_id) && (await findMember(session, account_id, person_id));
  if (!member) throw new Refusal("insufficient_scope", "You are not a member of that account.");
  if (!mayGrant(member.role, scopes)) {
    throw new Refusal("insufficient_scope", "Your role in that account does not allow this.");
  }
  if (lacksFactor(config, { has_factor }, member.role)) {
    const message = "Your role in that account needs a second factor: set one up first.";
    throw new Refusal("insufficient_scope", message);
  }
}

async function saveGrant(
  { database, clock }: GrantDeps,
  provider: Provider,
  input: NewGrant,
): Promise<string> {
  const { app, person_id, account_id, scopes, redirect_uri } = input;
  const consent = { app_id: app.id, person_id, account_id, redirect_uri };
  const known_id = await findGrantId(database, consent, realTime(clock));
  const known = known_id === undefined ? undefined : await provider.Grant.find(known_id);
  const grant = known ?? newGrant(provider, input);
  grant.addOIDCScope(scopes.join(" "));
  return grant.save();
}

function recordGrant(
  tx: Transaction,
  { app, person_id, account_id, scopes, redirect_uri }: NewGrant,
  now: Date,
): void {
  const grant = { account_id, app_id: app.id, app_account_id: app.account_id, person_id };
  insertAppGrant(tx, { ...grant, redirect_uri, created_at: now });
  recordAudit(
    tx,
    {
      account_id,
      actor: `member:${person_id}`,
      action: "app_grant.create",
      record: `app:${app.id}`,
      reason: "",
      detail: { scope: scopes.join(" ") },
    },
    now,
  );
}

function newGrant(provider: Provider, { app, person_id, account_id }: NewGrant) {
  const grant = new provider.Grant({ accountId: person_id, clientId: app.id });
  grant.jti = makeGrantId(account_id);
  return grant;
}
