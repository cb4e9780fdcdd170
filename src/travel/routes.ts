import { assertFound, Refusal } from "../platform/errors.ts";
import { cutPage, readPage } from "../platform/http/list.ts";
import type { AddRoute } from "../platform/http/route.ts";
import { isId } from "../platform/ids.ts";
import type { ModuleCore } from "../platform/module.ts";
import { renderTravelRecord, renderTravelRecords } from "./render.ts";
import { TravelAnswer, TravelListAnswer, TravelListQuery } from "./schemas.ts";
import { findTravelRecord, listTravelRecords, openTravelRecords } from "./store.ts";

type TravelRouteDeps = Pick<ModuleCore, "database" | "keyring">;

const TAG = "Travel records";

export function addTravelRoutes(addRoute: AddRoute, { database, keyring }: TravelRouteDeps): void {
  addRoute({
    method: "GET",
    path: "/travel_records",
    operation: "listTravelRecords",
    summary: "List travel records",
    description:
      "One record for each onramp delivery and each refund of tokens above the amount of " +
      "`SLIPROAD_TRAVEL_RULE_ABOVE_USD`, newest first, without names.",
    tag: TAG,
    query: TravelListQuery,
    answer: TravelListAnswer,
    errors: [],
    handle: async ({ caller: { account_id }, query, problems }) => {
      const { page, problems: found } = readPage(query, problems);
      const { user_id, status } = query;
      if (user_id !== undefined && !isId(user_id)) {
        const message = "Send the id of a user.";
        found.push({ field: "user_id", code: "record_invalid", message });
      }
      if (found.length > 0) throw Refusal.of(found);
      const rows = await listTravelRecords(database, { account_id, user_id, status }, page);
      const { rows: shown, has_more } = cutPage(rows, page);
      return renderTravelRecords(shown, has_more);
    },
  });

  addRoute({
    method: "GET",
    path: "/travel_records/:travel_record_id",
    operation: "showTravelRecord",
    summary: "Show a travel record",
    description:
      "With the originator and the beneficiary of the transfer in the data model IVMS101, which " +
      "service providers exchange.",
    tag: TAG,
    answer: TravelAnswer,
    errors: [],
    handle: async ({ caller, params, problems }) => {
      const row = await findTravelRecord(database, caller.account_id, params.travel_record_id);
      const [record] = await openTravelRecords(database, keyring, row ? [row] : []);
      assertFound(record, "travel_record_id", problems);
      return renderTravelRecord(record);
    },
  });
}
