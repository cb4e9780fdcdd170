import type { Revealed } from "../apps/change-app.ts";
import type { CheckedApp } from "../apps/check-app.ts";
import { makeApp, type NewApp, recordNewApp } from "../apps/create-app.ts";
import { type App, headerNamesOf, makeWebhookSecret } from "../apps/model.ts";
import type { UseCase, Verdict } from "../platform/commands/use-case.ts";
import type { AccountKeys, Keyring } from "../platform/encryption/keyring.ts";
import { type Problem, Refusal } from "../platform/errors.ts";
import type { Endpoint } from "./audience.ts";
import { renderApp } from "./render.ts";
import { findEnabled } from "./store.ts";

type AppRequest = { fields: CheckedApp; problems: readonly Problem[] };

type Loaded = { keys: AccountKeys; enabled: Map<string, Date | null> };
type Created = { endpoint: Endpoint; app: App; header_names: string[]; revealed: Revealed };

/** Creates applications; the response is the only place where their secrets appear. */
export function createApps(
  keyring: Keyring,
  index_key: Buffer,
): UseCase<AppRequest, Loaded, Created> {
  return {
    name: "create-apps",
    rows: () => 1,
    load: async (tx, commands) => {
      const account_ids = [...new Set(commands.map((command) => command.account_id))];
      const [keys, enabled] = await Promise.all([
        keyring.openAccounts(tx, account_ids),
        findEnabled(tx, account_ids),
      ]);
      return { keys, enabled };
    },
    decide: ({ keys, enabled }, commands, now) => {
      const verdicts = new Map<string, Verdict<Created>>();
      for (const { id, account_id, input } of commands) {
        if (input.problems.length > 0) {
          verdicts.set(id, { refusal: Refusal.of(input.problems) });
          continue;
        }
        const account_key = keys.get(account_id)!;
        const wanted = withDefaults(account_id, input.fields);
        const { app, client_secret } = makeApp({ index_key, account_key }, wanted, now);
        const endpoint = { ...app, webhooks_enabled_at: enabled.get(account_id) ?? null };
        const { webhook_secret } = wanted;
        const revealed = { client_secret, ...(webhook_secret ? { webhook_secret } : {}) };
        const header_names = headerNamesOf(account_key, app);
        verdicts.set(id, { output: { endpoint, app, header_names, revealed }, subject: null });
      }
      return verdicts;
    },
    record: (tx, _loaded, accepted, now) => {
      for (const { command, output } of accepted) {
        const actor = `api_key:${command.credential_id}` as const;
        recordNewApp(tx, output.app, { actor, reason: "through the API" }, now);
      }
    },
    render: ({ endpoint, header_names, revealed }) => renderApp(endpoint, header_names, revealed),
  };
}

/** An endpoint needs a secret: one is generated if none was given. */
export function withDefaults(account_id: string, fields: CheckedApp): NewApp {
  const webhook_url = fields.webhook_url ?? null;
  return {
    account_id,
    name: fields.name ?? "",
    flow: fields.flow ?? "authorization_code",
    redirect_uris: fields.redirect_uris ?? [],
    webhook_url,
    webhook_secret: fields.webhook_secret ?? (webhook_url === null ? null : makeWebhookSecret()),
    webhook_headers: fields.webhook_headers ?? null,
    events: fields.events ?? [],
    is_ordered: fields.is_ordered ?? true,
  };
}
