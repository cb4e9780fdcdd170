import { type App, headerNamesOf } from "../access/app-model.ts";
import { lockApps, updateApp } from "../access/apps-store.ts";
import { recordAudit } from "../access/audit.ts";
import { type AppChange, changeApp, type Revealed } from "../access/change-app.ts";
import type { Actor } from "../access/model.ts";
import { AccountMap } from "../platform/account-map.ts";
import type { UseCase, Verdict } from "../platform/commands/use-case.ts";
import type { Session, Transaction } from "../platform/db/database.ts";
import type { AccountKeys, Keyring } from "../platform/encryption/keyring.ts";
import { notFound, type Problem, Refusal } from "../platform/errors.ts";
import { lockWakened, wakeTasks } from "../platform/tasks/tasks.ts";
import { type Endpoint, missingSetup } from "./audience.ts";
import { DELIVER_TASK } from "./model.ts";
import { skipDeleted } from "./record-outcomes.ts";
import { renderApp } from "./render.ts";
import { findEnabled } from "./webhook-store.ts";

export type AppCommand = { id: string; change: AppChange; problems: readonly Problem[] };

type Loaded = { apps: AccountMap<App>; keys: AccountKeys; enabled: Map<string, Date | null> };
type Changed = {
  endpoint: Endpoint;
  header_names: string[];
  revealed: Revealed;
  change: AppChange;
};

/** Every change that an owner makes; what waits is sent at once where it can be. */
export function updateApps(
  keyring: Keyring,
  index_key: Buffer,
): UseCase<AppCommand, Loaded, Changed> {
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
      const verdicts = new Map<string, Verdict<Changed>>();
      for (const { id, account_id, input } of commands) {
        const known = apps.get(account_id, input.id);
        const app = known?.deleted_at ? undefined : known;
        const problems = [...input.problems, ...(app ? [] : [notFound("app_id")])];
        if (!app || problems.length > 0) {
          verdicts.set(id, { refusal: Refusal.of(problems) });
          continue;
        }
        const account_key = keys.get(account_id)!;
        const changed = changeApp(app, input.change, { index_key, account_key }, now);
        apps.set(account_id, input.id, changed.app);
        const webhooks_enabled_at = enabled.get(account_id) ?? null;
        const endpoint = { ...changed.app, webhooks_enabled_at };
        const header_names = headerNamesOf(account_key, changed.app);
        const { change } = input;
        const output = { endpoint, header_names, revealed: changed.revealed, change };
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

/** Until the commit nobody else changes these applications, nor writes what was sent to them. */
export async function lockForChange(
  tx: Session,
  keys: readonly { account_id: string; id: string }[],
): Promise<App[]> {
  const [, apps] = await Promise.all([
    // As the deliverer does: first the task, then the application.
    lockWakened(tx, DELIVER_TASK, keys),
    lockApps(tx, keys),
  ]);
  return apps;
}

/** Writes a changed application, with its audit entry, and wakes what waits for it. */
export function recordAppChange(
  tx: Transaction,
  { endpoint, change }: Pick<Changed, "endpoint" | "change">,
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
