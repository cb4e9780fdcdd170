import type { CallOptions } from "../api.ts";
import type { Answer } from "../types.ts";
import { Resource } from "./resource.ts";

export type FeeTable = Answer<"get", "/fees">;
export type Fee = FeeTable["fees"][number];
export type OnrampFee = FeeTable["onramp_fees"][number];

/** What payouts and onramps cost, by currency and rail. */
export class Fees extends Resource {
  async list(options?: CallOptions): Promise<FeeTable> {
    return this.api.send("get", "/fees", {}, options);
  }
}
