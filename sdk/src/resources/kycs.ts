import type { CallOptions } from "../api.ts";
import type { Schema } from "../types.ts";
import { Resource } from "./resource.ts";

export type KycSession = Schema<"KycSession">;

/** The page where a user proves their identity. */
export class Kycs extends Resource {
  /** Creates a new link, valid for 24 hours; it replaces the previous one. */
  async create(user_id: string, options?: CallOptions): Promise<KycSession> {
    const input = { path: { user_id } };
    return this.api.sendFor("kyc", "post", "/users/{user_id}/kycs", input, options);
  }
}
