import Type from "typebox";
import type { Endpoint } from "../../apps/model.ts";
import { listEndpoints } from "../../apps/store.ts";
import { INVOICE_EVENTS, RAMP_EVENTS } from "../../events/model.ts";
import { open } from "../../platform/encryption/cipher.ts";
import { assertFound, Refusal } from "../../platform/errors.ts";
import { readTime, TIME_MESSAGE } from "../../platform/http/list.ts";
import type { AddRoute } from "../../platform/http/route.ts";
import { isId, LAST_ID, newId } from "../../platform/ids.ts";
import type { ModuleCore } from "../../platform/module.ts";
import { Problems } from "../../platform/problems.ts";
import { closedObject } from "../../platform/schema-parts.ts";
import { sampleEvent } from "../../sandbox/sample-events.ts";
import { resendProblem } from "../../webhooks/audience.ts";
import { countReplay } from "../../webhooks/count-replay.ts";
import { findDeliveries, openEvents, withAttempts } from "../../webhooks/find-deliveries.ts";
import { DELIVERY_STATUSES } from "../../webhooks/model.ts";
import { toDeliveryRecord } from "../../webhooks/render.ts";
import { samplePlace, sendSample } from "../../webhooks/send-sample.ts";
import { describeRequest } from "./describe-request.ts";
import { findDelivery, listDeliveries } from "./store.ts";

const APP = "/dashboard/api/apps/:app_id";
const PAGE_MAX = 25;
const EVENT_NAMES = [...RAMP_EVENTS, ...INVOICE_EVENTS];
const ANSWER = Type.Unknown();
const COMMON = { tag: "Dashboard", members_only: true, answer: ANSWER } as const;

/** What the page of an application shows beside the API's record of it. */
export function addWebhookRoutes(addRoute: AddRoute, deps: ModuleCore): void {
  addDeliveryList(addRoute, deps);
  addDelivery(addRoute, deps);
  addReplayCount(addRoute, deps);
  if (deps.mode === "sandbox") addTestEvent(addRoute, deps);
}

function addDeliveryList(addRoute: AddRoute, deps: ModuleCore): void {
  addRoute({
    ...COMMON,
    method: "GET",
    path: `${APP}/deliveries`,
    operation: "listAppDeliveries",
    summary: "List the deliveries to an application",
    description: "Newest first, each with its latest attempts; `next` begins the next page.",
    query: closedObject({
      status: Type.Optional(Type.Enum([...DELIVERY_STATUSES])),
      after: Type.Optional(Type.String()),
    }),
    errors: [],
    handle: async ({ caller: { account_id }, params: { app_id }, query, problems }) => {
      assertFound(await findEndpoint(deps, account_id, app_id), "app_id", problems);
      const { status = null, after = LAST_ID } = query;
      const below_id = isId(after) ? after : LAST_ID;
      const page = { app_id, below_id, status, limit: PAGE_MAX };
      const { deliveries, next } = await listDeliveries(deps.database, account_id, page);
      const shown = await withAttempts(deps, account_id, deliveries);
      return JSON.stringify({ deliveries: shown.map(toDeliveryRecord), next });
    },
  });
}

function addDelivery(addRoute: AddRoute, deps: ModuleCore): void {
  const { database, keyring } = deps;
  addRoute({
    ...COMMON,
    method: "GET",
    path: `${APP}/deliveries/:delivery_id`,
    operation: "showAppDelivery",
    summary: "Show a delivery",
    description: "With the request as it is sent, and every stored attempt.",
    errors: [],
    handle: async ({ caller: { account_id }, params, problems }) => {
      const { app_id, delivery_id: id } = params;
      const endpoint = await findEndpoint(deps, account_id, app_id);
      const delivery = await findDelivery(database, { account_id, app_id, id });
      assertFound(endpoint, "app_id", problems);
      assertFound(delivery, "delivery_id", problems);
      const key = await keyring.openAccount(database, account_id);
      const { sample } = delivery;
      const body = sample
        ? open(key, samplePlace(delivery), sample).toString()
        : await readBody(deps, account_id, delivery.event_id);
      const [readable] = await withAttempts(deps, account_id, [delivery]);
      return JSON.stringify({
        delivery: toDeliveryRecord(readable!),
        is_sample: sample !== null,
        request: describeRequest(endpoint, key, delivery, body),
      });
    },
  });
}

/** Null where the event's account no longer consents, as for the API. */
async function readBody(
  deps: ModuleCore,
  account_id: string,
  event_id: string,
): Promise<string | null> {
  const { event } = await findDeliveries(deps, account_id, event_id);
  const [readable] = event ? await openEvents(deps, [event]) : [];
  return readable?.text ?? null;
}

function addReplayCount(addRoute: AddRoute, deps: ModuleCore): void {
  addRoute({
    ...COMMON,
    method: "GET",
    path: `${APP}/replay_count`,
    operation: "showReplayCount",
    summary: "Count what a replay would send",
    description: "`is_more` where the count stopped early.",
    query: closedObject({
      from: Type.String(),
      to: Type.Optional(Type.String()),
      only_failed: Type.Optional(Type.Boolean()),
    }),
    errors: ["invalid_transition"],
    handle: async ({ caller: { account_id }, params, query, problems }) => {
      const found = new Problems(problems);
      const read = (field: "from" | "to") => {
        const text = query[field];
        const time = text === undefined ? deps.clock.now() : readTime(text);
        if (!time) found.invalid(field, TIME_MESSAGE);
        return time ?? deps.clock.now();
      };
      const [since, until] = [read("from"), read("to")];
      const endpoint = await findEndpoint(deps, account_id, params.app_id);
      assertFound(endpoint, "app_id", found.list);
      const refused = resendProblem(endpoint);
      if (refused) found.add([refused]);
      found.throwIfAny();
      const range = { since, until, only_failed: query.only_failed ?? false };
      return JSON.stringify(await countReplay(deps.database, endpoint, range));
    },
  });
}

/** In live mode an invented event could be taken for a real one. */
function addTestEvent(addRoute: AddRoute, deps: ModuleCore): void {
  const { database, clock, wake } = deps;
  addRoute({
    ...COMMON,
    method: "POST",
    path: `${APP}/test_event`,
    operation: "sendTestEvent",
    stores_nothing: true,
    summary: "Send a sample event to an application",
    description: "It belongs to no record.",
    body: closedObject({ event: Type.Enum([...EVENT_NAMES]) }),
    body_example: { event: "offramp_update" },
    errors: ["invalid_transition"],
    handle: async ({ caller: { account_id }, params: { app_id }, body, problems }) => {
      const found = new Problems(problems);
      const endpoint = await findEndpoint(deps, account_id, app_id);
      assertFound(endpoint, "app_id", found.list);
      const refused = resendProblem(endpoint);
      if (refused) found.add([refused]);
      found.throwIfAny();
      const name = body.event!;
      const now = clock.now();
      const keys = { id: newId(now), other_id: newId(now), now };
      const sample = { name, body: sampleEvent(name, null, keys), app_id: endpoint.id };
      const sent = await sendSample({ database, keyring: deps.keyring }, account_id, sample, now);
      if (sent === 0)
        throw new Refusal("invalid_transition", `The application does not receive ${name} events.`);
      wake();
      return JSON.stringify({ sent });
    },
  });
}

async function findEndpoint(
  { database }: ModuleCore,
  account_id: string,
  id: string,
): Promise<Endpoint | undefined> {
  const [endpoint] = await listEndpoints(database, [{ account_id, id }]);
  return endpoint;
}
