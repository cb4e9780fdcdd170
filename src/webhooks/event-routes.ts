import { listConsents, listEndpointsFor } from "../apps/store.ts";
import { findEventPosition, listEvents } from "../events/order-store.ts";
import { notFound, type Problem, Refusal } from "../platform/errors.ts";
import { cutPage, type ListQuery, type Page, readPage } from "../platform/http/list.ts";
import type { AddRoute } from "../platform/http/route.ts";
import { isId } from "../platform/ids.ts";
import type { ModuleCore } from "../platform/module.ts";
import type { Delivery } from "./delivery/store.ts";
import { type FoundEvent, findDeliveries, openEvents, withAttempts } from "./find-deliveries.ts";
import { chooseReceivers, redeliverEvent } from "./redeliver-event.ts";
import { listDeliveriesOfEvent } from "./redelivery-store.ts";
import { renderDeliveries, renderEvent, renderEvents } from "./render.ts";
import {
  DeliveryListAnswer,
  DeliveryListQuery,
  RedeliverBody,
  WebhookEventAnswer,
  WebhookEventListAnswer,
  WebhookEventListQuery,
} from "./schemas.ts";

const TAG = "Webhook events";
const LIMIT_DEFAULT = 25;

export function addEventRoutes(addRoute: AddRoute, deps: ModuleCore): void {
  addList(addRoute, deps);
  addShow(addRoute, deps);
  addDeliveries(addRoute, deps);
  addRedeliver(addRoute, deps);
}

function addList(addRoute: AddRoute, deps: ModuleCore): void {
  const { database } = deps;
  addRoute({
    method: "GET",
    path: "/webhook_events",
    operation: "listWebhookEvents",
    summary: "List events",
    description:
      "Oldest first. Use it to poll for events instead of receiving webhooks: the order is " +
      "fixed, and no event is ever inserted before one that was already listed. Continue with " +
      "`starting_after` while `has_more` is true.",
    tag: TAG,
    query: WebhookEventListQuery,
    answer: WebhookEventListAnswer,
    errors: ["record_not_found"],
    handle: async ({ caller, query, problems }) => {
      const { account_id } = caller;
      const found = [...problems];
      const { page: times, problems: time_problems } = readPage({
        created_after: query.created_after,
        created_before: query.created_before,
      } as ListQuery);
      found.push(...time_problems);
      const { from_id, below_id } = times;
      const cursor = await readCursor(deps, account_id, query.starting_after, found);
      if (found.length > 0) throw Refusal.of(found);
      const limit = query.limit ?? LIMIT_DEFAULT;
      const range = { after_position: cursor, limit: limit + 1, from_id, below_id };
      const events = await listEvents(database, account_id, { ...range, name: query.event });
      const { rows, has_more } = cutPage(events, { limit });
      return renderEvents(await openEvents(deps, rows), has_more);
    },
  });
}

async function readCursor(
  { database }: ModuleCore,
  account_id: string,
  cursor: unknown,
  problems: Problem[],
): Promise<bigint> {
  if (cursor === undefined) return 0n;
  const field = "starting_after";
  if (typeof cursor !== "string" || !isId(cursor)) {
    const message = "Send the id of the last event that you received.";
    if (problems.every((problem) => problem.field !== field)) {
      problems.push({ field, code: "record_invalid", message });
    }
    return 0n;
  }
  const position = await findEventPosition(database, account_id, cursor);
  if (position === undefined) problems.push(notFound(field));
  return position ?? 0n;
}

function addShow(addRoute: AddRoute, deps: ModuleCore): void {
  addRoute({
    method: "GET",
    path: "/webhook_events/:webhook_event_id",
    operation: "showWebhookEvent",
    summary: "Show an event",
    description: "`body` is the exact text that is signed and sent.",
    tag: TAG,
    answer: WebhookEventAnswer,
    errors: [],
    handle: async ({ caller, params, problems }) => {
      const { event } = await find(deps, caller.account_id, params.webhook_event_id, problems);
      if (!event) throw Refusal.of([...problems, notFound("webhook_event_id")]);
      const [readable] = await openEvents(deps, [event]);
      return renderEvent(readable!);
    },
  });
}

function addDeliveries(addRoute: AddRoute, deps: ModuleCore): void {
  addRoute({
    method: "GET",
    path: "/webhook_events/:webhook_event_id/deliveries",
    operation: "listWebhookDeliveries",
    summary: "List the deliveries of an event",
    description:
      "One delivery per application, each with its latest attempts and the receiver's responses. " +
      "Newest first. A page shows at most 100 attempts, so a short one shows more of each.",
    tag: TAG,
    query: DeliveryListQuery,
    answer: DeliveryListAnswer,
    errors: [],
    handle: async ({ caller, params, query, problems }) => {
      const event_id = params.webhook_event_id;
      const { page, problems: page_problems } = readPage(query);
      const all = [...problems, ...page_problems];
      const { deliveries } = await find(deps, caller.account_id, event_id, all);
      return showPage(deps, caller.account_id, choose(deliveries, page, query.status), page);
    },
  });
}

/** An event has as many as there are applications that get it: all are at hand, unlike attempts. */
function choose(deliveries: readonly Delivery[], page: Page, status: string | undefined) {
  return deliveries
    .filter(({ id }) => id >= page.from_id && id < page.below_id)
    .filter((delivery) => status === undefined || delivery.status === status)
    .sort((a, b) => (a.id < b.id ? 1 : -1));
}

function addRedeliver(addRoute: AddRoute, deps: ModuleCore): void {
  const { database, clock, wake } = deps;
  addRoute({
    method: "POST",
    path: "/webhook_events/:webhook_event_id/redeliver",
    operation: "redeliverWebhookEvent",
    stores_nothing: true,
    summary: "Redeliver an event",
    description:
      "Sends the event again to the applications of the account that receive it, or to one of " +
      "them. Answers its newest 25 deliveries; `GET …/deliveries` lists all.",
    tag: TAG,
    body: RedeliverBody,
    body_example: {},
    answer: DeliveryListAnswer,
    errors: ["record_not_found", "invalid_transition"],
    handle: async ({ caller, params, body, problems }) => {
      const { account_id } = caller;
      const event_id = params.webhook_event_id;
      const app_id = body.app_id ?? null;
      const found = [...problems];
      const [endpoints, { event, deliveries }] = await Promise.all([
        listEndpointsFor(database, account_id),
        findDeliveries(deps, account_id, event_id),
      ]);
      const own = endpoints.filter((endpoint) => endpoint.account_id === account_id);
      if (!event && deliveries.length === 0) found.push(notFound("webhook_event_id"));
      if (app_id !== null && found.every((problem) => problem.field !== "app_id")) {
        if (!isId(app_id)) {
          const message = "Send an application's id.";
          found.push({ field: "app_id", code: "record_invalid", message });
        } else if (own.every((endpoint) => endpoint.id !== app_id.toLowerCase())) {
          found.push(notFound("app_id"));
        }
      }
      if (found.length > 0) throw Refusal.of(found);
      const sides = [account_id, event?.account_id, event?.counterpart_account_id];
      const consents = await listConsents(
        database,
        sides.filter((side) => side != null),
        own,
      );
      const wanted = own.filter(({ id }) => app_id === null || id === app_id.toLowerCase());
      const redelivery = { event_id, event, deliveries, endpoints: wanted };
      const ready = chooseReceivers(redelivery, consents, app_id !== null);
      await database.transaction((tx) =>
        redeliverEvent(tx, { ...redelivery, endpoints: ready }, clock.now()),
      );
      wake();
      const again = await listDeliveriesOfEvent(database, account_id, event_id);
      const { page } = readPage({});
      return showPage(deps, account_id, choose(again, page, undefined), page);
    },
  });
}

async function showPage(
  deps: ModuleCore,
  account_id: string,
  deliveries: Delivery[],
  page: Page,
): Promise<string> {
  const { rows, has_more } = cutPage(deliveries, page);
  return renderDeliveries(await withAttempts(deps, account_id, rows), has_more);
}

async function find(
  deps: ModuleCore,
  account_id: string,
  id: string,
  problems: readonly Problem[],
): Promise<FoundEvent> {
  const found = await findDeliveries(deps, account_id, id);
  if (!found.event && found.deliveries.length === 0) {
    throw Refusal.of([...problems, notFound("webhook_event_id")]);
  }
  if (problems.length > 0) throw Refusal.of(problems);
  return found;
}
