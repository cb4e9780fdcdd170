import type { ActOptions, CallOptions } from "../api.ts";
import type { List } from "../list.ts";
import type { Answer, Body, Query, Schema } from "../types.ts";
import { Resource } from "./resource.ts";

const ONE = "/deposits/{deposit_id}";

const RESOLVE = "/bank_exceptions/{exception_id}/resolve";

export type Deposit = Schema<"Deposit">;
export type BankException = Schema<"BankException">;
export type BankExceptionResolution = Body<"post", typeof RESOLVE>;
export type BankExceptionOrProposal = Answer<"post", typeof RESOLVE>;
/** Which onramp a deposit pays; optional if its reference names one. */
export type DepositMatch = NonNullable<Body<"post", `${typeof ONE}/match`>["deposit"]>;
/** The result, or the proposal that two members must confirm. */
export type DepositOrProposal = Answer<"post", `${typeof ONE}/match`>;

/** Received fiat, for the operator's keys: deposits that match no onramp automatically. */
export class Deposits extends Resource {
  list(query: Query<"/deposits"> = {}, options?: CallOptions): List<Deposit> {
    return this.api.list("/deposits", "deposits", { query }, options);
  }

  /** Answers of the bank that contradict a payout or name none. */
  listBankExceptions(
    query: Query<"/bank_exceptions"> = {},
    options?: CallOptions,
  ): List<BankException> {
    return this.api.list("/bank_exceptions", "bank_exceptions", { query }, options);
  }

  /** Decides what the bank's answer means: `{ bank_exception }`, or `{ proposal }`. */
  resolveBankException(
    exception_id: string,
    body: BankExceptionResolution,
    options?: CallOptions,
  ): Promise<BankExceptionOrProposal> {
    const input = { path: { exception_id }, body };
    return this.api.send("post", RESOLVE, input, options);
  }

  async show(deposit_id: string, options?: CallOptions): Promise<Deposit> {
    return this.api.sendFor("deposit", "get", ONE, { path: { deposit_id } }, options);
  }

  /** `{ deposit }`, or `{ proposal }` if the amount needs two-person approval; so do the others. */
  match(
    deposit_id: string,
    deposit: DepositMatch = {},
    { reason, ...options }: ActOptions = {},
  ): Promise<DepositOrProposal> {
    const input = { path: { deposit_id }, body: { deposit, reason: reason ?? null } };
    return this.api.send("post", `${ONE}/match`, input, options);
  }

  /** Accepts a deposit of a different amount as the payment. */
  acceptDifference(
    deposit_id: string,
    deposit: DepositMatch = {},
    { reason, ...options }: ActOptions = {},
  ): Promise<DepositOrProposal> {
    const input = { path: { deposit_id }, body: { deposit, reason: reason ?? null } };
    return this.api.send("post", `${ONE}/accept_difference`, input, options);
  }

  /** Sends it back to its payer. */
  return(deposit_id: string, { reason, ...options }: ActOptions = {}): Promise<DepositOrProposal> {
    const input = { path: { deposit_id }, body: { reason: reason ?? null } };
    return this.api.send("post", `${ONE}/return`, input, options);
  }

  /** Removes an entry that is not money from the list. */
  dismiss(deposit_id: string, { reason, ...options }: ActOptions = {}): Promise<DepositOrProposal> {
    const input = { path: { deposit_id }, body: { reason: reason ?? null } };
    return this.api.send("post", `${ONE}/dismiss`, input, options);
  }
}
