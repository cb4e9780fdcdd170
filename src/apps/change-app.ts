import type { RampEvent } from "../events/model.ts";
import {
  type App,
  hashClientSecret,
  makeClientSecret,
  makeWebhookSecret,
  openForApp,
  sealForApp,
  WELL,
} from "./model.ts";

/** What the owner of an application may ask for. */
export type AppChange =
  | { kind: "update"; fields: AppFields }
  | { kind: "pause" }
  /** Also enables an endpoint that was disabled. */
  | { kind: "resume" }
  /** A null secret is made up; with no time to switch over, the new one signs at once. */
  | { kind: "rotate_webhook_secret"; webhook_secret: string | null; grace_ms: number }
  /** Ends the time to switch over. */
  | { kind: "switch_webhook_secret" }
  | { kind: "rotate_client_secret" }
  /** It counts as not yet used: until it is again, it is told of every invoice of its account. */
  | { kind: "reset_used" }
  /** For good: its tokens, consents and deliveries end with it. */
  | { kind: "delete" };

/** Absent fields stay as they are. */
type AppFields = {
  name?: string;
  redirect_uris?: string[];
  webhook_url?: string | null;
  webhook_headers?: Record<string, string>;
  events?: RampEvent[];
  is_ordered?: boolean;
};

/** Secrets that the change made, to be shown once. */
export type Revealed = { client_secret?: string; webhook_secret?: string };

export type AppKeys = { index_key: Buffer; account_key: Buffer };

/** The application after a change; what was learnt of a broken endpoint goes with its repair. */
export function changeApp(
  app: App,
  change: AppChange,
  keys: AppKeys,
  now: Date,
): { app: App; revealed: Revealed } {
  const changed = { ...settleSwitch(app, keys, now), updated_at: now };
  switch (change.kind) {
    case "update":
      return { app: updated(changed, change.fields, keys), revealed: {} };
    case "pause":
      return { app: { ...changed, webhook_state: "paused", ...PAUSED }, revealed: {} };
    case "resume":
      return { app: { ...changed, webhook_state: "active", ...RESUMED }, revealed: {} };
    case "reset_used":
      return { app: { ...changed, used_at: null }, revealed: {} };
    case "delete":
      return { app: { ...changed, deleted_at: now }, revealed: {} };
    case "rotate_webhook_secret":
      return rotated(changed, change, keys, now);
    case "switch_webhook_secret":
      return { app: settleSwitch(changed, keys, null), revealed: {} };
    case "rotate_client_secret": {
      const client_secret = makeClientSecret();
      const client_secret_hash = hashClientSecret(keys.index_key, app.id, client_secret);
      const client_secret_last_four = client_secret.slice(-4);
      return {
        app: { ...changed, client_secret_hash, client_secret_last_four },
        revealed: { client_secret },
      };
    }
  }
}

const PAUSED = { webhook_state_reason: "Paused by the account." };
const RESUMED = { ...WELL, webhook_state_reason: null };

function updated(app: App, fields: AppFields, { account_key }: AppKeys): App {
  const { webhook_headers, ...plain } = fields;
  const sealed =
    webhook_headers === undefined
      ? {}
      : {
          webhook_headers:
            Object.keys(webhook_headers).length === 0
              ? null
              : sealForApp(account_key, app, "webhook_headers", JSON.stringify(webhook_headers)),
        };
  const is_moved = fields.webhook_url !== undefined && fields.webhook_url !== app.webhook_url;
  return {
    ...app,
    ...plain,
    ...sealed,
    // Another address is another endpoint: it is not judged by the failures of the old one.
    ...(is_moved ? WELL : {}),
  };
}

function rotated(
  app: App,
  change: { webhook_secret: string | null; grace_ms: number },
  { account_key }: AppKeys,
  now: Date,
): { app: App; revealed: Revealed } {
  const webhook_secret = change.webhook_secret ?? makeWebhookSecret();
  const revealed = { webhook_secret };
  const is_at_once = app.webhook_secret === null || change.grace_ms === 0;
  const sealed = (column: "webhook_secret" | "webhook_secret_next") =>
    sealForApp(account_key, app, column, webhook_secret);
  if (is_at_once) {
    return { app: { ...app, webhook_secret: sealed("webhook_secret"), ...NO_NEXT }, revealed };
  }
  return {
    app: {
      ...app,
      webhook_secret_next: sealed("webhook_secret_next"),
      webhook_secret_switch_at: new Date(now.getTime() + change.grace_ms),
    },
    revealed,
  };
}

const NO_NEXT = { webhook_secret_next: null, webhook_secret_switch_at: null };

/** Once the time to switch over has ended, or is ended (null), the next secret is the secret. */
function settleSwitch(app: App, { account_key }: AppKeys, now: Date | null): App {
  const { webhook_secret_next, webhook_secret_switch_at } = app;
  if (!webhook_secret_next || !webhook_secret_switch_at) return app;
  if (now && webhook_secret_switch_at > now) return app;
  const text = openForApp(account_key, app, "webhook_secret_next", webhook_secret_next);
  return {
    ...app,
    webhook_secret: sealForApp(account_key, app, "webhook_secret", text),
    ...NO_NEXT,
  };
}
