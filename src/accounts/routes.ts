import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { Refusal } from "../platform/errors.ts";
import { callerNetwork } from "../platform/http/caller-network.ts";
import { clearCookie, setCookie } from "../platform/pages/cookies.ts";
import { STYLESHEET, STYLESHEET_HASH, STYLESHEET_PATH } from "../platform/pages/layout.ts";
import { localPath } from "../platform/pages/local-path.ts";
import { realTime } from "../platform/tasks/real-time.ts";
import { type DashboardDeps, loadDashboard } from "./load-dashboard.ts";
import {
  addPageScope,
  type PageDeps,
  publicFormCsrf,
  readField,
  requireSession,
  sendPage,
} from "./page-scope.ts";
import { dashboardPage, signInPage } from "./pages.ts";
import { addPasswordPages } from "./sign-in/password-routes.ts";
import { SESSION_MS } from "./sign-in/sessions.ts";
import { createSignInLimits, type SignInDeps, signIn } from "./sign-in/sign-in.ts";
import { signOut } from "./sign-in/sign-out.ts";
import { switchAccount } from "./sign-in/switch-account.ts";

const HOME = "/dashboard";

/** Sign-in, sign-out and the dashboard; other modules add their pages with `addPageScope`. */
export function addAccountPages(app: FastifyInstance, deps: PageDeps & DashboardDeps): void {
  addStylesheet(app);
  const sign_in_deps = { ...deps, limits: createSignInLimits(deps) };
  addPageScope(app, deps, (scope) => {
    addSignIn(scope, deps, sign_in_deps);
    addPasswordPages(scope, deps);
    addDashboard(scope, deps);
    scope.get("/", (_request, reply) => reply.redirect(HOME, 303));
    // Unknown paths: a page for browsers, the usual JSON error for programs.
    scope.get("/*", () => {
      throw new Refusal("route_not_found");
    });
  });
}

function addStylesheet(app: FastifyInstance): void {
  app.get(STYLESHEET_PATH, (request, reply) => {
    const is_this_version = request.url.endsWith(`?${STYLESHEET_HASH}`);
    return reply
      .header("Cache-Control", is_this_version ? "public, max-age=31536000, immutable" : "no-cache")
      .header("X-Content-Type-Options", "nosniff")
      .type("text/css; charset=utf-8")
      .send(STYLESHEET);
  });
}

function addSignIn(scope: FastifyInstance, deps: PageDeps, sign_in_deps: SignInDeps): void {
  scope.get("/sign-in", (request, reply) => {
    const query = request.query as Record<string, unknown>;
    const next = localPath(query.next, HOME);
    // `again` means another person may sign in, or the person must re-enter the password.
    if (request.member && query.again === undefined) return reply.redirect(next, 303);
    return showSignIn(deps, request, reply, { next, email: "", refusal: null });
  });

  const public_form = { config: { is_public_form: true } };
  scope.post("/sign-in", public_form, async (request, reply) => {
    const email = readField(request, "email");
    const next = localPath(readField(request, "next"), HOME);
    const outcome = await signIn(sign_in_deps, {
      email,
      password: readField(request, "password"),
      address: callerNetwork(request.ip),
      previous_token: request.member?.token,
      now: realTime(deps.clock),
    });
    if (outcome instanceof Refusal) {
      return showSignIn(deps, request, reply, { next, email, refusal: outcome });
    }
    // The cookie expires together with the session.
    setCookie(reply, deps.public_url(), "session", outcome.token, SESSION_MS);
    return reply.redirect(next, 303);
  });

  const signed_in = { onRequest: requireSession() };
  scope.post("/sign-out", signed_in, async (request, reply) => {
    await signOut(deps, request.member!);
    clearCookie(reply, deps.public_url(), "session");
    return reply.redirect("/sign-in", 303);
  });
}

function addDashboard(scope: FastifyInstance, deps: PageDeps & DashboardDeps): void {
  const signed_in = { onRequest: requireSession() };
  scope.get(HOME, signed_in, async (request, reply) => {
    const session = request.member!;
    const dashboard = await loadDashboard(deps, session);
    return sendPage(reply, dashboardPage(deps.mode, session, dashboard));
  });

  scope.post(`${HOME}/account`, signed_in, async (request, reply) => {
    await switchAccount(deps, request.member!, readField(request, "account_id"));
    return reply.redirect(HOME, 303);
  });
}

function showSignIn(
  deps: PageDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  form: { next: string; email: string; refusal: Refusal | null },
): FastifyReply {
  const { next, email, refusal } = form;
  if (refusal?.retry_after_seconds) reply.header("Retry-After", refusal.retry_after_seconds);
  const shown = signInPage({
    mode: deps.mode,
    csrf: publicFormCsrf(deps, request, reply),
    next,
    email,
    problem: refusal?.message ?? null,
    is_password_set: (request.query as Record<string, unknown>).done === "password",
  });
  return sendPage(reply, shown, refusal?.status ?? 200);
}
