import Type from "typebox";
import { Refusal } from "../platform/errors.ts";
import type { AddRoute } from "../platform/http/route.ts";
import { isId } from "../platform/ids.ts";
import type { ModuleCore } from "../platform/module.ts";
import { closedObject } from "../platform/schema-parts.ts";
import { nameDetails, nameUsers } from "./names.ts";
import { nameActors } from "./settings/name-references.ts";

type NamesDeps = Pick<ModuleCore, "database" | "keyring" | "index_key">;

/** A page of a list names at most this many records of a kind. */
const IDS_MAX = 100;
const Ids = Type.Optional(Type.String({ maxLength: IDS_MAX * 37 }));
const NamesQuery = closedObject({ users: Ids, payment_details: Ids, actors: Ids });

/** How the records of a list are shown instead of by their ids. */
export function addNamesRoute(addRoute: AddRoute, deps: NamesDeps): void {
  addRoute({
    method: "GET",
    path: "/dashboard/api/names",
    operation: "listNames",
    summary: "List names",
    description: "The names of users, bank accounts, members and API keys, by their ids.",
    tag: "Dashboard",
    members_only: true,
    query: NamesQuery,
    answer: Type.Unknown(),
    errors: [],
    handle: async ({ caller, query, problems }) => {
      if (problems.length > 0) throw Refusal.of(problems);
      const { account_id } = caller;
      const [users, payment_details, actors] = await Promise.all([
        nameUsers(deps, account_id, readIds(query.users)),
        nameDetails(deps, account_id, readIds(query.payment_details)),
        nameActors(deps, account_id, readIds(query.actors), "API key "),
      ]);
      return JSON.stringify({ users, payment_details, actors });
    },
  });
}

function readIds(text: string | undefined): string[] {
  return (text ?? "").split(",").filter(isId).slice(0, IDS_MAX);
}
