import { randomBytes } from "node:crypto";
import type { RampEvent } from "../events/model.ts";
import { keyedHash, open, type Place, seal } from "../platform/encryption/cipher.ts";

export const APP_FLOWS = ["authorization_code", "client_credentials"] as const;
export type AppFlow = (typeof APP_FLOWS)[number];

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

/** A person's consent that an application acts for one of their accounts. */
export type AppGrant = {
  /** The granting account. */
  account_id: string;
  app_id: string;
  app_account_id: string;
  person_id: string;
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

/** The Standard Webhooks format: the text after `whsec_` is the base64 of the key. */
export function makeWebhookSecret(): string {
  return `whsec_${randomBytes(SECRET_RANDOM_BYTES).toString("base64")}`;
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

/** The names of an application's custom headers; their values are secrets. */
export function headerNamesOf(account_key: Buffer, app: App): string[] {
  if (!app.webhook_headers) return [];
  const text = openForApp(account_key, app, "webhook_headers", app.webhook_headers);
  return Object.keys(JSON.parse(text));
}

function placeOf(app: { account_id: string; id: string }, column: SealedColumn): Place {
  return { account_id: app.account_id, table: "apps", column, record_id: app.id };
}
