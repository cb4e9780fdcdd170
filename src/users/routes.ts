import type { Catalogue } from "../catalogue/catalogue.ts";
import { assertFound } from "../platform/errors.ts";
import { cutPage, requirePage } from "../platform/http/list.ts";
import type { AddRoute } from "../platform/http/route.ts";
import type { ModuleCore } from "../platform/module.ts";
import type { ScreenWritten } from "./clearance.ts";
import { createUsers } from "./create-users.ts";
import { checkUser } from "./model.ts";
import { renderUser, renderUsers } from "./render.ts";
import {
  CreateUserBody,
  UpdateUserBody,
  UserAnswer,
  UserListAnswer,
  UserListQuery,
} from "./schemas.ts";
import { findUser, listUsers, openUsers } from "./store.ts";
import { updateUsers } from "./update-users.ts";

type UserDeps = { catalogue: Catalogue; screenWritten: ScreenWritten } & Pick<
  ModuleCore,
  "database" | "executor" | "keyring" | "index_key" | "clock" | "config"
>;

const TAG = "Users";

export function addUserRoutes(addRoute: AddRoute, deps: UserDeps): void {
  addCreateUser(addRoute, deps);
  addListUsers(addRoute, deps);
  addShowUser(addRoute, deps);
  addUpdateUser(addRoute, deps);
}

function addCreateUser(
  addRoute: AddRoute,
  { executor, keyring, index_key, catalogue, clock, config, screenWritten }: UserDeps,
): void {
  const is_screening = config.screening_lists.length > 0;
  const submit = executor.register(createUsers(keyring, index_key));
  addRoute({
    method: "POST",
    path: "/users",
    operation: "createUser",
    summary: "Create a user",
    description:
      "A user is a payer: the person or company whose money moves. `email` must be unique " +
      "within the account.",
    tag: TAG,
    body: CreateUserBody,
    body_example: {
      user: {
        beneficiary_type: "individual",
        email: "ana.sample@example.com",
        first_name: "Ana",
        last_name: "Sample",
        country: "PT",
      },
    },
    answer: UserAnswer,
    errors: ["value_too_long", "record_not_unique", "country_not_supported"],
    handle: async ({ caller, body, problems, command }) => {
      const today = clock.now().toISOString().slice(0, 10);
      const checked = checkUser(catalogue, body.user, today, problems);
      const found = [...problems, ...checked.problems];
      const answer = await submit(command({ fields: checked.fields, problems: found }));
      if (is_screening) {
        const { user } = JSON.parse(answer.body);
        await screenWritten({ account_id: caller.account_id, user_id: user.id });
      }
      return answer;
    },
  });
}

function addListUsers(addRoute: AddRoute, { database, keyring }: UserDeps): void {
  addRoute({
    method: "GET",
    path: "/users",
    operation: "listUsers",
    summary: "List users",
    description: "All users of the account, newest first.",
    tag: TAG,
    query: UserListQuery,
    answer: UserListAnswer,
    errors: [],
    handle: async ({ caller, query, problems }) => {
      const page = requirePage(query, problems);
      const rows = await listUsers(database, caller.account_id, query.status, page);
      const { rows: shown, has_more } = cutPage(rows, page);
      return renderUsers(await openUsers(database, keyring, shown), has_more);
    },
  });
}

function addShowUser(addRoute: AddRoute, { database, keyring }: UserDeps): void {
  addRoute({
    method: "GET",
    path: "/users/:user_id",
    operation: "showUser",
    summary: "Show a user",
    description: "Includes the KYC status, in general and for each currency.",
    tag: TAG,
    answer: UserAnswer,
    errors: [],
    handle: async ({ caller, params, problems }) => {
      const key = { account_id: caller.account_id, user_id: params.user_id };
      const row = await findUser(database, key);
      const [user] = await openUsers(database, keyring, row ? [row] : []);
      assertFound(user, "user_id", problems);
      return renderUser(user);
    },
  });
}

function addUpdateUser(
  addRoute: AddRoute,
  { executor, catalogue, keyring, index_key, screenWritten }: UserDeps,
): void {
  const submit = executor.register(updateUsers(catalogue, keyring, index_key));
  addRoute({
    method: "PATCH",
    path: "/users/:user_id",
    operation: "updateUser",
    summary: "Update a user",
    description:
      "Fields that are sent replace the stored ones; `null` clears a field. Identity fields " +
      "cannot be changed once the user is approved.",
    tag: TAG,
    body: UpdateUserBody,
    body_example: { user: { phone: "+351210000000" } },
    answer: UserAnswer,
    errors: ["value_too_long", "record_not_unique", "country_not_supported", "invalid_transition"],
    handle: async ({ caller, params, body, problems, command }) => {
      const { user_id } = params;
      const answer = await submit(command({ user_id, change: body.user, problems }));
      await screenWritten({ account_id: caller.account_id, user_id });
      return answer;
    },
  });
}
