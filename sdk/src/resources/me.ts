import type { CallOptions } from "../api.ts";
import type { Schema } from "../types.ts";
import { Resource } from "./resource.ts";

/** The person and the account of the credential. */
export type Caller = Schema<"Me">;

export class Me extends Resource {
  show(options?: CallOptions): Promise<Caller> {
    return this.api.send("get", "/me", {}, options);
  }
}
