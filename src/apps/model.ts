import { randomBytes } from "node:crypto";
import type { RampEvent } from "../events/model.ts";
import { keyedHash, open, type Place, seal } from "../platform/encryption/cipher.ts";

/** Wakes an application's sender; `webhooks/delivery` handles it. */
export const DELIVER_TASK = "deliver-webhooks";

export const APP_FLOWS = ["authorization_code", "client_credentials"] as const;
export type AppFlow = (typeof APP_FLOWS)[number];

export const REDIRECTS_MAX = 20;
/** More than there are, because a list may contain duplicates. */
export const EVENTS_MAX = 20;

type WebhookState = "active" | "paused" | "disabled";

/** What deliveries have shown about an application's endpoint. */
export type Health = {
  /** The first failure since the last success. */
  failing_since: Date | null;
  /** The last failure. */
  failed_at: Date | null;
  /** Since the last success, across retries. */
  failures_in_a_row: number;
  /** How often in a row the circuit breaker opened without a success in between. */
  circuit_failures: number;
  circuit_until: Date | null;
};

export const WELL: Health = {
  failing_since: null,
  failed_at: null,
  failures_in_a_row: 0,
  circuit_failures: 0,
  circuit_until: null,
};

/** An OAuth application as stored; its id is its `client_id`. */
export type App = Health & {
  account_id: string;
  id: string;
  name: string;
  flow: AppFlow;
  client_secret_hash: Buffer;
  client_secret_last_four: string;
  redirect_uris: string[];
  /** The first API call with one of its tokens that was answered 2xx. */
  used_at: Date | null;
  webhook_url: string | null;
  /** Sealed, as are the next secret and the headers; `openForApp` opens them. */
  webhook_secret: Buffer | null;
  webhook_secret_next: Buffer | null;
  webhook_secret_switch_at: Date | null;
  webhook_headers: Buffer | null;
  events: RampEvent[];
  is_ordered: boolean;
  webhook_state: WebhookState;
  webhook_state_reason: string | null;
  /** Incremented by every change of the owner. */
  webhook_version: number;
  created_at: Date;
  updated_at: Date;
  deleted_at: Date | null;
};

/** An application with the account setting that decides whether anything is sent to it. */
export type Endpoint = App & { webhooks_enabled_at: Date | null };

/** Why nothing is sent to this application; null when it is set up completely. */
export function missingSetup(endpoint: Endpoint): string | null {
  if (endpoint.webhooks_enabled_at === null) {
    return "Webhooks are not enabled for this account; ask the operator to enable them.";
  }
  if (endpoint.webhook_url === null && endpoint.webhook_secret === null) {
    return "Set a webhook URL and a webhook secret.";
  }
  if (endpoint.webhook_url === null) return "Set a webhook URL.";
  return endpoint.webhook_secret === null ? "Set a webhook secret." : null;
}

/** A person's consent that an application acts for one of their accounts. */
export type AppGrant = {
  /** The granting account. */
  account_id: string;
  app_id: string;
  app_account_id: string;
  person_id: string;
  /** Which the consent page named: for another one the person is asked again. */
  redirect_uri: string;
  created_at: Date;
  revoked_at: Date | null;
};

const SECRET_RANDOM_BYTES = 32;

/** URL-safe, so that form-encoded credentials need no escaping. */
export function makeClientSecret(): string {
  return randomBytes(SECRET_RANDOM_BYTES).toString("base64url");
}

export function hashClientSecret(index_key: Buffer, app_id: string, secret: string): Buffer {
  return keyedHash(index_key, "client secret", app_id, secret);
}

export type SealedColumn = "webhook_secret" | "webhook_secret_next" | "webhook_headers";

/** Seals a secret of an application with its account's key. */
export function sealForApp(
  account_key: Buffer,
  app: { account_id: string; id: string },
  column: SealedColumn,
  text: string,
): Buffer {
  return seal(account_key, 1, placeOf(app, column), Buffer.from(text));
}

export function openForApp(
  account_key: Buffer,
  app: { account_id: string; id: string },
  column: SealedColumn,
  sealed: Buffer,
): string {
  return open(account_key, placeOf(app, column), sealed).toString();
}

/** Sealed custom headers; null when there are none. */
export function sealHeaders(
  account_key: Buffer,
  app: { account_id: string; id: string },
  headers: Readonly<Record<string, string>>,
): Buffer | null {
  if (Object.keys(headers).length === 0) return null;
  return sealForApp(account_key, app, "webhook_headers", JSON.stringify(headers));
}

/** The names of an application's custom headers; their values are secrets. */
export function headerNamesOf(account_key: Buffer, app: App): string[] {
  if (!app.webhook_headers) return [];
  const text = openForApp(account_key, app, "webhook_headers", app.webhook_headers);
  return Object.keys(JSON.parse(text));
}

function placeOf(app: { account_id: string; id: string }, column: SealedColumn): Place {
  return { account_id: app.account_id, table: "apps", column, record_id: app.id };
}
