import type { CallOptions } from "../api.ts";
import type { List } from "../list.ts";
import type { Query, Schema } from "../types.ts";
import { Resource } from "./resource.ts";

export type Proposal = Schema<"Proposal">;
export type ProposedPayout = Schema<"ProposedPayout">;

/** Requests that wait for confirmation, because they need two-person approval. */
export class Proposals extends Resource {
  async show(proposal_id: string, options?: CallOptions): Promise<Proposal> {
    const input = { path: { proposal_id } };
    return this.api.sendFor("proposal", "get", "/proposals/{proposal_id}", input, options);
  }

  list(query: Query<"/proposals"> = {}, options?: CallOptions): List<Proposal> {
    return this.api.list("/proposals", "proposals", { query }, options);
  }

  /** All payouts that a proposal to pay a quote pays. */
  payouts(
    proposal_id: string,
    query: Query<"/proposals/{proposal_id}/payouts"> = {},
    options?: CallOptions,
  ): List<ProposedPayout> {
    const input = { path: { proposal_id }, query };
    return this.api.list("/proposals/{proposal_id}/payouts", "payouts", input, options);
  }
}
