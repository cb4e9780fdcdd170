import { setTimeout as sleep } from "node:timers/promises";
import { type Command, Option } from "commander";
import {
  isWebhookSecret,
  makeWebhookSecret,
  SECRET_MESSAGE,
  standardForm,
} from "../apps/webhook-secrets.ts";
import { StartupError } from "../platform/startup-error.ts";
import { readSecret, signatureHeaders } from "../webhooks/delivery/sign.ts";
import {
  type ApiClient,
  ApiError,
  type ApiOptions,
  openApiClient,
  UnreachableError,
  withApiOptions,
} from "./api-client.ts";
import { openColours, type Paint } from "./colours.ts";
import { shortenIds } from "./exchanges.ts";
import { type JsonOption, printable } from "./output.ts";
import { EVENT_NAMES } from "./trigger/trigger.ts";

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
const PAGE_EVENTS = 100;
const NAME_WIDTH = Math.max(...EVENT_NAMES.map((name) => name.length));
const FORWARD_MAX_MS = 15_000;

/** For a receiver under development that the service cannot reach. */
export function addListenCommand(program: Command): void {
  withApiOptions(program.command("listen"))
    .description("print the account's events as they happen, and forward them with a signature")
    .option("--forward-to <url>", "POST each event to this URL, like a webhook delivery")
    .option("--secret <secret>", "the webhook secret (default: generated and printed)")
    .addOption(new Option("--event <name...>", "only these events").choices(EVENT_NAMES))
    .option("--since <time>", "ISO 8601: also events since this time")
    .option("--json", "print one JSON document per line")
    .action(async (options: ListenOptions) => {
      const { forwardTo, secret } = options;
      if (forwardTo !== undefined && !/^https?:$/.test(URL.parse(forwardTo)?.protocol ?? "")) {
        throw new StartupError("--forward-to must be a URL such as http://localhost:3000/hook.");
      }
      if (secret !== undefined && !isWebhookSecret(secret)) {
        throw new StartupError(`--secret is not a valid webhook secret. ${SECRET_MESSAGE}`);
      }
      const stop = new AbortController();
      for (const signal of ["SIGINT", "SIGTERM"] as const) {
        process.once(signal, () => stop.abort());
      }
      const { signal } = stop;
      await listen(await openApiClient(options, { signal }), options, signal);
    });
}

async function listen(api: ApiClient, options: ListenOptions, signal: AbortSignal): Promise<void> {
  const secret = options.secret ?? makeWebhookSecret();
  const say = (document: object, line: string) =>
    console.log(options.json ? JSON.stringify(document) : line);
  // The service's own time: in sandbox it may be far ahead of ours.
  const created_after = options.since ?? (await findNow(api, signal));
  const cursor = `created_after=${encodeURIComponent(created_after)}`;
  const first = await askPage(api, cursor, signal).catch((error: Error) => {
    if (options.since === undefined || !error.message.includes("created_after: ")) throw error;
    throw new StartupError(error.message.replace(/^.*created_after: /, "--since: "));
  });
  if (!first) return;
  const about = { webhook_secret: secret, webhook_secret_standard: standardForm(secret) };
  say(
    { listening: { url: api.url, forward_to: options.forwardTo ?? null, ...about } },
    options.forwardTo
      ? `Forwarding events of ${api.url} to ${options.forwardTo}, signed with ${secret}`
      : `Listening for events of ${api.url}; press Ctrl-C to stop`,
  );
  const paint = openColours(process.stdout, process.env);
  for await (const event of follow(api, first, cursor, signal)) {
    if (options.event && !options.event.includes(event.event)) continue;
    const forwarded = options.forwardTo
      ? await forward(options.forwardTo, secret, event, signal)
      : null;
    say({ webhook_event: event, forwarded }, eventLine(event, forwarded, paint));
  }
}

/** An endless stream of events. It waits for a service that restarts, and misses nothing. */
async function* follow(
  api: ApiClient,
  first_page: WebhookEvent[],
  first_cursor: string,
  signal: AbortSignal,
): AsyncGenerator<WebhookEvent> {
  let cursor = first_cursor;
  let events = first_page;
  for (;;) {
    for (const event of events) {
      if (signal.aborted) return;
      cursor = `starting_after=${event.id}`;
      yield event;
    }
    if (events.length === 0) await pause(ASK_MS, signal);
    const page = await askPage(api, cursor, signal, { is_known: true });
    if (!page) return;
    events = page;
  }
}

function askPage(
  api: ApiClient,
  cursor: string,
  signal: AbortSignal,
  { is_known } = { is_known: false },
): Promise<WebhookEvent[] | null> {
  const path = `/webhook_events?limit=${PAGE_EVENTS}&${cursor}`;
  const ask = () =>
    api.ask<WebhookEvent[]>(({ webhook_events }) => [...webhook_events], "GET", path);
  return askPatiently(api.url, ask, signal, is_known);
}

/**
 * Waits while the service asks to retry later and, once it has answered before, also while it does
 * not answer; null when the listener ends. A refusal would be repeated, so it is thrown.
 */
async function askPatiently<Value>(
  url: string,
  ask: () => Promise<Value>,
  signal: AbortSignal,
  is_known: boolean,
): Promise<Value | null> {
  for (let is_reported = false; !signal.aborted; ) {
    try {
      const value = await ask();
      if (is_reported) console.error(`${url} answers again.`);
      return value;
    } catch (error) {
      if (signal.aborted) return null;
      const wait_ms = waitBefore(error, is_known);
      if (wait_ms === null) throw error;
      const why = error instanceof UnreachableError ? error.what : (error as Error).message;
      if (!is_reported) console.error(`${why.replace(/\.$/, "")}; retrying.`);
      is_reported = true;
      await pause(wait_ms, signal);
    }
  }
  return null;
}

/** Null where waiting would not help. */
function waitBefore(error: unknown, is_known: boolean): number | null {
  if (error instanceof UnreachableError) return is_known ? ASK_MS : null;
  return error instanceof ApiError ? error.retry_after_ms : null;
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return sleep(ms, undefined, { signal }).catch(() => {});
}

/** `06:50:01  offramp_update          01a1dde8…c6cc  fiat_sent  #5  <event id>  → 200` */
function eventLine(event: WebhookEvent, forwarded: number | string | null, paint: Paint): string {
  const { created_at, record_id, sequence } = event;
  const is_taken = typeof forwarded === "number" && forwarded >= 200 && forwarded < 300;
  return [
    paint("dim", created_at.slice(11, 19)),
    printable(event.event).padEnd(NAME_WIDTH),
    shortenIds(printable(record_id)),
    paint("bold", printable(statusIn(event.body) ?? "-")),
    `#${sequence}`,
    paint("dim", printable(event.id)),
    ...(forwarded === null ? [] : [paint(is_taken ? "green" : "red", `→ ${forwarded}`)]),
  ].join("  ");
}

/** The state in an event's body, in any of its forms. */
function statusIn(body: string | null): string | null {
  const content = body === null ? null : JSON.parse(body);
  const record = content?.invoice ?? Object.values(content?.payload ?? {})[0];
  return record?.status ?? record?.kyc?.general?.status ?? null;
}

async function findNow(api: ApiClient, signal: AbortSignal): Promise<string> {
  const ask = () => api.ask<string>(({ clock }) => clock.now, "GET", "/sandbox/clock");
  const now = await askPatiently(api.url, ask, signal, false).catch((error: unknown) => {
    // Live mode has no such clock; the service's time is ours.
    if (error instanceof ApiError && error.code === "route_not_found") return null;
    throw error;
  });
  return now ?? new Date().toISOString();
}

/** The status, or why there was none: a receiver under development is often down. */
async function forward(
  url: string,
  secret: string,
  event: WebhookEvent,
  signal: AbortSignal,
): Promise<number | string> {
  if (event.body === null) return "its body was deleted after its retention period";
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
