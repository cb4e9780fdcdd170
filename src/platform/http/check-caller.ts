import type { FastifyReply } from "fastify";
import { Refusal } from "../errors.ts";
import type { Caller } from "./route-spec.ts";

type Asked = {
  scope: string | undefined;
  members_only: boolean | undefined;
  operation: string;
  ip: string;
};

/** Refuses what this key, token or member may not do. */
export function checkCaller(caller: Caller, asked: Asked, reply: FastifyReply): void {
  const { scope, members_only, operation, ip } = asked;
  if (members_only && !caller.actor) {
    const message = "This route is for members who are signed in to the dashboard.";
    throw new Refusal("insufficient_scope", message);
  }
  checkScope(caller, scope, reply);
  const refusal = caller.refuse?.({ operation, ip });
  if (refusal) throw refusal;
}

/** A token may do only what its scopes permit, on routes that name one. */
function checkScope(caller: Caller, scope: string | undefined, reply: FastifyReply): void {
  if (!caller.scopes || (scope !== undefined && caller.scopes.includes(scope))) return;
  const wanted = scope === undefined ? "" : `, scope="${scope}"`;
  reply.header("WWW-Authenticate", `Bearer error="insufficient_scope"${wanted}`);
  const message =
    scope === undefined
      ? "This route accepts only API keys, not application tokens."
      : `The token does not have the scope ${scope}; request it at authorization.`;
  throw new Refusal("insufficient_scope", message);
}
