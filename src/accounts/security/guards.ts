import type { FastifyReply, FastifyRequest } from "fastify";
import { setCookie } from "../../platform/pages/cookies.ts";
import { realTime } from "../../platform/tasks/real-time.ts";
import { CONFIRM_PATH } from "../page-paths.ts";
import { readField, requireConfirmed, requireSession, withNext } from "../page-scope.ts";
import type { Proofs } from "../second-factor/change-factor.ts";
import { isConfirmed, isFactorConfirmed } from "../sign-in/confirm-identity.ts";
import { attemptOf } from "../sign-in/device-cookie.ts";
import { readFactor, type SignInPageDeps } from "../sign-in/routes.ts";
import { sessionMs } from "../sign-in/sessions.ts";

/**
 * For what sets up a second factor, also before anything else for people whose role requires one:
 * the password was given in the last minutes or, by a person who has one, a second factor.
 */
export function enrolling(deps: SignInPageDeps, path: string) {
  return {
    onRequest: async (request: FastifyRequest, reply: FastifyReply) => {
      if (request.member && !isFactorConfirmed(request.member, realTime(deps.clock))) {
        return reply.redirect(`${withNext(CONFIRM_PATH, path)}&factor=1`, 303);
      }
      if (request.member) return requireConfirmed(deps, path)(request, reply);
      const { pending } = request;
      if (pending?.state !== "must_enrol") return requireSession()(request, reply);
      if (isConfirmed(pending, realTime(deps.clock))) return;
      return reply.redirect(`${withNext("/sign-in", path)}&again=1`, 303);
    },
  };
}

/** The password and the second factor that a form sent. */
export function proofsOf(deps: SignInPageDeps, request: FastifyRequest): Proofs {
  return {
    ...attemptOf(deps, request),
    password: readField(request, "password"),
    factor: readFactor(request),
  };
}

/** After a change the session goes on with a new token; mail about the change is sent. */
export function keepToken(deps: SignInPageDeps, reply: FastifyReply, token: string): void {
  setCookie(reply, deps.public_url(), "session", token, sessionMs(deps.config));
  deps.wake();
}
