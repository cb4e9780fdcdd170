import type { CallOptions } from "../api.ts";
import type { List } from "../list.ts";
import type { Body, Query, Schema } from "../types.ts";
import { Resource } from "./resource.ts";

const ONE = "/deposits/{deposit_id}";

export type Deposit = Schema<"Deposit">;
/** Which onramp a deposit pays; may be left out where its text names one. */
export type DepositMatch = NonNullable<Body<"post", `${typeof ONE}/match`>["deposit"]>;

/** Fiat that came in, for the operator's keys: what fits no onramp by itself waits here. */
export class Deposits extends Resource {
  list(query: Query<"/deposits"> = {}, options?: CallOptions): List<Deposit> {
    return this.api.list("/deposits", "deposits", { query }, options);
  }

  async show(deposit_id: string, options?: CallOptions): Promise<Deposit> {
    return (await this.api.send("get", ONE, { path: { deposit_id } }, options)).deposit;
  }

  async match(
    deposit_id: string,
    deposit: DepositMatch = {},
    options?: CallOptions,
  ): Promise<Deposit> {
    const input = { path: { deposit_id }, body: { deposit } };
    return (await this.api.send("post", `${ONE}/match`, input, options)).deposit;
  }

  /** Lets a deposit of another amount pay. */
  async acceptDifference(
    deposit_id: string,
    deposit: DepositMatch = {},
    options?: CallOptions,
  ): Promise<Deposit> {
    const input = { path: { deposit_id }, body: { deposit } };
    return (await this.api.send("post", `${ONE}/accept_difference`, input, options)).deposit;
  }

  /** Sends it back to its payer. */
  async return(deposit_id: string, options?: CallOptions): Promise<Deposit> {
    const input = { path: { deposit_id } };
    return (await this.api.send("post", `${ONE}/return`, input, options)).deposit;
  }

  /** Takes a conflict off the list. */
  async dismiss(deposit_id: string, options?: CallOptions): Promise<Deposit> {
    const input = { path: { deposit_id } };
    return (await this.api.send("post", `${ONE}/dismiss`, input, options)).deposit;
  }
}
