import { recordAudit } from "../accounts/audit.ts";
import { actorOf, type By } from "../accounts/model.ts";
import { AccountMap } from "../platform/account-map.ts";
import type { Command, UseCase, Verdict } from "../platform/commands/use-case.ts";
import type { Session, Transaction } from "../platform/db/database.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import { notFound, type Problem, Refusal } from "../platform/errors.ts";
import type { ModuleCore } from "../platform/module.ts";
import { lockWakened, wakeTasks } from "../platform/tasks/tasks.ts";
import { type AppChange, changeApp } from "./change-app.ts";
import { loadOwners, type Owner, type Owners } from "./load-owners.ts";
import { type App, DELIVER_TASK, headerNamesOf, missingSetup } from "./model.ts";
import { type AppOutcome, renderOutcome } from "./render.ts";
import { lockApps, updateApp } from "./store.ts";

type AppKey = { account_id: string; id: string };
type UpdateDeps = Pick<ModuleCore, "database" | "keyring" | "index_key" | "clock">;
type AppCommand = {
  id: string;
  change: AppChange;
  problems: readonly Problem[];
};
type Loaded = { apps: AccountMap<App>; owners: Owners };
type ChangedApp = AppOutcome & { change: AppChange };

/** Every change by an owner; pending deliveries that can now be sent are sent at once. */
export function updateApps({
  keyring,
  index_key,
}: UpdateDeps): UseCase<AppCommand, Loaded, ChangedApp> {
  const decideOne = (
    { apps, owners }: Loaded,
    { account_id, input }: Command<AppCommand>,
    now: Date,
  ): Verdict<ChangedApp> => {
    const known = apps.get(account_id, input.id);
    const app = known?.deleted_at ? undefined : known;
    const problems = [...input.problems, ...(app ? [] : [notFound("app_id")])];
    if (!app || problems.length > 0) return { refusal: Refusal.of(problems) };
    const output = change(app, owners.get(account_id)!, index_key, input.change, now);
    apps.set(account_id, input.id, output.endpoint);
    return { output, subject: null };
  };
  return {
    name: "update-apps",
    rows: () => 1,
    load: (tx, commands) => {
      const keys = commands.map(({ account_id, input }) => ({ account_id, id: input.id }));
      return lockForChange(tx, keyring, keys);
    },
    decide: decideOne,
    record: (tx, _loaded, accepted, now) => {
      for (const { command, output } of accepted) {
        const actor = actorOf(command);
        recordAppChange(tx, output, { actor, reason: "through the API" }, now);
      }
    },
    render: renderOutcome,
  };
}

/** Changes one application, for the command line; undefined if it does not exist. */
export function changeOneApp(
  { database, keyring, index_key, clock }: UpdateDeps,
  key: AppKey,
  wanted: AppChange,
  by: By,
): Promise<ChangedApp | undefined> {
  return database.transaction(async (tx) => {
    const { apps, owners } = await lockForChange(tx, keyring, [key]);
    const app = apps.get(key.account_id, key.id);
    if (!app) return undefined;
    const now = clock.now();
    const changed = change(app, owners.get(key.account_id)!, index_key, wanted, now);
    recordAppChange(tx, changed, by, now);
    return changed;
  });
}

function change(
  before: App,
  { account_key, webhooks_enabled_at }: Owner,
  index_key: Buffer,
  wanted: AppChange,
  now: Date,
): ChangedApp {
  const { app, revealed } = changeApp(before, wanted, { index_key, account_key }, now);
  const endpoint = { ...app, webhooks_enabled_at };
  return { endpoint, header_names: headerNamesOf(account_key, app), revealed, change: wanted };
}

/** Locks these applications against changes and against recording of outcomes until the commit. */
async function lockForChange(
  tx: Session,
  keyring: Keyring,
  keys: readonly AppKey[],
): Promise<Loaded> {
  const [, apps, owners] = await Promise.all([
    // In the delivery worker's order: first the task, then the application.
    lockWakened(tx, DELIVER_TASK, keys),
    lockApps(tx, keys),
    loadOwners(tx, keyring, keys),
  ]);
  return { apps: AccountMap.of(apps, (app) => app), owners };
}

/**
 * Writes a changed application with its audit entry, and wakes its sender, which also skips what is
 * pending for a deleted one: that may be any number of deliveries.
 */
function recordAppChange(
  tx: Transaction,
  { endpoint, change }: ChangedApp,
  by: By,
  now: Date,
): void {
  const { account_id, id } = endpoint;
  const is_deleted = endpoint.deleted_at !== null;
  const can_send = missingSetup(endpoint) === null && endpoint.webhook_state === "active";
  if (can_send || is_deleted) wakeTasks(tx, DELIVER_TASK, [endpoint], now);
  updateApp(tx, endpoint);
  const detail: Record<string, string> =
    change.kind === "update" ? { fields: Object.keys(change.fields).join(" ") } : {};
  const action = `app.${change.kind}` as const;
  recordAudit(tx, { account_id, ...by, action, record: `app:${id}`, detail }, now);
}
