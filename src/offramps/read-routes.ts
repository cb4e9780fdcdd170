import type { Database } from "../platform/db/database.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import { assertFound } from "../platform/errors.ts";
import { cutPage, readPage } from "../platform/http/list.ts";
import type { AddRoute } from "../platform/http/route.ts";
import { isId } from "../platform/ids.ts";
import { Problems } from "../platform/problems.ts";
import { findUser } from "../users/store.ts";
import type { OfframpRenderer } from "./render.ts";
import {
  AccountOfframpListQuery,
  OfframpAnswer,
  OfframpListAnswer,
  OfframpListQuery,
} from "./schemas.ts";
import { findOfframp, listOfframps, openOfframps, toOfframps } from "./store.ts";

type OfframpReadDeps = { database: Database; keyring: Keyring; renderer: OfframpRenderer };

const TAG = "Offramps";
const NAMES: Readonly<Record<string, string>> = { quote_id: "quote", user_id: "user" };

export function addOfframpReadRoutes(addRoute: AddRoute, deps: OfframpReadDeps): void {
  addUserRoutes(addRoute, deps);
  addAccountListRoute(addRoute, deps);
}

function addUserRoutes(addRoute: AddRoute, { database, keyring, renderer }: OfframpReadDeps): void {
  addRoute({
    method: "GET",
    path: "/users/:user_id/offramps",
    operation: "listOfframps",
    summary: "List the offramps of a user",
    description: "Newest first; can be filtered by status and quote.",
    tag: TAG,
    query: OfframpListQuery,
    answer: OfframpListAnswer,
    errors: [],
    handle: async ({ caller, params, query, problems }) => {
      const { page, problems: found } = readPage(query, problems);
      if (query.quote_id !== undefined && !isId(query.quote_id)) {
        const message = "Send the id of a quote.";
        found.push({ field: "quote_id", code: "record_invalid", message });
      }
      const key = { account_id: caller.account_id, user_id: params.user_id };
      assertFound(await findUser(database, key), "user_id", found);
      const filter = { user_id: key.user_id, status: query.status, quote_id: query.quote_id };
      const rows = await listOfframps(database, key.account_id, filter, page);
      const { rows: shown, has_more } = cutPage(rows, page);
      const keys = await keyring.openUserKeys(database, [key]);
      const offramps = toOfframps(shown, keys).map(({ offramp }) => offramp);
      return renderer.list(offramps, has_more);
    },
  });

  addRoute({
    method: "GET",
    path: "/users/:user_id/offramps/:offramp_id",
    operation: "showOfframp",
    summary: "Show an offramp",
    description: "`fiat_sent` is not final: the receiving bank can return a payment weeks later.",
    tag: TAG,
    answer: OfframpAnswer,
    errors: [],
    handle: async ({ caller, params, problems }) => {
      const { account_id } = caller;
      const user_id = params.user_id;
      const row = await findOfframp(database, { account_id, user_id }, params.offramp_id);
      const keys = await keyring.openUserKeys(database, [{ account_id, user_id }]);
      const [entry] = toOfframps(row ? [row] : [], keys);
      assertFound(entry, "offramp_id", problems);
      return renderer.offramp(entry.offramp);
    },
  });
}

function addAccountListRoute(
  addRoute: AddRoute,
  { database, keyring, renderer }: OfframpReadDeps,
): void {
  addRoute({
    method: "GET",
    path: "/offramps",
    operation: "listAccountOfframps",
    summary: "List the offramps of all users",
    description: "All offramps of the account, newest first, with the same filters and `user_id`.",
    tag: TAG,
    query: AccountOfframpListQuery,
    answer: OfframpListAnswer,
    errors: [],
    handle: async ({ caller, query, problems }) => {
      const { page, problems: page_problems } = readPage(query, problems);
      const found = new Problems(page_problems);
      const { status, quote_id, user_id } = query;
      for (const [name, id] of Object.entries({ quote_id, user_id })) {
        if (id !== undefined && !isId(id)) found.invalid(name, `Send the id of a ${NAMES[name]}.`);
      }
      found.throwIfAny();
      const filter = { status, quote_id, user_id };
      const listed = await listOfframps(database, caller.account_id, filter, page);
      const { rows, has_more } = cutPage(listed, page);
      const opened = await openOfframps(database, keyring, rows);
      return renderer.list(
        opened.map(({ offramp }) => offramp),
        has_more,
      );
    },
  });
}
