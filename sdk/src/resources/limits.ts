import type { CallOptions } from "../api.ts";
import type { Query, Schema } from "../types.ts";
import { Resource } from "./resource.ts";

export type Limit = Schema<"Limit">;

/** How much may leave, how much did, and how much is left. */
export class Limits extends Resource {
  /** With `user_id` the limits of that user, else those of the account. */
  async list(query: Query<"/limits"> = {}, options?: CallOptions): Promise<Limit[]> {
    return this.api.sendFor("limits", "get", "/limits", { query }, options);
  }
}
