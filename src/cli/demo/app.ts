import type { App, Sliproad } from "../../../sdk/src/index.ts";
import { type DemoReceiver, isDemoReceiver } from "./receiver.ts";

/** The name by which the next demo finds its application. */
const APP_NAME = "sliproad demo";
/** An application with another URL is not the demo's, whatever its name. */
const RECEIVER_URL = /^http:\/\/127\.0\.0\.1:\d+\/hook$/;

/**
 * An application left by an earlier demo. One with a URL belongs to a demo that is running or was
 * killed: of the killed ones, one is reused and the others are deleted.
 */
async function findIdleApp(sliproad: Sliproad): Promise<string | null> {
  let idle: string | null = null;
  for await (const { id, name, webhook } of sliproad.apps.list()) {
    if (name !== APP_NAME) continue;
    const is_left = RECEIVER_URL.test(webhook.url ?? "") && !(await isDemoReceiver(webhook.url!));
    if (idle !== null && is_left) await sliproad.apps.delete(id);
    else if (webhook.url === null || is_left) idle ??= id;
  }
  return idle;
}

/**
 * The secret is known before the URL is set: deliveries pending from an interrupted demo are sent
 * as soon as there is one.
 */
export async function openApp(
  sliproad: Sliproad,
  { url, expectSecret }: Pick<DemoReceiver, "url" | "expectSecret">,
): Promise<App> {
  const idle = await findIdleApp(sliproad);
  const id = idle ?? (await sliproad.apps.create({ name: APP_NAME })).app.id;
  const { webhook_secret } = await sliproad.apps.rotateWebhookSecret(id, { grace_hours: 0 });
  expectSecret(webhook_secret!);
  const settings = { webhook_url: url, events: ["offramp_update" as const] };
  const { app } = await sliproad.apps.update(id, settings);
  return idle === null ? app : sliproad.apps.resume(id);
}

/** The next demo reuses it; until then nothing is sent to a URL where no receiver listens. */
export function quietApp(sliproad: Sliproad, app_id: string): Promise<unknown> {
  return sliproad.apps.update(app_id, { webhook_url: null, events: [] }, { retries_max: 0 });
}

/** On interruption, possibly before the application's id was returned. */
export async function quietAppsAt(sliproad: Sliproad, url: string): Promise<void> {
  for await (const app of sliproad.apps.list()) {
    if (app.webhook.url === url) await quietApp(sliproad, app.id);
  }
}
