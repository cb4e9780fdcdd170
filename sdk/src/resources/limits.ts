import type { CallOptions } from "../api.ts";
import type { Schema } from "../types.ts";
import { Resource } from "./resource.ts";

export type Limit = Schema<"Limit">;

/** How much may leave, how much did, and how much is left. */
export class Limits extends Resource {
  async list(options?: CallOptions): Promise<Limit[]> {
    return this.api.sendFor("limits", "get", "/limits", {}, options);
  }
}
