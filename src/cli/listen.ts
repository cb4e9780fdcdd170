import { setTimeout as sleep } from "node:timers/promises";
import type { Command } from "commander";
import { makeWebhookSecret } from "../access/app-model.ts";
import { StartupError } from "../platform/startup-error.ts";
import { readSecret, signatureHeaders, standardForm } from "../webhooks/sign.ts";
import { type ApiClient, type ApiOptions, openApiClient, withApiOptions } from "./api-client.ts";
import type { JsonOption } from "./context.ts";

type ListenOptions = ApiOptions &
  JsonOption & { forwardTo?: string; secret?: string; event?: string[]; since?: string };

type WebhookEvent = {
  id: string;
  event: string;
  record_id: string;
  sequence: number;
  body: string | null;
  created_at: string;
};

const ASK_MS = 500;
const FORWARD_MAX_MS = 15_000;

/** For a receiver under development that no server could reach. */
export function addListenCommand(program: Command): void {
  withApiOptions(program.command("listen"))
    .description("print the account's events as they happen, and forward them signed")
    .option("--forward-to <url>", "post each to this address, as a delivery would be")
    .option("--secret <secret>", "what signs them (default: made up and printed)")
    .option("--event <name...>", "only these events")
    .option("--since <time>", "ISO 8601: also what happened since then")
    .option("--json", "print one JSON document a line")
    .action(async (options: ListenOptions) => {
      if (options.forwardTo !== undefined && !URL.canParse(options.forwardTo)) {
        throw new StartupError("--forward-to must be an address such as http://localhost:3000.");
      }
      const stop = new AbortController();
      for (const signal of ["SIGINT", "SIGTERM"] as const) {
        process.once(signal, () => stop.abort());
      }
      await listen(await openApiClient(options), options, stop.signal);
    });
}

async function listen(api: ApiClient, options: ListenOptions, signal: AbortSignal): Promise<void> {
  const secret = options.secret ?? makeWebhookSecret();
  const say = (document: object, line: string) =>
    console.log(options.json ? JSON.stringify(document) : line);
  // The service's own time: in sandbox it may be far ahead of ours.
  const created_after = options.since ?? (await findNow(api));
  const about = { webhook_secret: secret, webhook_secret_standard: standardForm(secret) };
  say(
    { listening: { url: api.url, forward_to: options.forwardTo ?? null, ...about } },
    options.forwardTo
      ? `Forwarding events of ${api.url} to ${options.forwardTo}, signed with ${secret}`
      : `Events of ${api.url}; Ctrl-C ends`,
  );
  let after: string | null = null;
  while (!signal.aborted) {
    const cursor: string = after
      ? `starting_after=${after}`
      : `created_after=${encodeURIComponent(created_after)}`;
    const { webhook_events: events }: { webhook_events: WebhookEvent[] } = await api.call(
      "GET",
      `/webhook_events?limit=100&${cursor}`,
    );
    for (const event of events) {
      after = event.id;
      if (options.event && !options.event.includes(event.event)) continue;
      const answered = options.forwardTo
        ? await forward(options.forwardTo, secret, event, signal)
        : null;
      const { id, created_at, record_id, sequence } = event;
      say(
        { webhook_event: event, forwarded: answered },
        `${created_at}  ${event.event.padEnd(22)} ${record_id} #${sequence}  ${id}` +
          (answered === null ? "" : `  → ${answered}`),
      );
      if (signal.aborted) return;
    }
    if (events.length === 0) await sleep(ASK_MS, null, { signal }).catch(() => {});
  }
}

async function findNow(api: ApiClient): Promise<string> {
  const answer = await api.call("GET", "/sandbox/clock").catch(() => null);
  return answer?.clock?.now ?? new Date().toISOString();
}

/** The status, or why there was none: a receiver under development is often down. */
async function forward(
  url: string,
  secret: string,
  event: WebhookEvent,
  signal: AbortSignal,
): Promise<number | string> {
  if (event.body === null) return "its body is no longer kept";
  const body = Buffer.from(event.body);
  const timestamp_s = Math.floor(Date.now() / 1000);
  const secrets = { current: readSecret(secret), next: null };
  try {
    const answer = await fetch(url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "x-webhook-sequence": String(event.sequence),
        ...signatureHeaders(secrets, { id: event.id, timestamp_s, body }),
      },
      body,
      redirect: "manual",
      signal: AbortSignal.any([signal, AbortSignal.timeout(FORWARD_MAX_MS)]),
    });
    await answer.body?.cancel();
    return answer.status;
  } catch (error) {
    const { cause, message } = error as Error & { cause?: { code?: string } };
    return cause?.code ?? message;
  }
}
