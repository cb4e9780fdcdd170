import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import {
  addPageScope,
  type PageDeps,
  readField,
  requireConfirmed,
  requireSession,
  sendPage,
} from "../accounts/page-scope.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import { notFound, Refusal } from "../platform/errors.ts";
import { isId } from "../platform/ids.ts";
import { type AppForm, checkAppForm } from "./app-form.ts";
import type { AppChange } from "./change-app.ts";
import type { AppRules } from "./check-app.ts";
import { createOneApp } from "./create-apps.ts";
import { loadApplications } from "./load-applications.ts";
import { revokeConsent } from "./oauth/revoke-consent.ts";
import { APPS_PATH, appsPage } from "./pages.ts";
import type { AppOutcome } from "./render.ts";
import { changeOneApp, type SkipDeliveries } from "./update-apps.ts";

type AppPageDeps = PageDeps & {
  keyring: Keyring;
  app_rules: AppRules;
  skipDeliveries: SkipDeliveries;
};

/** Settings › Developer › Apps, and the applications that a person has authorised. */
export function addAppPages(app: FastifyInstance, deps: AppPageDeps): void {
  const signed_in = { onRequest: requireSession() };
  const manages = requireSession("manage_apps");
  const makes_apps = { onRequest: manages };
  const sees_secret = { onRequest: [manages, requireConfirmed(deps, APPS_PATH)] };
  const admins = { onRequest: requireSession("reset_app_used") };
  addPageScope(app, deps, (scope) => {
    scope.get(APPS_PATH, signed_in, (request, reply) => show(deps, request, reply));

    scope.post(APPS_PATH, sees_secret, async (request, reply) => {
      const form = readForm(request);
      const { fields, problems } = checkAppForm(form, deps.app_rules);
      if (problems.length > 0) return show(deps, request, reply, { form, problems });
      const { account_id } = request.member!;
      const made = await createOneApp(deps, account_id, fields, byMember(request));
      return show(deps, request, reply, { made });
    });

    scope.post(`${APPS_PATH}/rotate`, sees_secret, async (request, reply) => {
      const made = await change(deps, request, { kind: "rotate_client_secret" });
      return show(deps, request, reply, { made });
    });

    scope.post(`${APPS_PATH}/reset_used`, admins, async (request, reply) => {
      await change(deps, request, { kind: "reset_used" });
      return reply.redirect(APPS_PATH, 303);
    });

    scope.post(`${APPS_PATH}/delete`, makes_apps, async (request, reply) => {
      await change(deps, request, { kind: "delete" });
      return reply.redirect(APPS_PATH, 303);
    });

    scope.post(`${APPS_PATH}/revoke`, signed_in, async (request, reply) => {
      await revokeConsent(deps, request.member!, {
        account_id: readField(request, "account_id"),
        app_id: readField(request, "app_id"),
        person_id: readField(request, "person_id"),
      });
      return reply.redirect(APPS_PATH, 303);
    });
  });
}

async function show(
  deps: AppPageDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  shown: { form?: AppForm; problems?: string[]; made?: AppOutcome } = {},
): Promise<FastifyReply> {
  const session = request.member!;
  const applications = await loadApplications(deps, session);
  const page = appsPage({ mode: deps.mode, session, applications, ...shown });
  return sendPage(reply, page, shown.problems ? 422 : 200);
}

/** A change of one of the account's applications that takes no other input. */
async function change(
  deps: AppPageDeps,
  request: FastifyRequest,
  wanted: AppChange,
): Promise<AppOutcome> {
  const { account_id } = request.member!;
  const id = readField(request, "app_id");
  const key = { account_id, id };
  const changed = isId(id) && (await changeOneApp(deps, key, wanted, byMember(request)));
  if (!changed) throw Refusal.of([notFound("app_id")]);
  return changed;
}

function byMember(request: FastifyRequest) {
  return { actor: `member:${request.member!.person_id}`, reason: "" } as const;
}

function readForm(request: FastifyRequest): AppForm {
  const { events } = (request.body ?? {}) as { events?: string | string[] };
  return {
    name: readField(request, "name"),
    flow: readField(request, "flow"),
    redirect_uris: readField(request, "redirect_uris"),
    webhook_url: readField(request, "webhook_url"),
    webhook_secret: readField(request, "webhook_secret"),
    events: events === undefined ? [] : [events].flat(),
  };
}
