import Type from "typebox";
import { assertFound, Refusal } from "../../platform/errors.ts";
import { checkId } from "../../platform/http/list.ts";
import type { AddRoute } from "../../platform/http/route.ts";
import type { ModuleCore } from "../../platform/module.ts";
import { closedObject, UUID } from "../../platform/schema-parts.ts";
import { listEventDeliveries, listRecordEvents } from "./store.ts";

const EVENTS_PER_PAGE = 50;

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
    description: "Its events, newest first, each with its deliveries.",
    tag: "Dashboard",
    members_only: true,
    query: closedObject({ starting_after: Type.Optional(UUID) }),
    answer: Type.Unknown(),
    errors: [],
    handle: async ({ caller: { account_id }, params, query, problems }) => {
      const wrong = [...problems, ...checkId("starting_after", query.starting_after)];
      if (wrong.length > 0) throw Refusal.of(wrong);
      const { starting_after = null } = query;
      const key = { account_id, id: params.record_id };
      const found = await listRecordEvents(database, key, starting_after, EVENTS_PER_PAGE + 1);
      // After the last event there is none, but the record must still be the account's.
      const [first] = found[0] ? found : await listRecordEvents(database, key, null, 1);
      assertFound(first, "record_id", []);
      const events = found.slice(0, EVENTS_PER_PAGE);
      const ids = events.map((event) => event.id);
      const deliveries = Map.groupBy(
        await listEventDeliveries(database, account_id, ids),
        ({ event_id }) => event_id,
      );
      const with_deliveries = events.map((event) => {
        return { ...event, deliveries: deliveries.get(event.id) ?? [] };
      });
      const has_more = found.length > EVENTS_PER_PAGE;
      return JSON.stringify({ events: with_deliveries, has_more });
    },
  });
}
