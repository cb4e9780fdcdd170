import Type from "typebox";
import { INVOICE_EVENTS, RAMP_EVENTS } from "../events/model.ts";
import { byStatus, listAnswer, listQuery } from "../platform/http/list.ts";
import {
  closedObject,
  nullable,
  optional,
  TIME,
  titledObject,
  UUID,
} from "../platform/schema-parts.ts";
import { DELIVERY_STATUSES } from "./model.ts";

const EVENT_NAMES = [...INVOICE_EVENTS, ...RAMP_EVENTS];

export const ReplayBody = closedObject({
  from: Type.String({ description: "ISO 8601: events from this time." }),
  to: optional(Type.String(), "ISO 8601: events before this time; default now."),
  only_failed: optional(Type.Boolean(), "Only events that failed or were skipped."),
});

export const ReplayAnswer = Type.Object({
  replay: Type.Object({
    id: UUID,
    app_id: UUID,
    from: TIME,
    to: TIME,
    only_failed: Type.Boolean(),
    created_at: TIME,
  }),
});

export const WebhookEventRecord = titledObject("WebhookEvent", {
  id: Type.String({ format: "uuid", description: "Also the `webhook-id` of its deliveries." }),
  event: Type.Enum([...EVENT_NAMES]),
  record_id: UUID,
  sequence: Type.Integer({ description: "The number of this change of the record." }),
  body: nullable(
    Type.String(),
    "The exact text that is sent and signed; null after its retention period.",
  ),
  created_at: TIME,
  updated_at: Type.String({
    format: "date-time",
    description: "An event never changes: the same as `created_at`.",
  }),
});
export const WebhookEventAnswer = Type.Object({ webhook_event: WebhookEventRecord });
export const WebhookEventListAnswer = listAnswer("webhook_events", WebhookEventRecord);
export const WebhookEventListQuery = listQuery({
  event: Type.Optional(Type.Enum([...EVENT_NAMES])),
});

export const DeliveryRecord = titledObject("WebhookDelivery", {
  id: UUID,
  app_id: UUID,
  webhook_event_id: UUID,
  event: Type.String(),
  status: Type.Enum([...DELIVERY_STATUSES]),
  reason: nullable(Type.String()),
  next_attempt_at: nullable(TIME),
  delivered_at: nullable(TIME),
  attempts: Type.Array(
    Type.Object({
      number: Type.Integer(),
      at: TIME,
      status: nullable(Type.Integer()),
      error: nullable(Type.String()),
      latency_ms: Type.Integer(),
      answer: nullable(Type.String(), "The first 16 kB of the response."),
    }),
    { description: "The latest attempts, up to 20; fewer where many deliveries are listed." },
  ),
  created_at: TIME,
  updated_at: TIME,
});
export const DeliveryListQuery = listQuery(byStatus(DELIVERY_STATUSES));
export const DeliveryListAnswer = listAnswer("deliveries", DeliveryRecord);
export const RedeliverBody = closedObject({
  app_id: optional(Type.String(), "Send it only to this application."),
});
