import type { FastifyReply, FastifyRequest } from "fastify";
import { callerNetwork } from "../../platform/http/caller-network.ts";
import { readAccount } from "../../platform/named-credentials.ts";
import { readCookie, setCookie } from "../../platform/pages/cookies.ts";
import { realTime } from "../../platform/tasks/real-time.ts";
import type { PageDeps } from "../page-scope.ts";
import type { Attempt } from "./attempt-limits.ts";
import { KNOWN_DEVICE_MS, makeDeviceToken } from "./known-device.ts";

/** From now on the person can sign in here whatever strangers try elsewhere. */
export function keepDevice(
  { index_key, clock, public_url }: PageDeps,
  reply: FastifyReply,
  email: string,
  session_token?: string,
): void {
  const account_id = session_token && readAccount(index_key, session_token);
  const token = makeDeviceToken(index_key, email, account_id, realTime(clock));
  setCookie(reply, public_url(), "device", token, KNOWN_DEVICE_MS);
}

/** What the limits of sign-in attempts need to know of a request. */
export function attemptOf(deps: PageDeps, request: FastifyRequest): Omit<Attempt, "email"> {
  return {
    address: callerNetwork(request.ip),
    device_token: readCookie(request, deps.public_url(), "device"),
    now: realTime(deps.clock),
  };
}
