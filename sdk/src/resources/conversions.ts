import type { CallOptions } from "../api.ts";
import type { Body, Schema } from "../types.ts";
import { Resource } from "./resource.ts";

export type Conversion = Schema<"Conversion">;
export type NewConversion = Body<"post", "/conversions">["conversion"];

/** Prices without a user. */
export class Conversions extends Resource {
  /** Nothing is stored. */
  async calculate(conversion: NewConversion, options?: CallOptions): Promise<Conversion> {
    const input = { body: { conversion } };
    return this.api.sendFor("conversion", "post", "/conversions", input, options);
  }
}
