import Type from "typebox";
import { DAY_MS } from "../../platform/durations.ts";
import { Refusal } from "../../platform/errors.ts";
import { listQuery, requirePage } from "../../platform/http/list.ts";
import type { AddRoute } from "../../platform/http/route.ts";
import { firstIdAt, timeOfId } from "../../platform/ids.ts";
import type { ModuleCore } from "../../platform/module.ts";
import type { LoggedRequest } from "../../platform/request-log/store.ts";
import { realTime } from "../../platform/tasks/real-time.ts";
import { idsIn, nameActors } from "./name-references.ts";
import { countRefusals, findRequest, listRequests } from "./request-store.ts";

const WORD = Type.Optional(Type.String({ maxLength: 100 }));
const PATH = "/dashboard/api/requests";

/** What was sent to the API and how it was answered: Settings › Developer › Logs. */
export function addRequestRoutes(addRoute: AddRoute, deps: ModuleCore): void {
  const { database, clock, config } = deps;
  const common = { tag: "Dashboard", members_only: true, answer: Type.Unknown() } as const;
  addRoute({
    ...common,
    method: "GET",
    path: PATH,
    operation: "listRequests",
    summary: "List requests",
    description: "Newest first, with the most frequent refusals of the last 24 hours.",
    query: listQuery({ refused: Type.Optional(Type.Boolean()), error_code: WORD, actor: WORD }),
    errors: [],
    handle: async ({ caller: { account_id }, query, problems }) => {
      const { refused = false, error_code = null, actor = null } = query;
      const page = { ...requirePage(query, problems), refused, error_code, actor };
      const day = firstIdAt(new Date(realTime(clock).getTime() - DAY_MS));
      const [found, refusals] = await Promise.all([
        listRequests(database, account_id, page),
        query.starting_after ? [] : countRefusals(database, account_id, day),
      ]);
      const requests = found.slice(0, page.limit);
      const actors = requests.map((request) => request.actor);
      const names = await nameActors(deps, account_id, idsIn(actors));
      const has_more = found.length > page.limit;
      const { request_log_days: days } = config;
      return JSON.stringify({ requests: requests.map(render), names, refusals, days, has_more });
    },
  });
  addRoute({
    ...common,
    method: "GET",
    path: `${PATH}/:request_id`,
    operation: "showRequest",
    summary: "Retrieve a request",
    description: "By the `X-Request-Id` of its answer.",
    errors: ["record_not_found"],
    handle: async ({ caller: { account_id }, params }) => {
      const found = await findRequest(database, account_id, params.request_id);
      if (!found) throw new Refusal("record_not_found", sayNotKept(config.request_log_days));
      const names = await nameActors(deps, account_id, idsIn([found.actor]));
      return JSON.stringify({ request: render(found), names });
    },
  });
}

/** Why a request that was sent may not be here. */
function sayNotKept(days: number): string {
  if (days === 0) return "The operator has turned off this log.";
  return (
    `No request with this id is kept. Changes and refused requests are, for ${days} days; reads ` +
    "that succeeded are not."
  );
}

function render({ account_id: _, problems, ...request }: LoggedRequest) {
  return { ...request, at: timeOfId(request.id), problems: JSON.parse(problems ?? "[]") };
}
