import type { CallOptions } from "../api.ts";
import type { Answer } from "../types.ts";
import { Resource } from "./resource.ts";

export type Exposure = Answer<"get", "/exposures">["exposures"][number];

/** The open positions of the installation; for the operator's keys. */
export class Exposures extends Resource {
  async list(options?: CallOptions): Promise<Exposure[]> {
    return this.api.sendFor("exposures", "get", "/exposures", {}, options);
  }
}
