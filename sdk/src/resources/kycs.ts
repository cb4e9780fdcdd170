import type { CallOptions } from "../api.ts";
import type { Schema } from "../types.ts";
import { Resource } from "./resource.ts";

export type KycSession = Schema<"KycSession">;

/** The page on which a user proves who they are. */
export class Kycs extends Resource {
  /** A new address, good for 24 hours; it replaces the one before. */
  async create(user_id: string, options?: CallOptions): Promise<KycSession> {
    const input = { path: { user_id } };
    return this.api.sendFor("kyc", "post", "/users/{user_id}/kycs", input, options);
  }
}
