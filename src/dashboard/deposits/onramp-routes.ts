import Type from "typebox";
import { ONRAMP_STATUSES } from "../../onramps/model.ts";
import { renderOnramp, renderOnramps } from "../../onramps/render.ts";
import { findOnramps, listAccountOnramps, openOnramps } from "../../onramps/store.ts";
import { assertFound } from "../../platform/errors.ts";
import { byStatus, cutPage, listQuery, requirePage } from "../../platform/http/list.ts";
import type { AddRoute } from "../../platform/http/route.ts";
import { isId } from "../../platform/ids.ts";
import type { ModuleCore } from "../../platform/module.ts";
import { BY_USER, isOfUser } from "../of-user.ts";

/** The onramps of all users, and one by its id alone; the API knows them by user. */
export function addOnrampRoutes(
  addRoute: AddRoute,
  { database, keyring }: Pick<ModuleCore, "database" | "keyring">,
): void {
  addRoute({
    method: "GET",
    path: "/dashboard/api/onramps",
    operation: "listAccountOnramps",
    summary: "List the onramps of all users",
    description: "Newest first; `user_id` for those of one user.",
    tag: "Dashboard",
    members_only: true,
    query: listQuery({ ...byStatus(ONRAMP_STATUSES), ...BY_USER }),
    answer: Type.Unknown(),
    errors: [],
    handle: async ({ caller, query, problems }) => {
      const page = requirePage(query, problems);
      const { account_id } = caller;
      const { status, user_id } = query;
      const found = isOfUser(query)
        ? await listAccountOnramps(database, { account_id, status, user_id }, page)
        : [];
      const { rows, has_more } = cutPage(found, page);
      const opened = await openOnramps(database, keyring, rows);
      return renderOnramps(
        opened.map(({ onramp }) => onramp),
        has_more,
      );
    },
  });

  addRoute({
    method: "GET",
    path: "/dashboard/api/onramps/:onramp_id",
    operation: "showAccountOnramp",
    summary: "Show an onramp",
    description: "As the API shows it, with its deposit instructions.",
    tag: "Dashboard",
    members_only: true,
    answer: Type.Unknown(),
    errors: [],
    handle: async ({ caller: { account_id }, params, problems }) => {
      const id = params.onramp_id;
      const rows = isId(id) ? await findOnramps(database, [{ account_id, id }]) : [];
      const [entry] = await openOnramps(database, keyring, rows);
      assertFound(entry, "onramp_id", problems);
      return renderOnramp(entry.onramp);
    },
  });
}
