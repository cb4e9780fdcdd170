import type { ActOptions, CallOptions } from "../api.ts";
import type { List } from "../list.ts";
import type { Answer, Body, Query, Schema } from "../types.ts";
import { Resource } from "./resource.ts";

const REFUNDS = "/users/{user_id}/refunds";
const ADDRESSES = "/users/{user_id}/refund_addresses";

const CRYPTO_DEPOSITS = "/users/{user_id}/crypto_deposits";

export type CryptoDeposit = Schema<"CryptoDeposit">;
export type Balance = Schema<"Balance">;
export type Refund = Schema<"Refund">;
export type NewRefund = Body<"post", typeof REFUNDS>["refund"];
export type RefundAddress = Schema<"RefundAddress">;
export type NewRefundAddress = Body<"post", typeof ADDRESSES>["refund_address"];

/** The amounts owed to a user: deposits that no payout has used. */
export class Balances extends Resource {
  async list(user_id: string, options?: CallOptions): Promise<Balance[]> {
    const input = { path: { user_id } };
    return this.api.sendFor("balances", "get", "/users/{user_id}/balances", input, options);
  }

  /** The sum over all users of the account. */
  async listAll(options?: CallOptions): Promise<Balance[]> {
    return this.api.sendFor("balances", "get", "/balances", {}, options);
  }

  /** Every transfer received for a user, with its sender. */
  listCryptoDeposits(
    user_id: string,
    query: Query<typeof CRYPTO_DEPOSITS> = {},
    options?: CallOptions,
  ): List<CryptoDeposit> {
    return this.api.list(CRYPTO_DEPOSITS, "crypto_deposits", { path: { user_id }, query }, options);
  }
}

/** Tokens sent back to an address that the user has registered. */
export class Refunds extends Resource {
  /** `{ refund }`, or `{ proposal }` if the amount needs two-person approval. */
  create(
    user_id: string,
    refund: NewRefund,
    { reason, ...options }: ActOptions = {},
  ): Promise<Answer<"post", typeof REFUNDS>> {
    const body = { refund, reason: reason ?? null };
    return this.api.send("post", REFUNDS, { path: { user_id }, body }, options);
  }

  list(user_id: string, query: Query<typeof REFUNDS> = {}, options?: CallOptions): List<Refund> {
    return this.api.list(REFUNDS, "refunds", { path: { user_id }, query }, options);
  }
}

/** The addresses to which a user's tokens may be sent back. */
export class RefundAddresses extends Resource {
  async create(
    user_id: string,
    refund_address: NewRefundAddress,
    options?: CallOptions,
  ): Promise<RefundAddress> {
    const input = { path: { user_id }, body: { refund_address } };
    return this.api.sendFor("refund_address", "post", ADDRESSES, input, options);
  }

  list(
    user_id: string,
    query: Query<typeof ADDRESSES> = {},
    options?: CallOptions,
  ): List<RefundAddress> {
    return this.api.list(ADDRESSES, "refund_addresses", { path: { user_id }, query }, options);
  }
}
