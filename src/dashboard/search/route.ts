import Type from "typebox";
import { Refusal } from "../../platform/errors.ts";
import type { AddRoute } from "../../platform/http/route.ts";
import { closedObject } from "../../platform/schema-parts.ts";
import { type SearchDeps, searchRecords } from "./search-records.ts";

const TEXT_LENGTH_MAX = 200;

/** Finds records by what people know of them. A POST, because URLs are logged. */
export function addSearchRoute(addRoute: AddRoute, deps: SearchDeps): void {
  addRoute({
    method: "POST",
    path: "/dashboard/api/search",
    operation: "searchRecords",
    summary: "Search",
    description:
      "By id, end-to-end id, reference, e-mail address, account number, name or invoice number.",
    tag: "Dashboard",
    members_only: true,
    body: closedObject({ text: Type.String({ maxLength: TEXT_LENGTH_MAX }) }),
    body_example: { text: "Invoice 2026-12" },
    answer: Type.Unknown(),
    errors: [],
    handle: async ({ caller, body, problems }) => {
      if (problems.length > 0) throw Refusal.of(problems);
      const text = (body.text ?? "").trim();
      if (text === "") return JSON.stringify({ hits: [], filters: [], people_searched: 0 });
      return JSON.stringify(await searchRecords(deps, caller.account_id, text));
    },
  });
}
