import { HOUR_MS } from "../platform/durations.ts";
import { notFound, Refusal } from "../platform/errors.ts";
import { cutPage, requirePage } from "../platform/http/list.ts";
import type { AddRoute, Caller } from "../platform/http/route.ts";
import type { ModuleCore } from "../platform/module.ts";
import { Problems } from "../platform/problems.ts";
import type { AppChange } from "./change-app.ts";
import { type AppRules, checkApp } from "./check-app.ts";
import { createApps } from "./create-apps.ts";
import { headerNamesOf } from "./model.ts";
import { asOf, renderApp, renderApps } from "./render.ts";
import {
  AppAnswer,
  AppListAnswer,
  AppListQuery,
  AppSecretAnswer,
  CreateAppBody,
  RotateBody,
  UpdateAppBody,
} from "./schemas.ts";
import { listEndpointPage, listEndpoints } from "./store.ts";
import { updateApps } from "./update-apps.ts";
import { isWebhookSecret, SECRET_MESSAGE } from "./webhook-secrets.ts";

type AppRouteDeps = ModuleCore & { app_rules: AppRules };

const TAG = "Applications";
const GRACE_HOURS = 24;
const EXAMPLE = {
  name: "Invoice sync",
  webhook_url: "https://hooks.example.com/sliproad",
  events: ["offramp_update"],
};

export function addAppRoutes(addRoute: AddRoute, deps: AppRouteDeps): void {
  addCreate(addRoute, deps);
  addReads(addRoute, deps);
  addChanges(addRoute, deps);
}

function addCreate(addRoute: AddRoute, deps: AppRouteDeps): void {
  const submit = deps.executor.register(createApps(deps.keyring, deps.index_key));
  addRoute({
    method: "POST",
    path: "/apps",
    operation: "createApp",
    summary: "Create an application",
    description:
      "The response contains the client secret and the webhook secret. They are never shown " +
      "again. An application with `client_credentials` changes invoices without anybody's " +
      "consent, so whoever creates it needs the right to change them: an API key with scopes " +
      "needs `invoices` as well.",
    tag: TAG,
    body: CreateAppBody,
    body_example: { app: EXAMPLE } as never,
    answer: AppSecretAnswer,
    errors: ["value_too_long", "limit_exceeded"],
    handle: ({ caller, body, problems, command }) => {
      const checked = checkApp(body.app ?? {}, deps.app_rules, "app.", problems);
      const is_machine = checked.fields.flow === "client_credentials";
      const refusal = is_machine && refuseMachine(caller);
      if (refusal) throw refusal;
      return submit(command(checked));
    },
  });
}

function addReads(addRoute: AddRoute, { database, keyring, clock }: AppRouteDeps): void {
  addRoute({
    method: "GET",
    path: "/apps",
    operation: "listApps",
    summary: "List applications",
    description: "All applications of the account, newest first.",
    tag: TAG,
    query: AppListQuery,
    answer: AppListAnswer,
    errors: [],
    handle: async ({ caller, query, problems }) => {
      const page = requirePage(query, problems);
      const rows = await listEndpointPage(database, caller.account_id, page);
      const { rows: shown, has_more } = cutPage(rows, page);
      const key = await keyring.openAccount(database, caller.account_id);
      const now = clock.now();
      const endpoints = shown.map((endpoint) => asOf(endpoint, now));
      return renderApps(endpoints, (endpoint) => headerNamesOf(key, endpoint), has_more);
    },
  });
  addRoute({
    method: "GET",
    path: "/apps/:app_id",
    operation: "showApp",
    summary: "Show an application",
    description: "`webhook.state` says whether events are sent; `webhook.reason` says why not.",
    tag: TAG,
    answer: AppAnswer,
    errors: [],
    handle: async ({ caller, params, problems }) => {
      const { account_id } = caller;
      const [endpoint] = await listEndpoints(database, [{ account_id, id: params.app_id }]);
      const found = [...problems, ...(endpoint ? [] : [notFound("app_id")])];
      if (!endpoint || found.length > 0) throw Refusal.of(found);
      const header_names = headerNamesOf(await keyring.openAccount(database, account_id), endpoint);
      return renderApp(asOf(endpoint, clock.now()), header_names);
    },
  });
}

function addChanges(addRoute: AddRoute, deps: AppRouteDeps): void {
  const submit = deps.executor.register(updateApps(deps));
  addRoute({
    method: "PATCH",
    path: "/apps/:app_id",
    operation: "updateApp",
    summary: "Update an application",
    description:
      "Changes name, redirect URIs, webhook endpoint or chosen events. Omitted fields keep their " +
      "values. Name and redirect URIs decide whom people let in: an API key with scopes needs " +
      "`admin` to change them.",
    tag: TAG,
    body: UpdateAppBody,
    body_example: { app: { events: ["offramp_update", "kyc_update"] } },
    answer: AppSecretAnswer,
    errors: ["value_too_long"],
    handle: ({ caller, params, body, problems, command }) => {
      const { name, redirect_uris } = body.app ?? {};
      const is_identity = name !== undefined || redirect_uris !== undefined;
      const refusal = is_identity && caller.refuse?.({ operation: "createApp", ip: null });
      if (refusal) throw refusal;
      const checked = checkApp(body.app ?? {}, deps.app_rules, "app.", problems);
      const { flow: _, webhook_secret: __, ...fields } = checked.fields;
      const change: AppChange = { kind: "update", fields };
      return submit(command({ id: params.app_id, change, problems: checked.problems }));
    },
  });
  addRoute({
    method: "POST",
    path: "/apps/:app_id/rotate_webhook_secret",
    operation: "rotateWebhookSecret",
    summary: "Rotate the webhook secret",
    description:
      "Until the switch, `X-Webhook-Signature` is made with the old secret and " +
      "`webhook-signature` carries both signatures. Then only the new secret signs.",
    tag: TAG,
    body: RotateBody,
    body_example: { grace_hours: 24 },
    answer: AppSecretAnswer,
    errors: [],
    handle: ({ params, body, problems, command }) => {
      const webhook_secret = body.webhook_secret ?? null;
      const found = new Problems(problems);
      const is_secret = webhook_secret === null || isWebhookSecret(webhook_secret);
      if (!is_secret) found.invalid("webhook_secret", SECRET_MESSAGE);
      const grace_ms = (body.grace_hours ?? GRACE_HOURS) * HOUR_MS;
      const change: AppChange = { kind: "rotate_webhook_secret", webhook_secret, grace_ms };
      return submit(command({ id: params.app_id, change, problems: found.list }));
    },
  });
  for (const { kind, ...words } of SIMPLE_CHANGES) {
    addRoute({
      method: "POST",
      path: `/apps/:app_id/${kind}`,
      ...words,
      tag: TAG,
      answer: AppSecretAnswer,
      errors: [],
      handle: async ({ caller, params, problems, command }) => {
        if (kind === "rotate_client_secret") await assertMayRotate(deps, caller, params.app_id);
        return submit(command({ id: params.app_id, change: { kind }, problems }));
      },
    });
  }
}

/** Before the command: a replay of somebody else's request would show the secret as well. */
async function assertMayRotate(
  { database }: AppRouteDeps,
  caller: Caller,
  id: string,
): Promise<void> {
  const refusal = refuseMachine(caller);
  if (!refusal) return;
  const [app] = await listEndpoints(database, [{ account_id: caller.account_id, id }]);
  if (app?.flow === "client_credentials") throw refusal;
}

/**
 * Whoever holds the secret of an application with client credentials changes invoices by it, and
 * goes on when they have left: they need the right to do so themselves.
 */
function refuseMachine(caller: Caller): Refusal | null {
  const refusal = caller.refuse?.({ operation: "changeInvoice", ip: null });
  if (refusal?.code !== "insufficient_scope") return refusal ?? null;
  const why = "An application with client credentials changes invoices without anybody's consent.";
  return new Refusal("insufficient_scope", `${why} ${refusal.message}`);
}

const SIMPLE_CHANGES = [
  {
    kind: "pause",
    operation: "pauseApp",
    summary: "Pause the endpoint",
    description: "Events are kept and sent once the endpoint is resumed.",
  },
  {
    kind: "resume",
    operation: "resumeApp",
    summary: "Resume the endpoint",
    description: "Starts sending again after a pause, or after Sliproad disabled the endpoint.",
  },
  {
    kind: "switch_webhook_secret",
    operation: "switchWebhookSecret",
    summary: "End a rotation",
    description: "From now on only the new webhook secret signs.",
  },
  {
    kind: "rotate_client_secret",
    operation: "rotateClientSecret",
    summary: "Rotate the client secret",
    description:
      "The old client secret stops working immediately. The response contains the new one. With " +
      "`client_credentials`, an API key with scopes needs `invoices` as well.",
  },
  {
    kind: "reset_used",
    operation: "resetAppUsed",
    summary: "Reset that the application was used",
    description:
      "The application receives the events of all invoices of its account again, until its next " +
      "successful API call.",
  },
  {
    kind: "delete",
    operation: "deleteApp",
    summary: "Delete an application",
    description: "Its tokens and consents end immediately, and it receives no more events.",
  },
] as const;
