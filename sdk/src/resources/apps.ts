import type { CallOptions } from "../api.ts";
import type { List } from "../list.ts";
import type { Answer, Body, Query, Schema } from "../types.ts";
import { Resource } from "./resource.ts";

const ONE = "/apps/{app_id}";

export type App = Schema<"App">;
export type NewApp = Body<"post", "/apps">["app"];
export type AppChanges = Body<"patch", typeof ONE>["app"];
/** An application with the secrets created by this call; they are shown only now. */
export type AppWithSecrets = Answer<"post", "/apps">;
export type WebhookSecretRotation = Body<"post", `${typeof ONE}/rotate_webhook_secret`>;
export type ReplayRange = Body<"post", `${typeof ONE}/replay`>;
export type Replay = Answer<"post", `${typeof ONE}/replay`>["replay"];

/** Applications: they receive events, and can request access tokens. */
export class Apps extends Resource {
  create(app: NewApp, options?: CallOptions): Promise<AppWithSecrets> {
    return this.api.send("post", "/apps", { body: { app } }, options);
  }

  /** Includes the reason, if it is sent no events. */
  async show(app_id: string, options?: CallOptions): Promise<App> {
    return this.api.sendFor("app", "get", ONE, { path: { app_id } }, options);
  }

  list(query: Query<"/apps"> = {}, options?: CallOptions): List<App> {
    return this.api.list("/apps", "apps", { query }, options);
  }

  update(app_id: string, app: AppChanges, options?: CallOptions): Promise<AppWithSecrets> {
    return this.api.send("patch", ONE, { path: { app_id }, body: { app } }, options);
  }

  /** Events are kept until it is resumed. */
  async pause(app_id: string, options?: CallOptions): Promise<App> {
    return this.api.sendFor("app", "post", `${ONE}/pause`, { path: { app_id } }, options);
  }

  async resume(app_id: string, options?: CallOptions): Promise<App> {
    return this.api.sendFor("app", "post", `${ONE}/resume`, { path: { app_id } }, options);
  }

  /** Marks it as unused, so that it receives the events of all invoices of its account again. */
  async resetUsed(app_id: string, options?: CallOptions): Promise<App> {
    return this.api.sendFor("app", "post", `${ONE}/reset_used`, { path: { app_id } }, options);
  }

  /**
   * During the grace period both secrets sign the Standard Webhooks header; see `webhooks.verify`.
   */
  rotateWebhookSecret(
    app_id: string,
    rotation: WebhookSecretRotation = {},
    options?: CallOptions,
  ): Promise<AppWithSecrets> {
    const input = { path: { app_id }, body: rotation };
    return this.api.send("post", `${ONE}/rotate_webhook_secret`, input, options);
  }

  /** Ends a rotation: only the new secret signs. */
  switchWebhookSecret(app_id: string, options?: CallOptions): Promise<AppWithSecrets> {
    const input = { path: { app_id } };
    return this.api.send("post", `${ONE}/switch_webhook_secret`, input, options);
  }

  rotateClientSecret(app_id: string, options?: CallOptions): Promise<AppWithSecrets> {
    const input = { path: { app_id } };
    return this.api.send("post", `${ONE}/rotate_client_secret`, input, options);
  }

  /** Permanent: its tokens and consents end at once. */
  async delete(app_id: string, options?: CallOptions): Promise<App> {
    return this.api.sendFor("app", "post", `${ONE}/delete`, { path: { app_id } }, options);
  }

  /** Sends the events of a time range again, all or those that failed. */
  async replay(app_id: string, range: ReplayRange, options?: CallOptions): Promise<Replay> {
    const input = { path: { app_id }, body: range };
    return this.api.sendFor("replay", "post", `${ONE}/replay`, input, options);
  }
}
