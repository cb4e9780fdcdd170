import type { Static } from "typebox";
import type { Revealed } from "../apps/change-app.ts";
import { compileRender } from "../platform/http/render.ts";
import { type Endpoint, missingSetup } from "./audience.ts";
import { standardForm } from "./delivery/sign.ts";
import type { Delivery } from "./delivery/store.ts";
import type { DeliveryAttemptRow } from "./redelivery-store.ts";
import {
  AppAnswer,
  AppListAnswer,
  type AppRecord,
  AppSecretAnswer,
  DeliveryListAnswer,
  type DeliveryRecord,
  RedeliverAnswer,
  ReplayAnswer,
  WebhookEventAnswer,
  WebhookEventListAnswer,
  type WebhookEventRecord,
} from "./schemas.ts";
import type { Replay } from "./store.ts";

const writeApp = compileRender(AppAnswer);
const writeAppSecret = compileRender(AppSecretAnswer);
const writeApps = compileRender(AppListAnswer);
const writeReplay = compileRender(ReplayAnswer);
const writeEvent = compileRender(WebhookEventAnswer);
const writeEvents = compileRender(WebhookEventListAnswer);
const writeDeliveries = compileRender(DeliveryListAnswer);
const writeRedelivered = compileRender(RedeliverAnswer);

export function renderApp(endpoint: Endpoint, header_names: string[], revealed?: Revealed): string {
  const app = toAppRecord(endpoint, header_names);
  return revealed ? writeAppSecret({ app, ...toSecrets(revealed) }) : writeApp({ app });
}

/** A secret as given and in the form of Standard Webhooks libraries. */
export function toSecrets({ client_secret, webhook_secret }: Revealed) {
  return {
    ...(client_secret ? { client_secret } : {}),
    ...(webhook_secret
      ? { webhook_secret, webhook_secret_standard: standardForm(webhook_secret) }
      : {}),
  };
}

export function renderApps(
  endpoints: readonly Endpoint[],
  headerNames: (endpoint: Endpoint) => string[],
  has_more: boolean,
): string {
  const apps = endpoints.map((one) => toAppRecord(one, headerNames(one)));
  return writeApps({ apps, has_more });
}

/** Applies a rotation whose time has come, which is stored only with the next change. */
export function asOf(endpoint: Endpoint, now: Date): Endpoint {
  const switch_at = endpoint.webhook_secret_switch_at;
  return switch_at && switch_at <= now ? { ...endpoint, webhook_secret_switch_at: null } : endpoint;
}

export function toAppRecord(endpoint: Endpoint, header_names: string[]): Static<typeof AppRecord> {
  const missing = missingSetup(endpoint);
  const state =
    endpoint.webhooks_enabled_at === null
      ? "not_enabled"
      : missing
        ? "incomplete"
        : endpoint.webhook_state;
  return {
    id: endpoint.id,
    client_id: endpoint.id,
    client_secret_last_four: endpoint.client_secret_last_four,
    name: endpoint.name,
    flow: endpoint.flow,
    redirect_uris: endpoint.redirect_uris,
    used_at: isoOf(endpoint.used_at),
    webhook: {
      url: endpoint.webhook_url,
      state,
      reason: missing ?? endpoint.webhook_state_reason,
      has_secret: endpoint.webhook_secret !== null,
      secret_switch_at: isoOf(endpoint.webhook_secret_switch_at),
      headers: header_names,
      events: endpoint.events,
      is_ordered: endpoint.is_ordered,
      failing_since: isoOf(endpoint.failing_since),
      circuit_until: isoOf(endpoint.circuit_until),
    },
    created_at: endpoint.created_at.toISOString(),
    updated_at: endpoint.updated_at.toISOString(),
  };
}

export function renderReplay(replay: Replay): string {
  return writeReplay({
    replay: {
      id: replay.id,
      app_id: replay.app_id,
      from: replay.since.toISOString(),
      to: replay.until.toISOString(),
      only_failed: replay.only_failed,
      created_at: replay.created_at.toISOString(),
    },
  });
}

/** An event with its body decrypted; null if it can no longer be. */
export type ReadableEvent = {
  id: string;
  name: string;
  record_id: string;
  sequence: number;
  created_at: Date;
  text: string | null;
};

export function renderEvent(event: ReadableEvent): string {
  return writeEvent({ webhook_event: toEventRecord(event) });
}

export function renderEvents(events: readonly ReadableEvent[], has_more: boolean): string {
  return writeEvents({ webhook_events: events.map(toEventRecord), has_more });
}

function toEventRecord(event: ReadableEvent): Static<typeof WebhookEventRecord> {
  return {
    id: event.id,
    event: event.name as Static<typeof WebhookEventRecord>["event"],
    record_id: event.record_id,
    sequence: event.sequence,
    body: event.text,
    created_at: event.created_at.toISOString(),
    updated_at: event.created_at.toISOString(),
  };
}

/** An attempt with the response decrypted. */
type ReadableAttempt = Omit<DeliveryAttemptRow, "answer"> & { answer: string | null };

/** With the attempts that are shown of it, oldest first. */
export type ReadableDelivery = { delivery: Delivery; attempts: readonly ReadableAttempt[] };

export function renderDeliveries(
  deliveries: readonly ReadableDelivery[],
  has_more: boolean,
): string {
  return writeDeliveries({ deliveries: deliveries.map(toDeliveryRecord), has_more });
}

export function renderRedelivered(deliveries: readonly ReadableDelivery[]): string {
  return writeRedelivered({ deliveries: deliveries.map(toDeliveryRecord) });
}

function toDeliveryRecord({ delivery, attempts }: ReadableDelivery): Static<typeof DeliveryRecord> {
  return {
    id: delivery.id,
    app_id: delivery.app_id,
    webhook_event_id: delivery.event_id,
    event: delivery.name,
    status: delivery.status,
    reason: delivery.reason,
    next_attempt_at: isoOf(delivery.next_attempt_at),
    delivered_at: isoOf(delivery.delivered_at),
    attempts: attempts.map(({ number, at, status, error, latency_ms, answer }) => ({
      number,
      at: at.toISOString(),
      status,
      error,
      latency_ms,
      answer,
    })),
    created_at: delivery.created_at.toISOString(),
    updated_at: delivery.updated_at.toISOString(),
  };
}

function isoOf(date: Date | null): string | null {
  return date === null ? null : date.toISOString();
}
