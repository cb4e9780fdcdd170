import { setTimeout as sleep } from "node:timers/promises";
import type { Command } from "commander";
import { readConfig } from "../platform/config/config.ts";
import { openDatabase } from "../platform/db/database.ts";
import { StartupError } from "../platform/startup-error.ts";
import { findReplay } from "../webhooks/store.ts";
import { type ApiClient, type ApiOptions, openApiClient, withApiOptions } from "./api-client.ts";
import { findDatabaseOf } from "./context.ts";
import { type JsonOption, print } from "./output.ts";
import { type Progress, withProgress } from "./progress.ts";

const FOLLOW_MAX_SECONDS = 60;

export type RangeOptions = ApiOptions &
  JsonOption & { app?: string; from?: string; to?: string; onlyFailed?: boolean };

export function addEventCommands(program: Command): void {
  const events = program.command("events").description("manage webhook events");
  withApiOptions(events.command("replay"))
    .description("send one event again, or all events of a period to one application")
    .argument("[event_id]", "the event's id; without it --app and --from are required")
    .option("--app <client_id>", "only to this application")
    .option("--from <time>", "ISO 8601: events from this time")
    .option("--to <time>", "ISO 8601: events before this time (default: now)")
    .option("--only-failed", "only events that failed or were skipped")
    .action(async (event_id: string | undefined, options: RangeOptions) => {
      if (event_id !== undefined) return replayOne(event_id, options);
      if (!options.app || !options.from) {
        throw new StartupError("Pass an event's id, or --app and --from.");
      }
      return replayRange(options.app, options.from, options);
    });
}

async function replayOne(event_id: string, options: RangeOptions): Promise<void> {
  const api = await openApiClient(options);
  const path = `/webhook_events/${encodeURIComponent(event_id)}/redeliver`;
  const { answer, lines } = await api.ask(readDeliveries, "POST", path, {
    ...(options.app ? { app_id: options.app } : {}),
  });
  print(options, answer, lines.length > 0 ? lines : ["No application receives this event."]);
}

type Deliveries = { deliveries: { app_id: string; status: string }[]; has_more: boolean };

function readDeliveries(answer: Deliveries) {
  const lines = answer.deliveries.map(({ app_id, status }) => `${app_id}  ${status}`);
  return { answer, lines: answer.has_more ? [...lines, "and more"] : lines };
}

export async function replayRange(
  app_id: string,
  from: string,
  options: RangeOptions,
): Promise<void> {
  const api = await openApiClient(options);
  const path = `/apps/${encodeURIComponent(app_id)}/replay`;
  const { answer, id, events } = await api.ask(readReplay, "POST", path, {
    from,
    ...(options.to ? { to: options.to } : {}),
    only_failed: options.onlyFailed ?? false,
  });
  const deliveries = await withProgress(options, (progress) => followReplay(api, id, progress));
  print(options, answer, [
    deliveries === null
      ? `${events} are being sent again.`
      : `${events} are sent again: ${deliveries} deliveries.`,
  ]);
}

function readReplay(answer: { replay: { id: string; from: string; to: string } }) {
  const { id, from, to } = answer.replay;
  return { answer, id, events: `Events from ${from} to ${to}` };
}

/**
 * At a terminal, waits until the worker has prepared the deliveries, and counts them; null without
 * a terminal, without access to the database, or when it takes too long.
 */
async function followReplay(
  api: ApiClient,
  id: string,
  progress: Progress,
): Promise<number | null> {
  const url = progress.is_seen ? await findDatabaseOf(readConfig(process.env), api.url) : null;
  if (url === null) return null;
  const account_id = await api.ask<string>(({ account }) => account.id, "GET", "/me");
  const database = openDatabase({ url, connections_max: 1 });
  try {
    for (let second = 0; second < FOLLOW_MAX_SECONDS; second += 1) {
      const replay = await findReplay(database, account_id, id);
      if (replay?.deliveries != null) return replay.deliveries;
      progress.show({ done: second, total: FOLLOW_MAX_SECONDS, unit: "seconds at most" });
      await sleep(1_000);
    }
    return null;
  } finally {
    await database.close();
  }
}
