import type { CallOptions } from "../api.ts";
import type { List } from "../list.ts";
import type { Answer, Body, Query, Schema } from "../types.ts";
import { Resource } from "./resource.ts";

const ALL = "/users/{user_id}/onramps";
const ONE = "/users/{user_id}/onramps/{onramp_id}";

export type Onramp = Schema<"Onramp">;
export type NewOnramp = Body<"post", typeof ALL>["onramp"];
/** An onramp with the bank account and the reference for its deposit. */
export type OnrampWithInstructions = Answer<"get", typeof ONE>["onramp"];

/** Fiat that is received and delivered as tokens. */
export class Onramps extends Resource {
  async create(
    user_id: string,
    onramp: NewOnramp,
    options?: CallOptions,
  ): Promise<OnrampWithInstructions> {
    const input = { path: { user_id }, body: { onramp } };
    return this.api.sendFor("onramp", "post", ALL, input, options);
  }

  async show(
    user_id: string,
    onramp_id: string,
    options?: CallOptions,
  ): Promise<OnrampWithInstructions> {
    return this.api.sendFor("onramp", "get", ONE, { path: { user_id, onramp_id } }, options);
  }

  list(user_id: string, query: Query<typeof ALL> = {}, options?: CallOptions): List<Onramp> {
    return this.api.list(ALL, "onramps", { path: { user_id }, query }, options);
  }
}
