import { recordAudit } from "../accounts/audit.ts";
import { lockControls } from "../accounts/controls-store.ts";
import { actorOf, type By } from "../accounts/model.ts";
import type { Command, UseCase, Verdict } from "../platform/commands/use-case.ts";
import type { Session, Transaction } from "../platform/db/database.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import { type Problem, Refusal } from "../platform/errors.ts";
import { newId } from "../platform/ids.ts";
import type { ModuleCore } from "../platform/module.ts";
import type { CheckedApp } from "./check-app.ts";
import { loadOwners, type Owner, type Owners } from "./load-owners.ts";
import {
  type Endpoint,
  hashClientSecret,
  headerNamesOf,
  makeClientSecret,
  sealForApp,
  sealHeaders,
  WELL,
} from "./model.ts";
import { type AppOutcome, renderOutcome } from "./render.ts";
import { countApps, insertApp } from "./store.ts";
import { makeWebhookSecret } from "./webhook-secrets.ts";

/** Each of them may receive every event of the account. */
const APPS_PER_ACCOUNT_MAX = 50;
const TOO_MANY: Problem = {
  field: "app",
  code: "limit_exceeded",
  message:
    `The account has ${APPS_PER_ACCOUNT_MAX} applications; ` +
    "delete one that is no longer used, then create this one.",
};

type Loaded = { owners: Owners; counts: Map<string, number> };
type AppRequest = { fields: CheckedApp; problems: readonly Problem[] };

/** Creates applications; the response is the only place where their secrets appear. */
export function createApps(
  keyring: Keyring,
  index_key: Buffer,
): UseCase<AppRequest, Loaded, AppOutcome> {
  const decideOne = (
    { owners, counts }: Loaded,
    { account_id, input }: Command<AppRequest>,
    now: Date,
  ): Verdict<AppOutcome> => {
    const problems = [...input.problems, ...takePlace(counts, account_id)];
    if (problems.length > 0) return { refusal: Refusal.of(problems) };
    const output = newApp(owners.get(account_id)!, index_key, input.fields, now);
    return { output, subject: null };
  };
  return {
    name: "create-apps",
    rows: () => 1,
    load: (tx, commands) => load(tx, keyring, commands),
    decide: decideOne,
    record: (tx, _loaded, accepted, now) => {
      for (const { command, output } of accepted) {
        const actor = actorOf(command);
        recordNewApp(tx, output.endpoint, { actor, reason: "through the API" }, now);
      }
    },
    render: renderOutcome,
  };
}

/** Creates one application, for the command line. */
export function createOneApp(
  {
    database,
    keyring,
    index_key,
    clock,
  }: Pick<ModuleCore, "database" | "keyring" | "index_key" | "clock">,
  account_id: string,
  fields: CheckedApp,
  by: By,
): Promise<AppOutcome> {
  return database.transaction(async (tx) => {
    const { owners, counts } = await load(tx, keyring, [{ account_id }]);
    const problems = takePlace(counts, account_id);
    if (problems.length > 0) throw Refusal.of(problems);
    const now = clock.now();
    const created = newApp(owners.get(account_id)!, index_key, fields, now);
    recordNewApp(tx, created.endpoint, by, now);
    return created;
  });
}

async function load(
  tx: Session,
  keyring: Keyring,
  owned: readonly { account_id: string }[],
): Promise<Loaded> {
  // Of two requests at once, the second must count what the first creates.
  await lockControls(tx, owned, true);
  const [owners, counts] = await Promise.all([
    loadOwners(tx, keyring, owned),
    countApps(tx, owned),
  ]);
  return { owners, counts };
}

/** Counts one more application of the account, or says why there is none. */
function takePlace(counts: Map<string, number>, account_id: string): Problem[] {
  const count = counts.get(account_id) ?? 0;
  if (count >= APPS_PER_ACCOUNT_MAX) return [TOO_MANY];
  counts.set(account_id, count + 1);
  return [];
}

/** Only a hash of the client secret is stored. An endpoint gets a secret if none was given. */
function newApp(owner: Owner, index_key: Buffer, fields: CheckedApp, now: Date): AppOutcome {
  const { account_id, account_key, webhooks_enabled_at } = owner;
  const id = newId(now);
  const client_secret = makeClientSecret();
  const webhook_url = fields.webhook_url ?? null;
  const webhook_secret =
    fields.webhook_secret ?? (webhook_url === null ? null : makeWebhookSecret());
  const key = { account_id, id };
  const endpoint = {
    ...key,
    name: fields.name ?? "",
    flow: fields.flow ?? ("authorization_code" as const),
    client_secret_hash: hashClientSecret(index_key, id, client_secret),
    client_secret_last_four: client_secret.slice(-4),
    redirect_uris: fields.redirect_uris ?? [],
    used_at: null,
    webhook_url,
    webhook_secret:
      webhook_secret === null
        ? null
        : sealForApp(account_key, key, "webhook_secret", webhook_secret),
    webhook_secret_next: null,
    webhook_secret_switch_at: null,
    webhook_headers: sealHeaders(account_key, key, fields.webhook_headers ?? {}),
    events: fields.events ?? [],
    is_ordered: fields.is_ordered ?? true,
    webhook_state: "active" as const,
    webhook_state_reason: null,
    webhook_version: 0,
    ...WELL,
    created_at: now,
    updated_at: now,
    deleted_at: null,
    webhooks_enabled_at,
  };
  const revealed = { client_secret, ...(webhook_secret ? { webhook_secret } : {}) };
  return { endpoint, header_names: headerNamesOf(account_key, endpoint), revealed };
}

function recordNewApp(tx: Transaction, app: Endpoint, by: By, now: Date): void {
  const { account_id, id } = app;
  insertApp(tx, app);
  recordAudit(tx, { account_id, ...by, action: "app.create", record: `app:${id}` }, now);
}
