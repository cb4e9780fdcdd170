import type { CallOptions } from "../api.ts";
import type { List } from "../list.ts";
import type { Query, Schema } from "../types.ts";
import { Resource } from "./resource.ts";

const ALL = "/travel_records";
const ONE = "/travel_records/{travel_record_id}";

export type TravelRecord = Schema<"TravelRecord">;
export type TravelRecordSummary = Schema<"TravelRecordSummary">;

/** Who sent tokens to whom: onramp deliveries and refunds. */
export class TravelRecords extends Resource {
  list(query: Query<typeof ALL> = {}, options?: CallOptions): List<TravelRecordSummary> {
    return this.api.list(ALL, "travel_records", { query }, options);
  }

  /** With the originator and the beneficiary, as IVMS101. */
  async show(travel_record_id: string, options?: CallOptions): Promise<TravelRecord> {
    const input = { path: { travel_record_id } };
    return this.api.sendFor("travel_record", "get", ONE, input, options);
  }
}
