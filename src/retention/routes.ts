import { assertFound } from "../platform/errors.ts";
import type { AddRoute } from "../platform/http/route.ts";
import type { ModuleCore } from "../platform/module.ts";
import { findRetention } from "./load-facts.ts";
import { renderRetention } from "./render.ts";
import { type RetentionDeps, requestErasures, restoreUsers } from "./request-erasures.ts";
import { RetentionAnswer } from "./schemas.ts";

type RouteDeps = RetentionDeps & Pick<ModuleCore, "database" | "executor" | "clock">;

const TAG = "Users";

export function addRetentionRoutes(addRoute: AddRoute, deps: RouteDeps): void {
  addShowRetention(addRoute, deps);
  addEraseUser(addRoute, deps);
  addRestoreUser(addRoute, deps);
}

function addShowRetention(
  addRoute: AddRoute,
  { database, clock, retention_years }: RouteDeps,
): void {
  addRoute({
    method: "GET",
    path: "/users/:user_id/retention",
    operation: "showRetention",
    summary: "Show what must be kept of a user",
    description:
      "Whether the user's erasure was requested, and what prevents it: what is kept, why and " +
      "until when.",
    tag: TAG,
    answer: RetentionAnswer,
    errors: [],
    handle: async ({ caller, params, problems }) => {
      const key = { account_id: caller.account_id, user_id: params.user_id };
      const retention = await findRetention(database, key, retention_years, clock.now());
      assertFound(retention, "user_id", problems);
      return renderRetention(retention);
    },
  });
}

function addEraseUser(addRoute: AddRoute, deps: RouteDeps): void {
  const submit = deps.executor.register(requestErasures(deps));
  addRoute({
    method: "DELETE",
    path: "/users/:user_id",
    operation: "deleteUser",
    summary: "Erase a user",
    description:
      "A user who never paid is erased at once: everything known about them can never be read " +
      "again. If records of payments must be kept, the user is deactivated, nothing new can be " +
      "started, and the erasure happens by itself when the time is over (`erase_after`). Refused " +
      "while payments are in progress or the user has a balance.",
    tag: TAG,
    answer: RetentionAnswer,
    errors: ["invalid_transition"],
    handle: ({ params, problems, command }) =>
      submit(command({ user_id: params.user_id, reason: "", problems })),
  });
}

function addRestoreUser(addRoute: AddRoute, deps: RouteDeps): void {
  const submit = deps.executor.register(restoreUsers(deps));
  addRoute({
    method: "POST",
    path: "/users/:user_id/restore",
    operation: "restoreUser",
    summary: "Withdraw the request to erase a user",
    description: "The user can pay again. Possible until the user is erased.",
    tag: TAG,
    answer: RetentionAnswer,
    errors: [],
    handle: ({ params, problems, command }) =>
      submit(command({ user_id: params.user_id, reason: "", problems })),
  });
}
