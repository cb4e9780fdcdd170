import Type from "typebox";
import { assertFound } from "../../platform/errors.ts";
import type { AddRoute } from "../../platform/http/route.ts";
import { isId } from "../../platform/ids.ts";
import type { ModuleCore } from "../../platform/module.ts";
import { listEventDeliveries, listRecordEvents } from "./store.ts";

const EVENTS_MAX = 100;

/** What was sent about a record, without its content: who keeps the books may see it. */
export function addRecordWebhooksRoute(
  addRoute: AddRoute,
  { database }: Pick<ModuleCore, "database">,
): void {
  addRoute({
    method: "GET",
    path: "/dashboard/api/records/:record_id/webhooks",
    operation: "listRecordWebhooks",
    summary: "List the webhooks sent about a record",
    description: "Its newest 100 events, each with its deliveries.",
    tag: "Dashboard",
    members_only: true,
    answer: Type.Unknown(),
    errors: [],
    handle: async ({ caller: { account_id }, params, problems }) => {
      const id = params.record_id;
      const events = isId(id) ? await listRecordEvents(database, account_id, id, EVENTS_MAX) : [];
      assertFound(events[0], "record_id", problems);
      const ids = events.map((event) => event.id);
      const deliveries = Map.groupBy(
        await listEventDeliveries(database, account_id, ids),
        ({ event_id }) => event_id,
      );
      const with_deliveries = events.map((event) => {
        return { ...event, deliveries: deliveries.get(event.id) ?? [] };
      });
      return JSON.stringify({ events: with_deliveries });
    },
  });
}
