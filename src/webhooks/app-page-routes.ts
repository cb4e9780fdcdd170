import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import {
  addPageScope,
  type PageDeps,
  readField,
  requireSession,
  sendPage,
} from "../accounts/page-scope.ts";
import { rolesThatMay } from "../accounts/roles.ts";
import type { AppChange } from "../apps/change-app.ts";
import type { AppRules } from "../apps/check-app.ts";
import { type AppForm, checkNewApp, EMPTY_FORM } from "../apps/check-new-app.ts";
import { createApp, type NewApp } from "../apps/create-app.ts";
import { loadApplications } from "../apps/load-applications.ts";
import { makeWebhookSecret } from "../apps/model.ts";
import { revokeConsent } from "../apps/oauth/revoke-consent.ts";
import { APPS_PATH, appsPage, type Secrets } from "../apps/pages.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import { notFound, Refusal } from "../platform/errors.ts";
import { isId } from "../platform/ids.ts";
import { type ChangedApp, changeOneApp } from "./update-apps.ts";

type AppPageDeps = PageDeps & { keyring: Keyring; app_rules: AppRules };

const HIDDEN = { hide: true };

/** Settings › Developer › Apps, and the applications that a person has authorised. */
export function addAppPages(app: FastifyInstance, deps: AppPageDeps): void {
  const signed_in = { schema: HIDDEN, onRequest: requireSession() };
  const makes_apps = { schema: HIDDEN, onRequest: requireSession(...rolesThatMay("manage_apps")) };
  const admins = { schema: HIDDEN, onRequest: requireSession(...rolesThatMay("reset_app_used")) };
  addPageScope(app, deps, (scope) => {
    scope.get(APPS_PATH, signed_in, (request, reply) => show(deps, request, reply));

    scope.post(APPS_PATH, makes_apps, async (request, reply) => {
      const form = readForm(request);
      const checked = checkNewApp(form, deps.app_rules);
      if ("problems" in checked) {
        return show(deps, request, reply, { form, problems: checked.problems, status: 422 });
      }
      const secrets = await create(deps, request, checked.app);
      return show(deps, request, reply, { secrets });
    });

    scope.post(`${APPS_PATH}/rotate`, makes_apps, async (request, reply) => {
      const secrets = await rotate(deps, request);
      return show(deps, request, reply, { secrets });
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
  more: { form?: AppForm; problems?: string[]; secrets?: Secrets; status?: number } = {},
): Promise<FastifyReply> {
  const { form = EMPTY_FORM, problems = [], secrets = null, status = 200 } = more;
  const session = request.member!;
  const applications = await loadApplications(deps, session);
  const { mode } = deps;
  return sendPage(
    reply,
    appsPage({ mode, session, applications, form, problems, secrets }),
    status,
  );
}

async function create(
  deps: AppPageDeps,
  request: FastifyRequest,
  checked: Omit<NewApp, "account_id" | "webhook_headers" | "is_ordered">,
): Promise<Secrets> {
  const { database, keyring, index_key, clock } = deps;
  const { account_id, person_id } = request.member!;
  // An endpoint URL without a secret would receive nothing.
  const is_made = checked.webhook_url !== null && checked.webhook_secret === null;
  const webhook_secret = is_made ? makeWebhookSecret() : checked.webhook_secret;
  return database.transaction(async (tx) => {
    const account_key = (await keyring.openAccounts(tx, [account_id])).get(account_id)!;
    const input = {
      ...checked,
      account_id,
      webhook_secret,
      webhook_headers: null,
      is_ordered: true,
      actor: `member:${person_id}` as const,
      reason: "",
    };
    const { app, client_secret } = createApp(tx, { index_key, account_key }, input, clock.now());
    return { app_name: app.name, client_id: app.id, client_secret, webhook_secret };
  });
}

async function rotate(deps: AppPageDeps, request: FastifyRequest): Promise<Secrets> {
  const { endpoint, revealed } = await change(deps, request, { kind: "rotate_client_secret" });
  const client_secret = revealed.client_secret!;
  return { app_name: endpoint.name, client_id: endpoint.id, client_secret, webhook_secret: null };
}

/** A change of one of the account's applications that takes no other input. */
async function change(
  deps: AppPageDeps,
  request: FastifyRequest,
  wanted: AppChange,
): Promise<ChangedApp> {
  const { account_id, person_id } = request.member!;
  const id = readField(request, "app_id");
  const by = { actor: `member:${person_id}`, reason: "" } as const;
  const changed = isId(id) && (await changeOneApp(deps, { account_id, id }, wanted, by));
  if (!changed) throw Refusal.of([notFound("app_id")]);
  return changed;
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
