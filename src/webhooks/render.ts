import type { Static } from "typebox";
import { compileRender } from "../platform/http/render.ts";
import type { Delivery } from "./delivery/store.ts";
import type { DeliveryAttemptRow } from "./redelivery-store.ts";
import {
  DeliveryListAnswer,
  type DeliveryRecord,
  ReplayAnswer,
  WebhookEventAnswer,
  WebhookEventListAnswer,
  type WebhookEventRecord,
} from "./schemas.ts";
import type { Replay } from "./store.ts";

const writeReplay = compileRender(ReplayAnswer);
const writeEvent = compileRender(WebhookEventAnswer);
const writeEvents = compileRender(WebhookEventListAnswer);
const writeDeliveries = compileRender(DeliveryListAnswer);

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

export function toDeliveryRecord({
  delivery,
  attempts,
}: ReadableDelivery): Static<typeof DeliveryRecord> {
  return {
    id: delivery.id,
    app_id: delivery.app_id,
    webhook_event_id: delivery.event_id,
    event: delivery.name,
    status: delivery.status,
    reason: delivery.reason,
    next_attempt_at: delivery.next_attempt_at?.toISOString() ?? null,
    delivered_at: delivery.delivered_at?.toISOString() ?? null,
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
