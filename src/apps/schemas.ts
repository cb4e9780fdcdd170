import Type from "typebox";
import { RAMP_EVENTS } from "../events/model.ts";
import { listAnswer, listQuery } from "../platform/http/list.ts";
import {
  closedObject,
  nullable,
  optional,
  TIME,
  titledObject,
  UUID,
} from "../platform/schema-parts.ts";
import { APP_FLOWS, EVENTS_MAX, REDIRECTS_MAX } from "./model.ts";

const WEBHOOK_STATES = ["active", "paused", "disabled", "not_enabled", "incomplete"] as const;

export const AppRecord = titledObject("App", {
  id: UUID,
  client_id: UUID,
  client_secret_last_four: Type.String(),
  name: Type.String(),
  flow: Type.Enum([...APP_FLOWS]),
  redirect_uris: Type.Array(Type.String()),
  used_at: nullable(TIME, "Time of the first successful API call with one of its tokens."),
  webhook: Type.Object({
    url: nullable(Type.String()),
    state: Type.Enum([...WEBHOOK_STATES], {
      description: "Only an `active` endpoint receives events.",
    }),
    reason: nullable(Type.String(), "Why no events are sent; null while they are sent."),
    has_secret: Type.Boolean(),
    secret_switch_at: nullable(TIME, "During a rotation: when only the new secret signs."),
    headers: Type.Array(Type.String(), { description: "Names of the custom headers." }),
    events: Type.Array(Type.Enum([...RAMP_EVENTS]), {
      description:
        "The ramp events that it receives; it receives invoice events without choosing them.",
    }),
    is_ordered: Type.Boolean({
      description:
        "Whether a record's next event waits until the previous one was delivered or given up.",
    }),
    failing_since: nullable(TIME),
    circuit_until: nullable(
      TIME,
      "After several failures in a row, nothing is sent before this time.",
    ),
  }),
  created_at: TIME,
  updated_at: TIME,
});

const shown_once = Type.Optional(Type.String({ description: "Shown once." }));
export const AppAnswer = Type.Object({ app: AppRecord });
export const AppSecretAnswer = titledObject("AppAnswer", {
  app: AppRecord,
  client_secret: shown_once,
  webhook_secret: shown_once,
  webhook_secret_standard: Type.Optional(
    Type.String({ description: "The same secret in the format of Standard Webhooks libraries." }),
  ),
});
export const AppListAnswer = listAnswer("apps", AppRecord);
export const AppListQuery = listQuery({});

const settings = {
  redirect_uris: optional(Type.Array(Type.String(), { maxItems: REDIRECTS_MAX })),
  webhook_url: optional(Type.String(), "Where events are sent; https, in sandbox also http."),
  webhook_headers: optional(
    Type.Record(Type.String(), Type.Unknown()),
    "Sent with every event, for gateways in front of the receiver. Never shown again, and " +
      "removed when `webhook_url` moves to another host: send them again with it.",
  ),
  events: optional(
    Type.Array(Type.String(), { maxItems: EVENTS_MAX }),
    `Ramp events to receive: ${RAMP_EVENTS.join(", ")}.`,
  ),
  is_ordered: optional(
    Type.Boolean(),
    "True (the default): a record's next event waits until the previous one was delivered or " +
      "given up. False: events are sent in any order.",
  ),
};

export const CreateAppBody = closedObject({
  app: closedObject({
    name: Type.String(),
    flow: optional(Type.String()),
    ...settings,
    webhook_secret: optional(Type.String(), "Generated if omitted and there is a webhook_url."),
  }),
});

export const UpdateAppBody = closedObject({
  app: closedObject({ name: optional(Type.String()), ...settings }),
});

export const RotateBody = closedObject({
  webhook_secret: optional(Type.String(), "Generated if omitted."),
  grace_hours: optional(
    Type.Integer({ minimum: 0, maximum: 168 }),
    "How many hours the old secret still signs; default 24; 0 switches immediately.",
  ),
});
