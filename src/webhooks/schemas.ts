import Type from "typebox";
import { EVENTS_MAX, REDIRECTS_MAX } from "../apps/check-app.ts";
import { APP_FLOWS } from "../apps/model.ts";
import { INVOICE_EVENTS, RAMP_EVENTS } from "../events/model.ts";
import { listAnswer, listQuery } from "../platform/http/list.ts";
import { DELIVERY_STATUSES } from "./model.ts";

const closed = { additionalProperties: false };
const nullable = Type.Union([Type.String(), Type.Null()]);
const time = Type.String({ format: "date-time" });
const optional_time = Type.Union([time, Type.Null()]);
const uuid = Type.String({ format: "uuid" });
const EVENT_NAMES = [...INVOICE_EVENTS, ...RAMP_EVENTS];

const WEBHOOK_STATES = ["active", "paused", "disabled", "not_enabled", "incomplete"] as const;

export const AppRecord = Type.Object(
  {
    id: uuid,
    client_id: uuid,
    client_secret_last_four: Type.String(),
    name: Type.String(),
    flow: Type.Enum([...APP_FLOWS]),
    redirect_uris: Type.Array(Type.String()),
    used_at: Type.Union([time, Type.Null()], {
      description: "Time of the first successful API call with one of its tokens.",
    }),
    webhook: Type.Object({
      url: nullable,
      state: Type.Enum([...WEBHOOK_STATES], {
        description: "Only an `active` endpoint receives events.",
      }),
      reason: Type.Union([Type.String(), Type.Null()], {
        description: "Why no events are sent; null while they are sent.",
      }),
      has_secret: Type.Boolean(),
      secret_switch_at: Type.Union([time, Type.Null()], {
        description: "During a rotation: when only the new secret signs.",
      }),
      headers: Type.Array(Type.String(), { description: "Names of the custom headers." }),
      events: Type.Array(Type.Enum([...RAMP_EVENTS]), {
        description:
          "The ramp events that it receives; it receives invoice events without choosing them.",
      }),
      is_ordered: Type.Boolean({
        description:
          "Whether a record's next event waits until the previous one was delivered or given up.",
      }),
      failing_since: optional_time,
      circuit_until: Type.Union([time, Type.Null()], {
        description: "After several failures in a row, nothing is sent before this time.",
      }),
    }),
    created_at: time,
    updated_at: time,
  },
  { title: "App" },
);

const secrets = {
  client_secret: Type.Optional(Type.String({ description: "Shown once." })),
  webhook_secret: Type.Optional(Type.String({ description: "Shown once." })),
  webhook_secret_standard: Type.Optional(
    Type.String({ description: "The same secret in the format of Standard Webhooks libraries." }),
  ),
};
export const AppAnswer = Type.Object({ app: AppRecord });
export const AppSecretAnswer = Type.Object({ app: AppRecord, ...secrets }, { title: "AppAnswer" });
export const AppListAnswer = listAnswer("apps", AppRecord);
export const AppListQuery = listQuery({});

const settings = {
  redirect_uris: Type.Optional(
    Type.Union([Type.Array(Type.String(), { maxItems: REDIRECTS_MAX }), Type.Null()]),
  ),
  webhook_url: Type.Optional(
    Type.Union([Type.String(), Type.Null()], {
      description: "Where events are sent; https, in sandbox also http.",
    }),
  ),
  webhook_headers: Type.Optional(
    Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.Null()], {
      description: "Sent with every event, for gateways in front of the receiver.",
    }),
  ),
  events: Type.Optional(
    Type.Union([Type.Array(Type.String(), { maxItems: EVENTS_MAX }), Type.Null()], {
      description: `Ramp events to receive: ${RAMP_EVENTS.join(", ")}.`,
    }),
  ),
  is_ordered: Type.Optional(
    Type.Union([Type.Boolean(), Type.Null()], {
      description:
        "True (the default): a record's next event waits until the previous one was delivered or " +
        "given up. False: events are sent in any order.",
    }),
  ),
};

export const CreateAppBody = Type.Object(
  {
    app: Type.Object(
      {
        name: Type.String(),
        flow: Type.Optional(Type.Union([Type.String(), Type.Null()])),
        ...settings,
        webhook_secret: Type.Optional(
          Type.Union([Type.String(), Type.Null()], {
            description: "Generated if omitted and there is a webhook_url.",
          }),
        ),
      },
      closed,
    ),
  },
  closed,
);

export const UpdateAppBody = Type.Object(
  {
    app: Type.Object(
      { name: Type.Optional(Type.Union([Type.String(), Type.Null()])), ...settings },
      closed,
    ),
  },
  closed,
);

export const RotateBody = Type.Object(
  {
    webhook_secret: Type.Optional(
      Type.Union([Type.String(), Type.Null()], { description: "Generated if omitted." }),
    ),
    grace_hours: Type.Optional(
      Type.Union([Type.Integer({ minimum: 0, maximum: 168 }), Type.Null()], {
        description:
          "How many hours the old secret still signs; default 24; 0 switches immediately.",
      }),
    ),
  },
  closed,
);

export const ReplayBody = Type.Object(
  {
    from: Type.String({ description: "ISO 8601: events from this time." }),
    to: Type.Optional(
      Type.Union([Type.String(), Type.Null()], {
        description: "ISO 8601: events before this time; default now.",
      }),
    ),
    only_failed: Type.Optional(
      Type.Union([Type.Boolean(), Type.Null()], {
        description: "Only events that failed or were skipped.",
      }),
    ),
  },
  closed,
);

export const ReplayAnswer = Type.Object({
  replay: Type.Object({
    id: uuid,
    app_id: uuid,
    from: time,
    to: time,
    only_failed: Type.Boolean(),
    created_at: time,
  }),
});

export const WebhookEventRecord = Type.Object(
  {
    id: Type.String({ format: "uuid", description: "Also the `webhook-id` of its deliveries." }),
    event: Type.Enum([...EVENT_NAMES]),
    record_id: uuid,
    sequence: Type.Integer({ description: "The number of this change of the record." }),
    body: Type.Union([Type.String(), Type.Null()], {
      description: "The exact text that is sent and signed; null after its retention period.",
    }),
    created_at: time,
    updated_at: Type.String({
      format: "date-time",
      description: "An event never changes: the same as `created_at`.",
    }),
  },
  { title: "WebhookEvent" },
);
export const WebhookEventAnswer = Type.Object({ webhook_event: WebhookEventRecord });
export const WebhookEventListAnswer = listAnswer("webhook_events", WebhookEventRecord);
export const WebhookEventListQuery = Type.Object(
  {
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 100, default: 25, description: "Events per page." }),
    ),
    starting_after: Type.Optional(
      Type.String({ description: "Id of the last event that you read." }),
    ),
    created_after: Type.Optional(
      Type.String({ description: "ISO 8601: only events created after this time." }),
    ),
    created_before: Type.Optional(
      Type.String({ description: "ISO 8601: only events created before this time." }),
    ),
    event: Type.Optional(Type.Enum([...EVENT_NAMES])),
  },
  closed,
);

export const DeliveryRecord = Type.Object(
  {
    id: uuid,
    app_id: uuid,
    webhook_event_id: uuid,
    event: Type.String(),
    status: Type.Enum([...DELIVERY_STATUSES]),
    reason: nullable,
    next_attempt_at: optional_time,
    delivered_at: optional_time,
    attempts: Type.Array(
      Type.Object({
        number: Type.Integer(),
        at: time,
        status: Type.Union([Type.Integer(), Type.Null()]),
        error: nullable,
        latency_ms: Type.Integer(),
        answer: Type.Union([Type.String(), Type.Null()], {
          description: "The first 16 kB of the response.",
        }),
      }),
      { description: "The latest 20 attempts." },
    ),
    created_at: time,
    updated_at: time,
  },
  { title: "WebhookDelivery" },
);
export const DeliveryListQuery = listQuery({
  status: Type.Optional(Type.Enum([...DELIVERY_STATUSES])),
});
export const DeliveryListAnswer = listAnswer("deliveries", DeliveryRecord);
export const RedeliverAnswer = Type.Object({ deliveries: Type.Array(DeliveryRecord) });
export const RedeliverBody = Type.Object(
  {
    app_id: Type.Optional(
      Type.Union([Type.String(), Type.Null()], {
        description: "Send it only to this application.",
      }),
    ),
  },
  closed,
);
