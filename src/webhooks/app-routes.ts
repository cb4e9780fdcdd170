import { headerNamesOf } from "../access/app-model.ts";
import { listEndpoints } from "../access/apps-store.ts";
import { recordAudit } from "../access/audit.ts";
import type { AppChange } from "../access/change-app.ts";
import {
  type AppInput,
  type AppRules,
  checkApp,
  isWebhookSecret,
  SECRET_MESSAGE,
} from "../access/check-app.ts";
import { textOf } from "../catalogue/text.ts";
import type { Clock } from "../platform/clock.ts";
import type { Executor } from "../platform/commands/executor.ts";
import type { Database } from "../platform/db/database.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import { notFound, type Problem, Refusal } from "../platform/errors.ts";
import { cutPage, readPage, readTime, TIME_MESSAGE } from "../platform/http/list.ts";
import type { AddRoute } from "../platform/http/route.ts";
import { newId } from "../platform/ids.ts";
import { Problems } from "../platform/problems.ts";
import { enqueueTasks, taskNow } from "../platform/tasks/tasks.ts";
import { refuseAgain } from "./audience.ts";
import { createApps } from "./create-apps.ts";
import { REPLAY_TASK } from "./model.ts";
import { asOf, renderApp, renderApps, renderReplay } from "./render.ts";
import {
  AppAnswer,
  AppListAnswer,
  AppListQuery,
  AppSecretAnswer,
  CreateAppBody,
  ReplayAnswer,
  ReplayBody,
  RotateBody,
  UpdateAppBody,
} from "./schemas.ts";
import { updateApps } from "./update-apps.ts";
import { insertReplay, listEndpointPage } from "./webhook-store.ts";

export type AppRouteDeps = {
  database: Database;
  executor: Executor;
  keyring: Keyring;
  index_key: Buffer;
  clock: Clock;
  app_rules: AppRules;
  poke: () => void;
};

const TAG = "Applications";
const HOUR_MS = 60 * 60 * 1000;
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
  addReplay(addRoute, deps);
}

function addCreate(addRoute: AddRoute, deps: AppRouteDeps): void {
  const submit = deps.executor.register(createApps(deps.keyring, deps.index_key));
  addRoute({
    method: "POST",
    path: "/apps",
    operation: "createApp",
    summary: "Create an application",
    description: "Its secrets are in this answer and never shown again.",
    tag: TAG,
    body: CreateAppBody,
    body_example: { app: EXAMPLE } as never,
    answer: AppSecretAnswer,
    errors: ["value_too_long"],
    handle: ({ body, problems, command }) => {
      const { fields, problems: found } = check(deps, body?.app as AppInput, problems);
      return submit(command({ fields, problems: found }));
    },
  });
}

function addReads(addRoute: AddRoute, { database, keyring, clock }: AppRouteDeps): void {
  const openKey = async (account_id: string) =>
    (await keyring.openAccounts(database, [account_id])).get(account_id)!;
  addRoute({
    method: "GET",
    path: "/apps",
    operation: "listApps",
    summary: "List the account's applications",
    tag: TAG,
    query: AppListQuery,
    answer: AppListAnswer,
    errors: [],
    handle: async ({ caller, query, problems }) => {
      const { page, problems: page_problems } = readPage(query);
      const found = [...problems, ...page_problems];
      if (found.length > 0) throw Refusal.of(found);
      const rows = await listEndpointPage(database, caller.account_id, page);
      const { rows: shown, has_more } = cutPage(rows, page);
      const key = await openKey(caller.account_id);
      const now = clock.now();
      const endpoints = shown.map((endpoint) => asOf(endpoint, now));
      return renderApps(endpoints, (endpoint) => headerNamesOf(key, endpoint), has_more);
    },
  });
  addRoute({
    method: "GET",
    path: "/apps/:app_id",
    operation: "showApp",
    summary: "Show an application, and whether it is sent events",
    tag: TAG,
    answer: AppAnswer,
    errors: [],
    handle: async ({ caller, params, problems }) => {
      const { account_id } = caller;
      const [endpoint] = await listEndpoints(database, [{ account_id, id: params.app_id! }]);
      const found = [...problems, ...(endpoint ? [] : [notFound("app_id")])];
      if (!endpoint || found.length > 0) throw Refusal.of(found);
      const header_names = headerNamesOf(await openKey(account_id), endpoint);
      return renderApp(asOf(endpoint, clock.now()), header_names);
    },
  });
}

function addChanges(addRoute: AddRoute, deps: AppRouteDeps): void {
  const submit = deps.executor.register(updateApps(deps.keyring, deps.index_key));
  addRoute({
    method: "PATCH",
    path: "/apps/:app_id",
    operation: "updateApp",
    summary: "Change an application's name, endpoint or events",
    tag: TAG,
    body: UpdateAppBody,
    body_example: { app: { events: ["offramp_update", "kyc_update"] } },
    answer: AppSecretAnswer,
    errors: ["value_too_long"],
    handle: ({ params, body, problems, command }) => {
      const checked = check(deps, body?.app as AppInput, problems);
      const { flow: _, webhook_secret: __, ...fields } = checked.fields;
      const change: AppChange = { kind: "update", fields };
      return submit(command({ id: params.app_id!, change, problems: checked.problems }));
    },
  });
  addRoute({
    method: "POST",
    path: "/apps/:app_id/rotate_webhook_secret",
    operation: "rotateWebhookSecret",
    summary: "Rotate the webhook secret",
    description:
      "Until the switch X-Webhook-Signature keeps the old secret and webhook-signature carries " +
      "both; then the new one signs alone.",
    tag: TAG,
    body: RotateBody,
    body_example: { grace_hours: 24 },
    answer: AppSecretAnswer,
    errors: [],
    handle: ({ params, body, problems, command }) => {
      const webhook_secret = body?.webhook_secret ?? null;
      const found = new Problems(problems);
      const is_secret = webhook_secret === null || isWebhookSecret(String(webhook_secret));
      if (!is_secret) found.invalid("webhook_secret", SECRET_MESSAGE);
      const hours: unknown = body?.grace_hours ?? GRACE_HOURS;
      // What is no number was refused by the schema already.
      const grace_ms = (typeof hours === "number" ? hours : GRACE_HOURS) * HOUR_MS;
      const change: AppChange = { kind: "rotate_webhook_secret", webhook_secret, grace_ms };
      return submit(command({ id: params.app_id!, change, problems: found.list }));
    },
  });
  const simple = [
    ["pause", "pauseApp", "Pause the endpoint: events are kept until it is resumed"],
    ["resume", "resumeApp", "Resume an endpoint that was paused or disabled"],
    ["switch_webhook_secret", "switchWebhookSecret", "End a rotation: the new secret signs alone"],
    ["rotate_client_secret", "rotateClientSecret", "Replace the client secret at once"],
    ["reset_used", "resetAppUsed", "Let the application count as not yet used"],
    ["delete", "deleteApp", "Delete an application: its tokens and consents end at once"],
  ] as const;
  for (const [kind, operation, summary] of simple) {
    addRoute({
      method: "POST",
      path: `/apps/:app_id/${kind}`,
      operation,
      summary,
      tag: TAG,
      answer: AppSecretAnswer,
      errors: [],
      handle: ({ params, problems, command }) =>
        submit(command({ id: params.app_id!, change: { kind }, problems })),
    });
  }
}

function addReplay(addRoute: AddRoute, deps: AppRouteDeps): void {
  const { database, clock, poke } = deps;
  addRoute({
    method: "POST",
    path: "/apps/:app_id/replay",
    operation: "replayApp",
    stores_nothing: true,
    summary: "Send the events of a range of time again",
    tag: TAG,
    body: ReplayBody,
    body_example: { from: "2026-11-15T00:00:00Z", only_failed: true },
    answer: ReplayAnswer,
    errors: ["invalid_transition"],
    handle: async ({ caller, params, body, problems }) => {
      const { account_id, credential_id } = caller;
      const now = clock.now();
      const found = new Problems(problems);
      const readField = (field: "from" | "to", fallback: Date) => {
        const given: unknown = body?.[field];
        const text = textOf(given);
        const time = given == null ? fallback : readTime(text);
        if (!time) {
          const is_blank = field === "from" && text === "";
          found.report(field, is_blank ? "parameter_missing" : "record_invalid", TIME_MESSAGE);
        }
        return time ?? fallback;
      };
      const since = readField("from", now);
      const until = readField("to", now);
      if (since > until && found.isSound("to")) found.invalid("from", FROM_MESSAGE);
      const [endpoint] = await listEndpoints(database, [{ account_id, id: params.app_id! }]);
      if (!endpoint) throw Refusal.of([...found.list, notFound("app_id")]);
      const refused = refuseAgain(endpoint);
      if (refused) found.add([refused]);
      found.throwIfAny();
      const app_id = endpoint.id;
      const only_failed = body.only_failed ?? false;
      const range = { since, until, only_failed, deliveries: null, created_at: now };
      const replay = { account_id, id: newId(now), app_id, ...range };
      await database.transaction(async (tx) => {
        insertReplay(tx, replay);
        enqueueTasks(tx, [taskNow(REPLAY_TASK, replay, now)]);
        const actor = `api_key:${credential_id}` as const;
        const reason = "through the API";
        const record = `app:${app_id}`;
        recordAudit(tx, { account_id, actor, action: "app.replay", record, reason }, now);
      });
      poke();
      return renderReplay(replay);
    },
  });
}

const FROM_MESSAGE = "Send a time before `to`, which is now when it is left out.";

/** What the schema already complained of is not read again; the rest is. */
function check(
  { app_rules }: AppRouteDeps,
  input: AppInput | undefined,
  already: readonly Problem[],
) {
  const problems = new Problems(already);
  if (typeof input !== "object" || input === null) return { fields: {}, problems: problems.list };
  const readable = Object.fromEntries(
    Object.entries(input).filter(([name]) => problems.isSound(`app.${name}`)),
  );
  return checkApp(readable, app_rules, "app.", problems.list);
}
