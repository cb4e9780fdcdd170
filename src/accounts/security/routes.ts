import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { Refusal } from "../../platform/errors.ts";
import { localPath } from "../../platform/pages/local-path.ts";
import { realTime } from "../../platform/tasks/real-time.ts";
import { ENROL_PATH, SECURITY_PATH } from "../page-paths.ts";
import {
  readField,
  readNotice,
  requireSession,
  sendPage,
  sendScriptedPage,
  withNext,
} from "../page-scope.ts";
import { passkeySite } from "../passkeys/model.ts";
import { removeApp, renewRecoveryCodes } from "../second-factor/change-factor.ts";
import { enrolTotp, offerSeed, readSeed } from "../second-factor/enrol-totp.ts";
import { changePassword } from "../sign-in/change-password.ts";
import { attemptOf } from "../sign-in/device-cookie.ts";
import { textOf } from "../sign-in/password-routes.ts";
import type { SignInPageDeps } from "../sign-in/routes.ts";
import { endSessions } from "./end-sessions.ts";
import { enrolling, keepToken, proofsOf } from "./guards.ts";
import { loadSecurity } from "./load-security.ts";
import { enrolPage, recoveryCodesPage, securityPage } from "./pages.ts";

const SIGNED_IN = { onRequest: requireSession() };

const NOTICES: Readonly<Record<string, string>> = {
  password: "Your password is changed. All your other sessions have ended.",
  removed: "Your authenticator app is removed. All your other sessions have ended.",
  passkey: "Your passkey is added. All your other sessions have ended.",
  renamed: "Your passkey is renamed.",
  unkeyed: "Your passkey is removed. All your other sessions have ended.",
  ended: "The session has ended.",
  others: "All your other sessions have ended.",
};

type Problem = { section: "password" | "factor"; refusal: Refusal };

/** The pages where people manage their own sign-in. */
export function addSecurityPages(scope: FastifyInstance, deps: SignInPageDeps): void {
  scope.get(SECURITY_PATH, SIGNED_IN, (request, reply) => show(deps, request, reply, null));
  addPasswordChange(scope, deps);
  addEnrolment(scope, deps);
  addFactorChanges(scope, deps);

  scope.post(`${SECURITY_PATH}/sessions/end`, SIGNED_IN, async (request, reply) => {
    await endSessions(deps, request.member!, { id: readField(request, "session_id") });
    return reply.redirect(`${SECURITY_PATH}?done=ended`, 303);
  });
  scope.post(`${SECURITY_PATH}/sessions/end-others`, SIGNED_IN, async (request, reply) => {
    await endSessions(deps, request.member!, "others");
    return reply.redirect(`${SECURITY_PATH}?done=others`, 303);
  });
}

function addPasswordChange(scope: FastifyInstance, deps: SignInPageDeps): void {
  scope.post(`${SECURITY_PATH}/password`, SIGNED_IN, async (request, reply) => {
    const outcome = await changePassword(deps, request.member!, {
      ...attemptOf(deps, request),
      current: readField(request, "current"),
      password: readField(request, "password"),
    });
    if (outcome instanceof Refusal) {
      return show(deps, request, reply, { section: "password", refusal: outcome });
    }
    keepToken(deps, reply, outcome.token);
    return reply.redirect(`${SECURITY_PATH}?done=password`, 303);
  });
}

function addEnrolment(scope: FastifyInstance, deps: SignInPageDeps): void {
  const guard = enrolling(deps, ENROL_PATH);
  const has_passkeys = () => passkeySite(deps.public_url()) !== null;

  scope.get(ENROL_PATH, guard, (request, reply) => {
    const session = (request.member ?? request.pending)!;
    if (session.has_app) return reply.redirect(SECURITY_PATH, 303);
    const next = localPath((request.query as Record<string, unknown>).next, SECURITY_PATH);
    const { seed, sealed } = offerSeed(deps.index_key, session);
    const form = { mode: deps.mode, session, seed, sealed_seed: sealed, next, problem: null };
    return sendPage(reply, enrolPage({ ...form, has_passkeys: has_passkeys() }));
  });

  scope.post(ENROL_PATH, guard, async (request, reply) => {
    const session = (request.member ?? request.pending)!;
    const next = localPath(readField(request, "next"), SECURITY_PATH);
    const sealed_seed = readField(request, "seed");
    const seed = readSeed(deps.index_key, session, sealed_seed);
    if (!seed) return reply.redirect(withNext(ENROL_PATH, next), 303);
    try {
      const code = readField(request, "code");
      const { recovery_codes, token } = await enrolTotp(deps, session, { seed, code });
      keepToken(deps, reply, token);
      return sendPage(reply, recoveryCodesPage({ mode: deps.mode, recovery_codes, next }));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const problem = textOf(error);
      const form = { mode: deps.mode, session, seed, sealed_seed, next, problem };
      return sendPage(reply, enrolPage({ ...form, has_passkeys: has_passkeys() }), error.status);
    }
  });
}

function addFactorChanges(scope: FastifyInstance, deps: SignInPageDeps): void {
  scope.post(`${ENROL_PATH}/remove`, SIGNED_IN, async (request, reply) => {
    const outcome = await removeApp(deps, request.member!, proofsOf(deps, request));
    if (outcome instanceof Refusal) {
      return show(deps, request, reply, { section: "factor", refusal: outcome });
    }
    keepToken(deps, reply, outcome.token);
    return reply.redirect(`${SECURITY_PATH}?done=removed`, 303);
  });

  scope.post(`${SECURITY_PATH}/recovery-codes`, SIGNED_IN, async (request, reply) => {
    const outcome = await renewRecoveryCodes(deps, request.member!, proofsOf(deps, request));
    if (outcome instanceof Refusal) {
      return show(deps, request, reply, { section: "factor", refusal: outcome });
    }
    const { recovery_codes } = outcome;
    const shown = recoveryCodesPage({ mode: deps.mode, recovery_codes, next: SECURITY_PATH });
    return sendPage(reply, shown);
  });
}

async function show(
  deps: SignInPageDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  problem: Problem | null,
): Promise<FastifyReply> {
  const session = request.member!;
  const security = await loadSecurity(deps, session, realTime(deps.clock));
  const can_use_passkeys = passkeySite(deps.public_url()) !== null;
  const shown = securityPage({
    mode: deps.mode,
    session,
    security,
    problem: problem && { section: problem.section, text: textOf(problem.refusal)! },
    notice: problem ? null : readNotice(request, NOTICES),
    can_use_passkeys,
  });
  const send = can_use_passkeys ? sendScriptedPage : sendPage;
  return send(reply, shown, problem?.refusal.status ?? 200);
}
