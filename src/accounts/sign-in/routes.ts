import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { Refusal } from "../../platform/errors.ts";
import { clearCookie, setCookie } from "../../platform/pages/cookies.ts";
import { localPath } from "../../platform/pages/local-path.ts";
import { CONFIRM_PATH, FACTOR_PATH, HOME } from "../page-paths.ts";
import {
  type PageDeps,
  pendingPath,
  publicFormCsrf,
  readField,
  requireSession,
  sendPage,
  sendScriptedPage,
  withNext,
} from "../page-scope.ts";
import { passkeySite } from "../passkeys/model.ts";
import type { FactorProof } from "../second-factor/verify-factor.ts";
import { confirmIdentity } from "./confirm-identity.ts";
import { attemptOf, keepDevice } from "./device-cookie.ts";
import { finishSignIn } from "./finish-sign-in.ts";
import { confirmPage, factorPage, signInPage } from "./pages.ts";
import { textOf } from "./password-routes.ts";
import { deviceOf } from "./session-origin.ts";
import { sessionMs } from "./sessions.ts";
import { type SignedIn, type SignInDeps, signIn } from "./sign-in.ts";
import { signOut } from "./sign-out.ts";

export type SignInPageDeps = PageDeps & SignInDeps;

/** Signed in, or about to be. */
const HAS_SESSION = {
  onRequest: async (request: FastifyRequest, reply: FastifyReply) => {
    if (!request.member && !request.pending) return reply.redirect("/sign-in", 303);
  },
};

/** Sign-in in one step or two, sign-out, and the page that asks for a proof again. */
export function addSignInPages(scope: FastifyInstance, deps: SignInPageDeps): void {
  addPasswordStep(scope, deps);
  addFactorStep(scope, deps);
  addConfirmation(scope, deps);
  scope.post("/sign-out", HAS_SESSION, async (request, reply) => {
    await signOut(deps, (request.member ?? request.pending)!);
    clearCookie(reply, deps.public_url(), "session");
    return reply.redirect("/sign-in", 303);
  });
}

function addPasswordStep(scope: FastifyInstance, deps: SignInPageDeps): void {
  scope.get("/sign-in", (request, reply) => {
    const query = request.query as Record<string, unknown>;
    const next = localPath(query.next, HOME);
    // `again` means another person may sign in, or the person must re-enter the password.
    if (query.again === undefined) {
      if (request.member) return reply.redirect(next, 303);
      if (request.pending) return reply.redirect(withNext(pendingPath(request.pending), next), 303);
    }
    return showSignIn(deps, request, reply, { next, email: "", refusal: null });
  });

  const public_form = { config: { is_public_form: true } };
  scope.post("/sign-in", public_form, async (request, reply) => {
    const email = readField(request, "email");
    const next = localPath(readField(request, "next"), HOME);
    const attempt = attemptOf(deps, request);
    const outcome = await signIn(deps, {
      ...attempt,
      email,
      password: readField(request, "password"),
      origin: { device: deviceOf(request.headers["user-agent"]), network: attempt.address },
      previous_token: (request.member ?? request.pending)?.token,
    });
    if (outcome instanceof Refusal) {
      return showSignIn(deps, request, reply, { next, email, refusal: outcome });
    }
    keepSession(deps, reply, email, outcome);
    return reply.redirect(outcome.awaits_factor ? withNext(FACTOR_PATH, next) : next, 303);
  });
}

function addFactorStep(scope: FastifyInstance, deps: SignInPageDeps): void {
  scope.get(FACTOR_PATH, (request, reply) => {
    const next = localPath((request.query as Record<string, unknown>).next, HOME);
    return showFactor(deps, request, reply, { next, refusal: null });
  });

  scope.post(FACTOR_PATH, HAS_SESSION, async (request, reply) => {
    const next = localPath(readField(request, "next"), HOME);
    const { pending } = request;
    if (pending?.state !== "awaiting_factor")
      return reply.redirect(withNext("/sign-in", next), 303);
    const proof = readFactor(request);
    const outcome = await finishSignIn(deps, pending, { ...attemptOf(deps, request), proof });
    if (outcome instanceof Refusal) {
      return showFactor(deps, request, reply, { next, refusal: outcome });
    }
    deps.wake();
    keepSession(deps, reply, pending.email, outcome);
    return reply.redirect(next, 303);
  });
}

function addConfirmation(scope: FastifyInstance, deps: SignInPageDeps): void {
  const signed_in = { onRequest: requireSession() };
  const show = (
    request: FastifyRequest,
    reply: FastifyReply,
    next: string,
    refusal: Refusal | null,
  ) => {
    addRetryAfter(reply, refusal);
    const session = request.member!;
    const has_passkeys = session.has_passkey && passkeySite(deps.public_url()) !== null;
    const problem = textOf(refusal);
    const { factor = readField(request, "factor") } = request.query as Record<string, unknown>;
    const needs_factor = session.has_factor && factor === "1";
    const form = { mode: deps.mode, session, next, problem, has_passkeys, needs_factor };
    const shown = confirmPage(form);
    return sendWith(has_passkeys)(reply, shown, refusal?.status ?? 200);
  };

  scope.get(CONFIRM_PATH, signed_in, (request, reply) =>
    show(request, reply, localPath((request.query as Record<string, unknown>).next, HOME), null),
  );

  scope.post(CONFIRM_PATH, signed_in, async (request, reply) => {
    const session = request.member!;
    const next = localPath(readField(request, "next"), HOME);
    const password = readField(request, "password");
    const proof = password === "" ? readFactor(request) : { password };
    const attempt = attemptOf(deps, request);
    const outcome = await confirmIdentity(deps, session, { ...attempt, proof });
    if (outcome instanceof Refusal) return show(request, reply, next, outcome);
    const ends_ms = session.signed_in_at.getTime() + sessionMs(deps.config);
    const lifetime_ms = Math.max(0, ends_ms - attempt.now.getTime());
    setCookie(reply, deps.public_url(), "session", outcome.token, lifetime_ms);
    return reply.redirect(next, 303);
  });
}

/** What the form sent as second factor. */
export function readFactor(request: FastifyRequest): FactorProof {
  const credential = readField(request, "credential");
  return credential === "" ? { code: readField(request, "code") } : { credential };
}

/** The cookies of a browser in which somebody signed in. */
export function keepSession(
  deps: SignInPageDeps,
  reply: FastifyReply,
  email: string,
  { token, lifetime_ms, awaits_factor }: SignedIn,
): void {
  // The cookie expires together with the session.
  setCookie(reply, deps.public_url(), "session", token, lifetime_ms);
  if (!awaits_factor) keepDevice(deps, reply, email, token);
}

export function showSignIn(
  deps: PageDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  form: { next: string; email: string; refusal: Refusal | null },
): FastifyReply {
  const { next, email, refusal } = form;
  addRetryAfter(reply, refusal);
  const has_passkeys = passkeySite(deps.public_url()) !== null;
  const shown = signInPage({
    mode: deps.mode,
    has_passkeys,
    csrf: publicFormCsrf(deps, request, reply),
    next,
    email,
    problem: textOf(refusal),
    is_password_set: (request.query as Record<string, unknown>).done === "password",
  });
  return sendWith(has_passkeys)(reply, shown, refusal?.status ?? 200);
}

function showFactor(
  deps: PageDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  { next, refusal }: { next: string; refusal: Refusal | null },
): FastifyReply {
  const { pending } = request;
  if (pending?.state !== "awaiting_factor") return reply.redirect(withNext("/sign-in", next), 303);
  addRetryAfter(reply, refusal);
  const has_passkeys = pending.has_passkey && passkeySite(deps.public_url()) !== null;
  const problem = textOf(refusal);
  const shown = factorPage({ mode: deps.mode, session: pending, next, problem, has_passkeys });
  return sendWith(has_passkeys)(reply, shown, refusal?.status ?? 200);
}

/** Only pages that offer passkeys have a script. */
function sendWith(has_passkeys: boolean) {
  return has_passkeys ? sendScriptedPage : sendPage;
}

function addRetryAfter(reply: FastifyReply, refusal: Refusal | null): void {
  if (refusal?.retry_after_seconds) reply.header("Retry-After", refusal.retry_after_seconds);
}
