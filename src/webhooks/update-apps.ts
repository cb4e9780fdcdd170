import { recordAudit } from "../accounts/audit.ts";
import type { Actor } from "../accounts/model.ts";
import { type AppChange, type AppKeys, changeApp, type Revealed } from "../apps/change-app.ts";
import { type App, headerNamesOf } from "../apps/model.ts";
import { lockApps, updateApp } from "../apps/store.ts";
import { AccountMap } from "../platform/account-map.ts";
import type { Clock } from "../platform/clock.ts";
import type { UseCase, Verdict } from "../platform/commands/use-case.ts";
import type { Database, Session, Transaction } from "../platform/db/database.ts";
import type { AccountKeys, Keyring } from "../platform/encryption/keyring.ts";
import { notFound, type Problem, Refusal } from "../platform/errors.ts";
import { lockWakened, wakeTasks } from "../platform/tasks/tasks.ts";
import { type Endpoint, missingSetup } from "./audience.ts";
import { skipDeleted } from "./delivery/recorder.ts";
import { DELIVER_TASK } from "./model.ts";
import { renderApp } from "./render.ts";
import { findEnabled } from "./store.ts";

type AppCommand = { id: string; change: AppChange; problems: readonly Problem[] };

type Loaded = { apps: AccountMap<App>; keys: AccountKeys; enabled: Map<string, Date | null> };
export type ChangedApp = {
  endpoint: Endpoint;
  header_names: string[];
  revealed: Revealed;
  change: AppChange;
};

/** Every change by an owner; pending deliveries that can now be sent are sent at once. */
export function updateApps(
  keyring: Keyring,
  index_key: Buffer,
): UseCase<AppCommand, Loaded, ChangedApp> {
  return {
    name: "update-apps",
    rows: () => 1,
    load: async (tx, commands) => {
      const keys = commands.map(({ account_id, input }) => ({ account_id, id: input.id }));
      const account_ids = [...new Set(keys.map((key) => key.account_id))];
      const [apps, account_keys, enabled] = await Promise.all([
        lockForChange(tx, keys),
        keyring.openAccounts(tx, account_ids),
        findEnabled(tx, account_ids),
      ]);
      return { apps: AccountMap.of(apps, (app) => app), keys: account_keys, enabled };
    },
    decide: ({ apps, keys, enabled }, commands, now) => {
      const verdicts = new Map<string, Verdict<ChangedApp>>();
      for (const { id, account_id, input } of commands) {
        const known = apps.get(account_id, input.id);
        const app = known?.deleted_at ? undefined : known;
        const problems = [...input.problems, ...(app ? [] : [notFound("app_id")])];
        if (!app || problems.length > 0) {
          verdicts.set(id, { refusal: Refusal.of(problems) });
          continue;
        }
        const before = { ...app, webhooks_enabled_at: enabled.get(account_id) ?? null };
        const app_keys = { index_key, account_key: keys.get(account_id)! };
        const output = changeEndpoint(before, input.change, app_keys, now);
        apps.set(account_id, input.id, output.endpoint);
        verdicts.set(id, { output, subject: null });
      }
      return verdicts;
    },
    record: (tx, _loaded, accepted, now) => {
      for (const { command, output } of accepted) {
        const actor = `api_key:${command.credential_id}` as const;
        recordAppChange(tx, output, { actor, reason: "through the API" }, now);
      }
    },
    render: ({ endpoint, header_names, revealed }) => renderApp(endpoint, header_names, revealed),
  };
}

/** Changes one application, for a member or the command line; undefined if it does not exist. */
export async function changeOneApp(
  deps: { database: Database; keyring: Keyring; index_key: Buffer; clock: Clock },
  key: { account_id: string; id: string },
  change: AppChange,
  by: { actor: Actor; reason: string },
): Promise<ChangedApp | undefined> {
  const { database, keyring, index_key, clock } = deps;
  const { account_id } = key;
  return database.transaction(async (tx) => {
    const [[app], account_keys, enabled] = await Promise.all([
      lockForChange(tx, [key]),
      keyring.openAccounts(tx, [account_id]),
      findEnabled(tx, [account_id]),
    ]);
    if (!app) return undefined;
    const now = clock.now();
    const before = { ...app, webhooks_enabled_at: enabled.get(account_id) ?? null };
    const app_keys = { index_key, account_key: account_keys.get(account_id)! };
    const changed = changeEndpoint(before, change, app_keys, now);
    recordAppChange(tx, changed, by, now);
    return changed;
  });
}

function changeEndpoint(before: Endpoint, change: AppChange, keys: AppKeys, now: Date): ChangedApp {
  const { app, revealed } = changeApp(before, change, keys, now);
  const endpoint = { ...app, webhooks_enabled_at: before.webhooks_enabled_at };
  return { endpoint, header_names: headerNamesOf(keys.account_key, app), revealed, change };
}

/** Locks these applications against changes and against recording of outcomes until the commit. */
async function lockForChange(
  tx: Session,
  keys: readonly { account_id: string; id: string }[],
): Promise<App[]> {
  const [, apps] = await Promise.all([
    // In the delivery worker's order: first the task, then the application.
    lockWakened(tx, DELIVER_TASK, keys),
    lockApps(tx, keys),
  ]);
  return apps;
}

/** Writes a changed application with its audit entry, and wakes its sender. */
function recordAppChange(
  tx: Transaction,
  { endpoint, change }: ChangedApp,
  by: { actor: Actor; reason: string },
  now: Date,
): void {
  const { account_id, id } = endpoint;
  const is_there = endpoint.deleted_at === null && endpoint.webhook_state === "active";
  if (missingSetup(endpoint) === null && is_there) {
    wakeTasks(tx, DELIVER_TASK, [endpoint], now);
  }
  updateApp(tx, endpoint);
  if (endpoint.deleted_at !== null) skipDeleted(tx, endpoint, now);
  const detail: Record<string, string> =
    change.kind === "update" ? { fields: Object.keys(change.fields).join(" ") } : {};
  recordAudit(
    tx,
    { account_id, ...by, action: `app.${change.kind}`, record: `app:${id}`, detail },
    now,
  );
}
