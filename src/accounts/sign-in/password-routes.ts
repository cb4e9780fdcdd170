import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { createAttempts } from "../../platform/attempts/attempts.ts";
import { MINUTE_MS } from "../../platform/durations.ts";
import { Refusal } from "../../platform/errors.ts";
import { callerNetwork } from "../../platform/http/caller-network.ts";
import { type PageDeps, publicFormCsrf, readField, sendPage } from "../page-scope.ts";
import { tooManyAttempts } from "./attempt-limits.ts";
import { keepDevice } from "./device-cookie.ts";
import { SET_PASSWORD_PATH } from "./password-links.ts";
import {
  FORGOT_PATH,
  forgotPage,
  linkEndedPage,
  linkSentPage,
  setPasswordPage,
} from "./password-pages.ts";
import { createResetLimits, requestReset } from "./request-reset.ts";
import { findOpenLink, setPassword } from "./set-password.ts";

const LINK_ENDED_STATUS = 410;
/** Of one network in a minute; people also open links that have ended. */
const ENDED_LINKS_MAX = 30;
const PUBLIC_FORM = { config: { is_public_form: true } };

/** The pages of people who cannot sign in: ask for a link, and set a password with it. */
export function addPasswordPages(scope: FastifyInstance, deps: PageDeps): void {
  const reset_deps = { ...deps, limits: createResetLimits(deps) };
  const findLink = createLinkSearch(deps);

  scope.get(FORGOT_PATH, (request, reply) => showForgot(deps, request, reply, null));

  scope.post(FORGOT_PATH, PUBLIC_FORM, async (request, reply) => {
    const email = readField(request, "email");
    try {
      await requestReset(reset_deps, { email, address: callerNetwork(request.ip) });
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return showForgot(deps, request, reply, error);
    }
    deps.wake();
    return sendPage(reply, linkSentPage(deps.mode));
  });

  // Programs that scan mail open its links: only the form uses one up.
  scope.get(SET_PASSWORD_PATH, async (request, reply) => {
    const { token: given } = request.query as Record<string, unknown>;
    const token = typeof given === "string" ? given : "";
    const link = await findLink(request, token);
    return showSetPassword(deps, request, reply, { token, link }, null);
  });

  scope.post(SET_PASSWORD_PATH, PUBLIC_FORM, async (request, reply) => {
    const token = readField(request, "token");
    const link = await findLink(request, token);
    if (!link) return sendPage(reply, linkEndedPage(deps.mode), LINK_ENDED_STATUS);
    try {
      await setPassword(deps, { token, link, password: readField(request, "password") });
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const again = await findLink(request, token);
      return showSetPassword(deps, request, reply, { token, link: again }, error);
    }
    deps.wake();
    keepDevice(deps, reply, link.email);
    return reply.redirect("/sign-in?done=password", 303);
  });
}

/** Finds an open link. Callers who try many that are not must wait, even with a valid one. */
function createLinkSearch(deps: PageDeps) {
  const attempts = createAttempts(deps, {
    purpose: "password links",
    limit: ENDED_LINKS_MAX,
    window_ms: MINUTE_MS,
  });
  return async ({ ip }: FastifyRequest, token: string) => {
    const address = callerNetwork(ip);
    const seen = await attempts.look(address);
    if (seen.remaining === 0) throw tooManyAttempts(seen);
    const link = await findOpenLink(deps, token);
    if (!link) await attempts.take(address);
    return link;
  };
}

function showForgot(
  deps: PageDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  refusal: Refusal | null,
): FastifyReply {
  const csrf = publicFormCsrf(deps, request, reply);
  const email = readField(request, "email");
  const shown = forgotPage({ mode: deps.mode, csrf, email, problem: textOf(refusal) });
  if (refusal?.retry_after_seconds) reply.header("Retry-After", refusal.retry_after_seconds);
  return sendPage(reply, shown, refusal?.status ?? 200);
}

function showSetPassword(
  deps: PageDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  { token, link }: { token: string; link: { email: string } | null },
  refusal: Refusal | null,
): FastifyReply {
  if (!link) return sendPage(reply, linkEndedPage(deps.mode), LINK_ENDED_STATUS);
  const csrf = publicFormCsrf(deps, request, reply);
  const form = { mode: deps.mode, csrf, token, email: link.email, problem: textOf(refusal) };
  return sendPage(reply, setPasswordPage(form), refusal?.status ?? 200);
}

/** What a form says about a refusal. */
export function textOf(refusal: Refusal | null): string | null {
  return refusal && (refusal.problems[0]?.message ?? refusal.message);
}
