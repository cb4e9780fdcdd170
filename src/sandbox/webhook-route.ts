import Type from "typebox";
import { INVOICE_EVENTS, RAMP_EVENTS } from "../events/model.ts";
import { Refusal } from "../platform/errors.ts";
import { compileRender } from "../platform/http/render.ts";
import type { AddRoute } from "../platform/http/route.ts";
import { newId } from "../platform/ids.ts";
import type { ModuleCore } from "../platform/module.ts";
import { Problems } from "../platform/problems.ts";
import { closedObject, optional } from "../platform/schema-parts.ts";
import { sendSample } from "../webhooks/send-sample.ts";
import { sampleEvent, sampleStatuses } from "./sample-events.ts";

type SandboxWebhookDeps = Pick<ModuleCore, "database" | "clock" | "keyring" | "wake">;

const NAMES = [...RAMP_EVENTS, ...INVOICE_EVENTS];

const SandboxWebhookBody = closedObject({
  webhook_type: Type.Enum([...NAMES]),
  status: optional(Type.String(), "The status of the sample record."),
});

const SandboxWebhookAnswer = Type.Object({
  webhook: Type.Object({
    webhook_type: Type.String(),
    deliveries: Type.Integer({ description: "How many applications receive it." }),
  }),
});

const writeAnswer = compileRender(SandboxWebhookAnswer);

/** Sends a sample event to the account's applications that subscribed to it. */
export function addSandboxWebhookRoute(addRoute: AddRoute, deps: SandboxWebhookDeps): void {
  addRoute({
    method: "POST",
    path: "/sandbox/webhook",
    operation: "sendSandboxWebhook",
    stores_nothing: true,
    summary: "Send a sample event",
    description:
      "Sends a sample event to every application of the account that receives this type.",
    tag: "Sandbox",
    body: SandboxWebhookBody,
    body_example: { webhook_type: "offramp_update", status: "fiat_sent" },
    answer: SandboxWebhookAnswer,
    errors: [],
    handle: async ({ caller, body, problems }) => {
      const found = new Problems(problems);
      const { webhook_type: name, status = null } = body;
      const known = name && sampleStatuses(name);
      if (known && status !== null && !known.includes(status)) {
        found.invalid("status", `Send one of ${known.join(", ")}.`);
      }
      if (!name || !found.is_empty) throw Refusal.of(found.list);
      const now = deps.clock.now();
      const keys = { id: newId(now), other_id: newId(now), now };
      const sample = { name, body: sampleEvent(name, status, keys) };
      const deliveries = await sendSample(deps, caller.account_id, sample, now);
      deps.wake();
      return writeAnswer({ webhook: { webhook_type: name, deliveries } });
    },
  });
}
