import { type Command, Option } from "commander";
import { headerNamesOf, RAMP_EVENTS } from "../access/app-model.ts";
import { findAppByClientId, listEndpoints, listEndpointsFor } from "../access/apps-store.ts";
import { type AppChange, changeApp, type Revealed } from "../access/change-app.ts";
import { checkApp, isWebhookSecret, SECRET_MESSAGE } from "../access/check-app.ts";
import { createApp } from "../access/create-app.ts";
import type { Account } from "../access/model.ts";
import { findAccount, findOperator, listAccounts } from "../access/store.ts";
import type { Core } from "../app/open-core.ts";
import { isId } from "../platform/ids.ts";
import { StartupError } from "../platform/startup-error.ts";
import type { Endpoint } from "../webhooks/audience.ts";
import { withDefaults } from "../webhooks/create-apps.ts";
import { asOf, toAppRecord, toSecrets } from "../webhooks/render.ts";
import { lockForChange, recordAppChange } from "../webhooks/update-apps.ts";
import { withCore } from "./context.ts";
import { type JsonOption, print } from "./output.ts";

type CreateOptions = JsonOption & {
  name: string;
  account?: string;
  flow: string;
  redirectUri?: string[];
  webhookUrl?: string;
  webhookSecret?: string;
  events?: string;
  ordered?: boolean;
  reason: string;
};

const HOUR_MS = 60 * 60 * 1000;
const REASON = ["--reason <reason>", "why, for the audit log", "on the command line"] as const;

export function addAppCommands(program: Command): void {
  const apps = program.command("apps").description("OAuth applications and their webhooks");
  addCreate(apps);
  addList(apps);
  addRotate(apps);
  addStates(apps);
}

function addCreate(apps: Command): void {
  apps
    .command("create")
    .description("make an application; its secrets are shown only once")
    .requiredOption("--name <name>", "what it is called")
    .option("--account <name or id>", "whose application it is (default: the first account)")
    .addOption(
      new Option("--flow <flow>", "how it gets its access tokens")
        .choices(["authorization_code", "client_credentials"])
        .default("authorization_code"),
    )
    .option("--redirect-uri <uri...>", "where people return to after they consented")
    .option("--webhook-url <url>", "where events are sent")
    .option("--webhook-secret <secret>", "what signs them (default: made up)")
    .addOption(
      // Choices for completion: several, separated by commas, are checked where they are read.
      new Option("--events <names>", "ramp events, separated by commas")
        .choices(RAMP_EVENTS)
        .argParser(String),
    )
    .option("--ordered", "a record's next event waits until the one before has arrived")
    .option(...REASON)
    .option("--json", "print one JSON document")
    .action(async (options: CreateOptions) => {
      const { endpoint, revealed } = await withCore((core) => create(core, options));
      const { reason } = toAppRecord(endpoint, []).webhook;
      print(options, documentOf(endpoint, [], revealed), [
        `client_id      ${endpoint.id}`,
        `client_secret  ${revealed.client_secret}`,
        ...(revealed.webhook_secret ? [`webhook_secret ${revealed.webhook_secret}`] : []),
        "Keep the secrets: they cannot be shown again.",
        ...(reason ? [`No events are sent yet: ${reason}`] : []),
      ]);
    });
}

async function create(core: Core, options: CreateOptions) {
  const { database, keyring, clock, config, index_key } = core;
  const account = await accountOf(core, options.account);
  // Only here: no other command sends anything to strangers.
  const { openSender } = await import("../app/open-parts.ts");
  const { fields, problems } = checkApp(
    {
      name: options.name,
      flow: options.flow,
      redirect_uris: options.redirectUri ?? [],
      webhook_url: options.webhookUrl ?? null,
      webhook_secret: options.webhookSecret ?? null,
      events: (options.events ?? "")
        .split(",")
        .map((name) => name.trim())
        .filter(Boolean),
      is_ordered: options.ordered ?? false,
    },
    { allow_http: config.mode === "sandbox", refuseUrl: openSender(config).refuse },
    "",
  );
  const [problem] = problems;
  if (problem) {
    const flag = problem.field
      .replace(/\[\d+\]$/, "")
      .replace(/s?$/, "")
      .replaceAll("_", "-");
    throw new StartupError(`--${flag}: ${problem.message}`);
  }
  const wanted = withDefaults(account.id, fields);
  const by = { actor: "command line", reason: options.reason } as const;
  const account_key = (await keyring.openAccounts(database, [account.id])).get(account.id)!;
  const { app, client_secret } = await database.transaction(async (tx) =>
    createApp(tx, { index_key, account_key }, { ...wanted, ...by }, clock.now()),
  );
  const endpoint: Endpoint = { ...app, webhooks_enabled_at: account.webhooks_enabled_at };
  const { webhook_secret } = wanted;
  return { endpoint, revealed: { client_secret, ...(webhook_secret ? { webhook_secret } : {}) } };
}

function addList(apps: Command): void {
  apps
    .command("list")
    .description("list the applications, and whether they are sent events")
    .option("--account <name or id>", "only of this account")
    .option("--json", "print one JSON document")
    .action(async (options: JsonOption & { account?: string }) => {
      const records = await withCore((core) => list(core, options.account));
      print(
        options,
        { apps: records },
        records.map(({ id, name, flow, webhook }) =>
          [id, name, flow, webhook.url ?? "no webhook", webhook.state, webhook.reason ?? ""]
            .join("  ")
            .trimEnd(),
        ),
      );
    });
}

async function list(core: Core, wanted: string | undefined) {
  const { database, keyring, clock } = core;
  const accounts = wanted ? [await accountOf(core, wanted)] : await listAccounts(database);
  const keys = await keyring.openAccounts(
    database,
    accounts.map((account) => account.id),
  );
  const found = await Promise.all(accounts.map(({ id }) => listEndpointsFor(database, id)));
  return found.flatMap((endpoints, at) =>
    endpoints
      .filter((endpoint) => endpoint.account_id === accounts[at]!.id)
      .map((endpoint) =>
        toAppRecord(
          asOf(endpoint, clock.now()),
          headerNamesOf(keys.get(endpoint.account_id)!, endpoint),
        ),
      ),
  );
}

function addRotate(apps: Command): void {
  apps
    .command("rotate-secret")
    .description("replace the webhook secret, with time to switch over, or the client secret")
    .argument("<client_id>", "the application, from apps list")
    .option("--client", "the client secret instead, at once")
    .option("--webhook-secret <secret>", "the new one (default: made up)")
    .option("--grace-hours <hours>", "how long the old one still signs, 0 to 168", "24")
    .option(...REASON)
    .option("--json", "print one JSON document")
    .action(
      async (
        id: string,
        options: JsonOption & {
          client?: boolean;
          webhookSecret?: string;
          graceHours: string;
          reason: string;
        },
      ) => {
        const hours = Number(options.graceHours);
        if (!/^\d{1,3}$/.test(options.graceHours) || hours > 168) {
          throw new StartupError("--grace-hours must be a whole number from 0 to 168.");
        }
        const webhook_secret = options.webhookSecret ?? null;
        if (webhook_secret !== null && !isWebhookSecret(webhook_secret)) {
          throw new StartupError(`--webhook-secret: ${SECRET_MESSAGE}`);
        }
        const change: AppChange = options.client
          ? { kind: "rotate_client_secret" }
          : { kind: "rotate_webhook_secret", webhook_secret, grace_ms: hours * HOUR_MS };
        const changed = await withCore((core) => apply(core, id, change, options.reason));
        const { client_secret, webhook_secret: made } = changed.revealed;
        const { secret_switch_at } = toAppRecord(changed.endpoint, []).webhook;
        print(options, documentOf(changed.endpoint, changed.names, changed.revealed), [
          client_secret ? `client_secret  ${client_secret}` : `webhook_secret ${made}`,
          ...(secret_switch_at ? [`The old one signs until ${secret_switch_at}.`] : []),
          "Keep it: it cannot be shown again.",
        ]);
      },
    );
}

function addStates(apps: Command): void {
  const states = [
    ["pause", "keep events back until the endpoint is resumed", "Paused"],
    ["resume", "send again to an endpoint that was paused or disabled", "Resumed"],
    ["delete", "delete it for good: its tokens and consents end at once", "Deleted"],
  ] as const;
  for (const [kind, description, done] of states) {
    apps
      .command(kind)
      .description(description)
      .argument("<client_id>", "the application, from apps list")
      .option(...REASON)
      .option("--json", "print one JSON document")
      .action(async (id: string, options: JsonOption & { reason: string }) => {
        const changed = await withCore((core) => apply(core, id, { kind }, options.reason));
        const { endpoint, names } = changed;
        print(options, documentOf(endpoint, names, {}), [`${done} ${endpoint.name}.`]);
      });
  }
}

/** Any account's: who works on the command line is the operator. */
async function apply(core: Core, id: string, change: AppChange, reason: string) {
  const { database, keyring, index_key, clock } = core;
  const found = isId(id) ? await findAppByClientId(database, id.toLowerCase()) : undefined;
  if (!found) throw new StartupError(`There is no application ${id}; see sliproad apps list.`);
  const account_key = (await keyring.openAccounts(database, [found.account_id])).get(
    found.account_id,
  )!;
  return database.transaction(async (tx) => {
    await lockForChange(tx, [found]);
    const [before] = await listEndpoints(tx, [found]);
    const now = clock.now();
    const { app, revealed } = changeApp(before!, change, { index_key, account_key }, now);
    const endpoint = { ...app, webhooks_enabled_at: before!.webhooks_enabled_at };
    recordAppChange(tx, { endpoint, change }, { actor: "command line", reason }, now);
    return { endpoint, names: headerNamesOf(account_key, app), revealed };
  });
}

function documentOf(endpoint: Endpoint, names: string[], revealed: Revealed) {
  return { app: toAppRecord(endpoint, names), ...toSecrets(revealed) };
}

async function accountOf({ database }: Core, wanted: string | undefined): Promise<Account> {
  const account = wanted ? await findAccount(database, wanted) : await findOperator(database);
  if (!account) {
    throw new StartupError(`There is no account ${wanted}; see sliproad accounts list.`);
  }
  return account;
}
