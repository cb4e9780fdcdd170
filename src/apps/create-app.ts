import { recordAudit } from "../accounts/audit.ts";
import type { Actor } from "../accounts/model.ts";
import type { RampEvent } from "../events/model.ts";
import type { Transaction } from "../platform/db/database.ts";
import { newId } from "../platform/ids.ts";
import {
  type App,
  type AppFlow,
  hashClientSecret,
  makeClientSecret,
  sealForApp,
  WELL,
} from "./model.ts";
import { insertApp } from "./store.ts";

export type NewApp = {
  account_id: string;
  name: string;
  flow: AppFlow;
  redirect_uris: readonly string[];
  webhook_url: string | null;
  webhook_secret: string | null;
  webhook_headers: Readonly<Record<string, string>> | null;
  events: readonly RampEvent[];
  is_ordered: boolean;
};

/** Creates an application and returns its client secret once: only a keyed hash is stored. */
export function createApp(
  tx: Transaction,
  keys: { index_key: Buffer; account_key: Buffer },
  input: NewApp & { actor: Actor; reason: string },
  now: Date,
): { app: App; client_secret: string } {
  const made = makeApp(keys, input, now);
  recordNewApp(tx, made.app, input, now);
  return made;
}

/** Runs in the caller's transaction. */
export function recordNewApp(
  tx: Transaction,
  app: App,
  { actor, reason }: { actor: Actor; reason: string },
  now: Date,
): void {
  const { account_id, id } = app;
  insertApp(tx, app);
  recordAudit(tx, { account_id, actor, action: "app.create", record: `app:${id}`, reason }, now);
}

export function makeApp(
  keys: { index_key: Buffer; account_key: Buffer },
  input: NewApp,
  now: Date,
): { app: App; client_secret: string } {
  const { account_id, webhook_secret, webhook_headers } = input;
  const id = newId(now);
  const client_secret = makeClientSecret();
  const sealed = (column: "webhook_secret" | "webhook_headers", text: string | null) =>
    text === null ? null : sealForApp(keys.account_key, { account_id, id }, column, text);
  const app: App = {
    account_id,
    id,
    name: input.name,
    flow: input.flow,
    client_secret_hash: hashClientSecret(keys.index_key, id, client_secret),
    client_secret_last_four: client_secret.slice(-4),
    redirect_uris: [...input.redirect_uris],
    used_at: null,
    webhook_url: input.webhook_url,
    webhook_secret: sealed("webhook_secret", webhook_secret),
    webhook_secret_next: null,
    webhook_secret_switch_at: null,
    webhook_headers: sealed(
      "webhook_headers",
      webhook_headers && Object.keys(webhook_headers).length > 0
        ? JSON.stringify(webhook_headers)
        : null,
    ),
    events: [...input.events],
    is_ordered: input.is_ordered,
    webhook_state: "active",
    webhook_state_reason: null,
    webhook_version: 0,
    ...WELL,
    created_at: now,
    updated_at: now,
    deleted_at: null,
  };
  return { app, client_secret };
}
