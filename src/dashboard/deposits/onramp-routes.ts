import Type from "typebox";
import { renderOnramps } from "../../onramps/render.ts";
import { listAccountOnramps, openOnramps } from "../../onramps/store.ts";
import { cutPage, listQuery, requirePage } from "../../platform/http/list.ts";
import type { AddRoute } from "../../platform/http/route.ts";
import type { ModuleCore } from "../../platform/module.ts";

/** The onramps of all users; the API lists them by user. */
export function addOnrampListRoute(
  addRoute: AddRoute,
  { database, keyring }: Pick<ModuleCore, "database" | "keyring">,
): void {
  addRoute({
    method: "GET",
    path: "/dashboard/api/onramps",
    operation: "listAccountOnramps",
    summary: "List the onramps of all users",
    description: "Newest first.",
    tag: "Dashboard",
    members_only: true,
    query: listQuery({}),
    answer: Type.Unknown(),
    errors: [],
    handle: async ({ caller, query, problems }) => {
      const page = requirePage(query, problems);
      const found = await listAccountOnramps(database, caller.account_id, page);
      const { rows, has_more } = cutPage(found, page);
      const opened = await openOnramps(database, keyring, rows);
      return renderOnramps(
        opened.map(({ onramp }) => onramp),
        has_more,
      );
    },
  });
}
