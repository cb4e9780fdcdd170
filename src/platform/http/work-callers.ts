import type { IncomingMessage } from "node:http";
import type { FastifyInstance } from "fastify";
import { type CallerContext, contextOf, contextOfNetwork, runFor } from "../db/caller-context.ts";
import { callerNetwork } from "./caller-network.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Whose work it is, for the turns at the database. */
    work_caller: CallerContext | null;
  }
}

/**
 * Everything that a request does is done for its caller: by the network it comes from, until
 * authentication names the account, if its credential does not. Add it before all other hooks.
 */
export function addWorkCallers(
  app: FastifyInstance,
  accountOf: (request: IncomingMessage) => string | undefined,
): void {
  app.decorateRequest("work_caller", null);
  app.addHook("onRequest", (request, { raw }, done) => {
    const account_id = accountOf(request.raw);
    const caller =
      account_id === undefined
        ? contextOfNetwork(callerNetwork(request.ip))
        : contextOf(account_id);
    request.work_caller = caller;
    raw.once("close", () => {
      caller.is_gone = !raw.writableFinished;
    });
    runFor(caller, done);
  });
  // The body arrived in events of the connection, which do not know the request.
  app.addHook("preValidation", (request, _reply, done) => runFor(request.work_caller!, done));
}
