import type { CallOptions } from "../api.ts";
import type { List } from "../list.ts";
import type { Query, Schema } from "../types.ts";
import { Resource } from "./resource.ts";

const ONE = "/screening_matches/{screening_match_id}";

export type ScreeningMatch = Schema<"ScreeningMatch">;

/** People who are like an entry of a sanctions list, for the operator's keys. */
export class ScreeningMatches extends Resource {
  list(query: Query<"/screening_matches"> = {}, options?: CallOptions): List<ScreeningMatch> {
    return this.api.list("/screening_matches", "screening_matches", { query }, options);
  }

  /** The person is somebody else. */
  async clear(
    screening_match_id: string,
    reason: string,
    options?: CallOptions,
  ): Promise<ScreeningMatch> {
    const input = { path: { screening_match_id }, body: { reason } };
    return this.api.sendFor("screening_match", "post", `${ONE}/clear`, input, options);
  }

  /** The person is the entry of the list. */
  async confirm(
    screening_match_id: string,
    reason: string,
    options?: CallOptions,
  ): Promise<ScreeningMatch> {
    const input = { path: { screening_match_id }, body: { reason } };
    return this.api.sendFor("screening_match", "post", `${ONE}/confirm`, input, options);
  }
}
