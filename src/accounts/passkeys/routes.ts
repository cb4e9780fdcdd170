import { join } from "node:path";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { Refusal } from "../../platform/errors.ts";
import { addStaticFiles, readStaticFiles } from "../../platform/http/static-files.ts";
import { readCookie } from "../../platform/pages/cookies.ts";
import { localPath } from "../../platform/pages/local-path.ts";
import {
  CONFIRM_PATH,
  FACTOR_PATH,
  HOME,
  NEW_PASSKEY_PATH,
  PASSKEY_SIGN_IN_PATH,
  PASSKEYS_PATH,
  SECURITY_PATH,
} from "../page-paths.ts";
import { readField, requireSession, sendPage, sendScriptedPage } from "../page-scope.ts";
import { enrolling, keepToken, proofsOf } from "../security/guards.ts";
import { recoveryCodesPage } from "../security/pages.ts";
import { attemptOf } from "../sign-in/device-cookie.ts";
import { textOf } from "../sign-in/password-routes.ts";
import { keepSession, type SignInPageDeps, showSignIn } from "../sign-in/routes.ts";
import { deviceOf } from "../sign-in/session-origin.ts";
import type { MemberSession } from "../sign-in/sessions.ts";
import type { ChallengeUse } from "./challenges.ts";
import { loadPasskey, removePasskey, renamePasskey } from "./change-passkeys.ts";
import { PASSKEY_ASSETS_PATH } from "./form.ts";
import { passkeySite } from "./model.ts";
import { offerChallenge, offerRegistration } from "./offer-challenge.ts";
import { newPasskeyPage, passkeyPage } from "./pages.ts";
import { registerPasskey } from "./register-passkey.ts";
import { signInWithPasskey } from "./sign-in-with-passkey.ts";

const SIGNED_IN = { onRequest: requireSession() };
const PUBLIC_FORM = { config: { is_public_form: true } };

export function addPasskeyScript(app: FastifyInstance): void {
  addStaticFiles(app, PASSKEY_ASSETS_PATH, readStaticFiles(join(import.meta.dirname, "assets")));
}

/** Sign-in with a passkey, and the pages where people add, name and remove theirs. */
export function addPasskeyPages(scope: FastifyInstance, deps: SignInPageDeps): void {
  addSignIn(scope, deps);
  addChallenges(scope, deps);
  addRegistration(scope, deps);
  addChanges(scope, deps);
}

function addSignIn(scope: FastifyInstance, deps: SignInPageDeps): void {
  scope.post(`${PASSKEY_SIGN_IN_PATH}/challenge`, PUBLIC_FORM, async (request, reply) => {
    const use = { purpose: "sign_in", holder: browserOf(deps, request) } as const;
    const { address } = attemptOf(deps, request);
    return sendJson(reply, await offerChallenge(deps, use, { person_id: null, address }));
  });

  scope.post(PASSKEY_SIGN_IN_PATH, PUBLIC_FORM, async (request, reply) => {
    const next = localPath(readField(request, "next"), HOME);
    const attempt = attemptOf(deps, request);
    const outcome = await signInWithPasskey(deps, {
      ...attempt,
      credential: readField(request, "credential"),
      holder: browserOf(deps, request),
      origin: { device: deviceOf(request.headers["user-agent"]), network: attempt.address },
      previous_token: (request.member ?? request.pending)?.token,
    });
    if (outcome instanceof Refusal) {
      return showSignIn(deps, request, reply, { next, email: "", refusal: outcome });
    }
    keepSession(deps, reply, outcome.email, outcome);
    return reply.redirect(next, 303);
  });
}

/** The cookie that a form for people who are not signed in is bound to; it was checked before. */
function browserOf(deps: SignInPageDeps, request: FastifyRequest): string {
  return readCookie(request, deps.public_url(), "form")!;
}

/** What the script asks for before it asks the browser for a passkey. */
function addChallenges(scope: FastifyInstance, deps: SignInPageDeps): void {
  const offer = async (
    request: FastifyRequest,
    reply: FastifyReply,
    purpose: ChallengeUse["purpose"],
    { id, person_id }: MemberSession,
  ) => {
    const { address } = attemptOf(deps, request);
    const use = { purpose, holder: id };
    return sendJson(reply, await offerChallenge(deps, use, { person_id, address }));
  };

  scope.post(`${FACTOR_PATH}/challenge`, async (request, reply) => {
    const { pending } = request;
    if (pending?.state !== "awaiting_factor") return reply.redirect("/sign-in", 303);
    return offer(request, reply, "second_factor", pending);
  });
  scope.post(`${CONFIRM_PATH}/challenge`, SIGNED_IN, (request, reply) =>
    offer(request, reply, "confirm", request.member!),
  );
  scope.post(`${SECURITY_PATH}/challenge`, SIGNED_IN, (request, reply) =>
    offer(request, reply, "change", request.member!),
  );
}

function addRegistration(scope: FastifyInstance, deps: SignInPageDeps): void {
  const guard = enrolling(deps, NEW_PASSKEY_PATH);
  const show = (request: FastifyRequest, reply: FastifyReply, refusal: Refusal | null) => {
    if (!passkeySite(deps.public_url())) throw new Refusal("route_not_found");
    const session = (request.member ?? request.pending)!;
    const { next = readField(request, "next") } = request.query as Record<string, unknown>;
    const shown = newPasskeyPage({
      mode: deps.mode,
      session,
      name: readField(request, "name") || deviceOf(request.headers["user-agent"]),
      next: localPath(next, SECURITY_PATH),
      problem: textOf(refusal),
    });
    return sendScriptedPage(reply, shown, refusal?.status ?? 200);
  };

  scope.get(NEW_PASSKEY_PATH, guard, (request, reply) => show(request, reply, null));

  scope.post(`${PASSKEYS_PATH}/challenge`, guard, async (request, reply) => {
    const session = (request.member ?? request.pending)!;
    const { address } = attemptOf(deps, request);
    return sendJson(reply, await offerRegistration(deps, session, address));
  });

  scope.post(PASSKEYS_PATH, guard, async (request, reply) => {
    const session = (request.member ?? request.pending)!;
    const outcome = await registerPasskey(deps, session, {
      credential: readField(request, "credential"),
      name: readField(request, "name"),
    });
    if (outcome instanceof Refusal) return show(request, reply, outcome);
    keepToken(deps, reply, outcome.token);
    const { recovery_codes } = outcome;
    if (recovery_codes === null) return reply.redirect(`${SECURITY_PATH}?done=passkey`, 303);
    const next = localPath(readField(request, "next"), SECURITY_PATH);
    return sendPage(reply, recoveryCodesPage({ mode: deps.mode, recovery_codes, next }));
  });
}

function addChanges(scope: FastifyInstance, deps: SignInPageDeps): void {
  const idOf = (request: FastifyRequest) => (request.params as { passkey_id: string }).passkey_id;
  const show = async (
    request: FastifyRequest,
    reply: FastifyReply,
    problem: { section: "name" | "remove"; refusal: Refusal } | null,
  ) => {
    const session = request.member!;
    const shown = passkeyPage({
      mode: deps.mode,
      session,
      ...(await loadPasskey(deps, session, idOf(request))),
      problem: problem && { section: problem.section, text: textOf(problem.refusal)! },
    });
    return sendScriptedPage(reply, shown, problem?.refusal.status ?? 200);
  };

  const path = `${PASSKEYS_PATH}/:passkey_id`;
  scope.get(path, SIGNED_IN, (request, reply) => show(request, reply, null));

  scope.post(`${path}/rename`, SIGNED_IN, async (request, reply) => {
    const input = { id: idOf(request), name: readField(request, "name") };
    const refusal = await renamePasskey(deps, request.member!, input);
    if (refusal) return show(request, reply, { section: "name", refusal });
    return reply.redirect(`${SECURITY_PATH}?done=renamed`, 303);
  });

  scope.post(`${path}/remove`, SIGNED_IN, async (request, reply) => {
    const input = { ...proofsOf(deps, request), id: idOf(request) };
    const outcome = await removePasskey(deps, request.member!, input);
    if (outcome instanceof Refusal) {
      return show(request, reply, { section: "remove", refusal: outcome });
    }
    keepToken(deps, reply, outcome.token);
    return reply.redirect(`${SECURITY_PATH}?done=unkeyed`, 303);
  });
}

function sendJson(reply: FastifyReply, value: object): FastifyReply {
  return reply.type("application/json; charset=utf-8").send(JSON.stringify(value));
}
