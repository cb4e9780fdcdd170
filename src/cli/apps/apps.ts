import { type Command, Option } from "commander";
import type { AppChange } from "../../apps/change-app.ts";
import { isWebhookSecret, SECRET_MESSAGE } from "../../apps/webhook-secrets.ts";
import { RAMP_EVENTS } from "../../events/model.ts";
import { HOUR_MS } from "../../platform/durations.ts";
import { StartupError } from "../../platform/startup-error.ts";
import { withApiOptions } from "../api-client.ts";
import { withCore } from "../context.ts";
import { type RangeOptions, replayRange } from "../events.ts";
import { type JsonOption, print } from "../output.ts";
import type { CreateOptions } from "./actions.ts";

/** Imported on demand, so that other commands start faster. */
const actions = () => import("./actions.ts");

const REASON = [
  "--reason <reason>",
  "the reason, for the audit log",
  "on the command line",
] as const;

export function addAppCommands(program: Command): void {
  const apps = program.command("apps").description("manage OAuth applications and their webhooks");
  addCreate(apps);
  addList(apps);
  addRotate(apps);
  addStates(apps);
  addReplay(apps);
}

function addCreate(apps: Command): void {
  apps
    .command("create")
    .description("create an application; its secrets are shown only once")
    .requiredOption("--name <name>", "the application's name")
    .option("--account <name or id>", "whose application it is (default: the first account)")
    .addOption(
      new Option("--flow <flow>", "the OAuth flow for access tokens")
        .choices(["authorization_code", "client_credentials"])
        .default("authorization_code"),
    )
    .option("--redirect-uri <uri...>", "URL to redirect to after consent")
    .option("--webhook-url <url>", "URL that receives events")
    .option("--webhook-secret <secret>", "secret that signs the events (default: generated)")
    .addOption(
      // Choices for completion only: comma-separated lists are checked where they are read.
      new Option("--events <names>", "ramp events, separated by commas")
        .choices(RAMP_EVENTS)
        .argParser(String),
    )
    .option("--no-ordered", "send events of a record without waiting for earlier ones")
    .option(...REASON)
    .action(async (options: CreateOptions) => {
      const { create, toDocument } = await actions();
      const created = await withCore((core) => create(core, options));
      const { endpoint, revealed } = created;
      const document = toDocument(created);
      const { reason } = document.app.webhook;
      print(options, document, [
        `client_id      ${endpoint.id}`,
        `client_secret  ${revealed.client_secret}`,
        ...(revealed.webhook_secret ? [`webhook_secret ${revealed.webhook_secret}`] : []),
        "Store the secrets now: they cannot be shown again.",
        ...(reason ? [`No events are sent yet: ${reason}`] : []),
      ]);
    });
}

function addList(apps: Command): void {
  apps
    .command("list")
    .description("list applications and their delivery state")
    .option("--account <name or id>", "list only this account's applications")
    .action(async (options: JsonOption & { account?: string }) => {
      const { list } = await actions();
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

function addRotate(apps: Command): void {
  apps
    .command("rotate-secret")
    .description("rotate the webhook secret (with a grace period) or the client secret")
    .argument("<client_id>", "the application, from apps list")
    .option("--client", "rotate the client secret instead, without a grace period")
    .option("--webhook-secret <secret>", "the new secret (default: generated)")
    .option("--grace-hours <hours>", "how long the old secret stays in use, 0 to 168", "24")
    .option(...REASON)
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
        const { apply, toDocument } = await actions();
        const changed = await withCore((core) => apply(core, id, change, options.reason));
        const { client_secret, webhook_secret: made } = changed.revealed;
        const document = toDocument(changed);
        const { secret_switch_at } = document.app.webhook;
        print(options, document, [
          client_secret ? `client_secret  ${client_secret}` : `webhook_secret ${made}`,
          ...(secret_switch_at ? [`The old secret is used until ${secret_switch_at}.`] : []),
          "Store it now: it cannot be shown again.",
        ]);
      },
    );
}

function addStates(apps: Command): void {
  const states = [
    ["pause", "stop deliveries until the endpoint is resumed", "Paused"],
    ["resume", "resume deliveries to a paused or disabled endpoint", "Resumed"],
    ["reset_used", "mark the application as not yet used", "Reset"],
    ["delete", "delete an application; its tokens and consents end immediately", "Deleted"],
  ] as const;
  for (const [kind, description, done] of states) {
    apps
      .command(kind.replace("_", "-"))
      .description(description)
      .argument("<client_id>", "the application, from apps list")
      .option(...REASON)
      .action(async (id: string, options: JsonOption & { reason: string }) => {
        const { apply, toDocument } = await actions();
        const changed = await withCore((core) => apply(core, id, { kind }, options.reason));
        print(options, toDocument(changed), [`${done} ${changed.endpoint.name}.`]);
      });
  }
}

/** For one application the same as `events replay`. */
function addReplay(apps: Command): void {
  withApiOptions(apps.command("replay"))
    .description("send the events of a period again")
    .argument("<client_id>", "the application, from apps list")
    .requiredOption("--from <time>", "ISO 8601: events from this time")
    .option("--to <time>", "ISO 8601: events before this time (default: now)")
    .option("--only-failed", "only events that failed or were skipped")
    .action((app_id: string, options: RangeOptions) => replayRange(app_id, options.from!, options));
}
