import Type from "typebox";
import { listApiKeysOfAccount } from "../accounts/api-key-store.ts";
import { openEmail } from "../accounts/person-email.ts";
import { listMembersById } from "../accounts/store.ts";
import { Refusal } from "../platform/errors.ts";
import type { AddRoute } from "../platform/http/route.ts";
import { isId } from "../platform/ids.ts";
import type { ModuleCore } from "../platform/module.ts";
import { closedObject } from "../platform/schema-parts.ts";
import { nameDetails, nameUsers } from "./names.ts";

type NamesDeps = Pick<ModuleCore, "database" | "keyring" | "index_key">;

/** A page of a list names at most this many records of a kind. */
const IDS_MAX = 100;
const API_KEYS_MAX = 100;
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
        nameActors(deps, account_id, readIds(query.actors)),
      ]);
      return JSON.stringify({ users, payment_details, actors });
    },
  });
}

function readIds(text: string | undefined): string[] {
  return (text ?? "").split(",").filter(isId).slice(0, IDS_MAX);
}

/** Members by their e-mail, API keys by the name that somebody gave them. */
async function nameActors(deps: NamesDeps, account_id: string, ids: readonly string[]) {
  if (ids.length === 0) return {};
  const { database, index_key } = deps;
  const [keys, people] = await Promise.all([
    listApiKeysOfAccount(database, account_id, API_KEYS_MAX),
    listMembersById(database, [account_id], [...ids]),
  ]);
  return Object.fromEntries([
    ...keys
      .filter(({ id }) => ids.includes(id))
      .map((key) => [key.id, `API key ${key.name || `…${key.last_four}`}`] as const),
    ...people.map(
      ({ person_id, email }) => [person_id, openEmail(index_key, person_id, email)] as const,
    ),
  ]);
}
