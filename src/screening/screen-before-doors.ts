import type { AddRoute } from "../platform/http/route.ts";
import type { ScreenUsers } from "../users/clearance.ts";

/** The requests by which money of a user leaves. */
const DOORS: ReadonlySet<string> = new Set([
  "executeQuote",
  "fundQuote",
  "createRefund",
  "rerouteOfframp",
  "createOnramp",
]);

/** Adds routes such that a user's verdict that is out of date is renewed before money leaves. */
export function screenBeforeDoors(addRoute: AddRoute, screenUsers: ScreenUsers): AddRoute {
  return (spec) => {
    if (!DOORS.has(spec.operation)) return addRoute(spec);
    const handle: typeof spec.handle = async (request) => {
      const { user_id } = request.params as { user_id: string };
      await screenUsers([{ account_id: request.caller.account_id, user_id }]);
      return spec.handle(request);
    };
    return addRoute({ ...spec, handle });
  };
}
