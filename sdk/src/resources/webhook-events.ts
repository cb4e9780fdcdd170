import type { CallOptions } from "../api.ts";
import type { List } from "../list.ts";
import type { Query, Schema } from "../types.ts";
import { Resource } from "./resource.ts";

const ONE = "/webhook_events/{webhook_event_id}";
const DELIVERIES = `${ONE}/deliveries` as const;

/** An event as stored; its `body` is the text that `webhooks.verify` reads. */
export type RecordedWebhookEvent = Schema<"WebhookEvent">;
export type WebhookDelivery = Schema<"WebhookDelivery">;

/** The account's events and their deliveries. */
export class WebhookEvents extends Resource {
  /** Oldest first: start after the last one you have. */
  list(query: Query<"/webhook_events"> = {}, options?: CallOptions): List<RecordedWebhookEvent> {
    return this.api.list("/webhook_events", "webhook_events", { query }, options);
  }

  async show(webhook_event_id: string, options?: CallOptions): Promise<RecordedWebhookEvent> {
    const input = { path: { webhook_event_id } };
    return this.api.sendFor("webhook_event", "get", ONE, input, options);
  }

  /** One per application, each with its latest attempts. */
  deliveries(
    webhook_event_id: string,
    query: Query<typeof DELIVERIES> = {},
    options?: CallOptions,
  ): List<WebhookDelivery> {
    const input = { path: { webhook_event_id }, query };
    return this.api.list(DELIVERIES, "deliveries", input, options);
  }

  /** Sends it again, to one application or to all that received it. */
  async redeliver(
    webhook_event_id: string,
    app_id: string | null = null,
    options?: CallOptions,
  ): Promise<WebhookDelivery[]> {
    const input = { path: { webhook_event_id }, body: { app_id } };
    return this.api.sendFor("deliveries", "post", `${ONE}/redeliver`, input, options);
  }
}
