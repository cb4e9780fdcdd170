import type { CallOptions } from "../api.ts";
import type { Answer } from "../types.ts";
import { Resource } from "./resource.ts";

export type HistoryItem = Answer<"get", "/records/{record_id}/history">["history"][number];

/** Offramps, onramps, quotes, refunds, users, payment details and deposits, by their id. */
export class Records extends Resource {
  /** Every change, posting and decision, newest first. */
  async history(record_id: string, options?: CallOptions): Promise<HistoryItem[]> {
    const input = { path: { record_id } };
    return this.api.sendFor("history", "get", "/records/{record_id}/history", input, options);
  }
}
