import type { ActOptions, Api, CallOptions } from "../api.ts";
import type { List } from "../list.ts";
import type { Answer, Body, Query, Schema } from "../types.ts";
import { Documents } from "./documents.ts";
import { Resource } from "./resource.ts";

const OF_QUOTE = "/users/{user_id}/quotes/{quote_id}/offramps";
const ALL = "/users/{user_id}/offramps";
const ONE = "/users/{user_id}/offramps/{offramp_id}";

export type Offramp = Schema<"Offramp">;
export type NewOfframp = Body<"post", typeof OF_QUOTE>["offramps"][number];
export type OfframpChanges = Body<"patch", `${typeof OF_QUOTE}/{offramp_id}`>["offramp"];
/** The result, or the proposal that two members must confirm. */
export type OfframpOrProposal = Answer<"post", `${typeof ONE}/reroute`>;

/** Payouts to bank accounts. */
export class Offramps extends Resource {
  readonly documents: Documents;

  constructor(api: Api) {
    super(api);
    this.documents = new Documents(api);
  }

  /** Creates all of them or none, returned in the same order; 1 to 500 at a time. */
  create(
    user_id: string,
    quote_id: string,
    offramps: readonly [NewOfframp, ...NewOfframp[]],
    options?: CallOptions,
  ): Promise<[Offramp, ...Offramp[]]>;
  create(
    user_id: string,
    quote_id: string,
    offramps: readonly NewOfframp[],
    options?: CallOptions,
  ): Promise<Offramp[]>;
  async create(
    user_id: string,
    quote_id: string,
    offramps: readonly NewOfframp[],
    options?: CallOptions,
  ): Promise<Offramp[]> {
    const input = { path: { user_id, quote_id }, body: { offramps: [...offramps] } };
    return this.api.sendFor("offramps", "post", OF_QUOTE, input, options);
  }

  async show(user_id: string, offramp_id: string, options?: CallOptions): Promise<Offramp> {
    return this.api.sendFor("offramp", "get", ONE, { path: { user_id, offramp_id } }, options);
  }

  list(user_id: string, query: Query<typeof ALL> = {}, options?: CallOptions): List<Offramp> {
    return this.api.list(ALL, "offramps", { path: { user_id }, query }, options);
  }

  /** The offramps of all users of the account. */
  listAll(query: Query<"/offramps"> = {}, options?: CallOptions): List<Offramp> {
    return this.api.list("/offramps", "offramps", { query }, options);
  }

  /** Removes it from a quote that is not executed; returns its last state. */
  async remove(
    user_id: string,
    quote_id: string,
    offramp_id: string,
    { reason, ...options }: ActOptions = {},
  ): Promise<Offramp> {
    const input = {
      path: { user_id, quote_id, offramp_id },
      query: reason === undefined ? {} : { reason },
    };
    return this.api.sendFor("offramp", "delete", `${OF_QUOTE}/{offramp_id}`, input, options);
  }

  /** Only while `initiated`. */
  async update(
    user_id: string,
    quote_id: string,
    offramp_id: string,
    offramp: OfframpChanges,
    options?: CallOptions,
  ): Promise<Offramp> {
    const input = { path: { user_id, quote_id, offramp_id }, body: { offramp } };
    return this.api.sendFor("offramp", "patch", `${OF_QUOTE}/{offramp_id}`, input, options);
  }

  /**
   * Sends a bounced payout to another bank account, or to the same one again: `{ offramp }`, or `{
   * proposal }` if the amount needs two-person approval.
   */
  reroute(
    user_id: string,
    offramp_id: string,
    payment_detail_id: string,
    { reason, ...options }: ActOptions = {},
  ): Promise<OfframpOrProposal> {
    const body = { offramp: { payment_detail_id }, reason: reason ?? null };
    const input = { path: { user_id, offramp_id }, body };
    return this.api.send("post", `${ONE}/reroute`, input, options);
  }

  /**
   * Cancels a payout; the amount paid for it is owed to the user again. Returns the same as
   * reroute.
   */
  refund(
    user_id: string,
    offramp_id: string,
    { reason, ...options }: ActOptions = {},
  ): Promise<OfframpOrProposal> {
    const input = { path: { user_id, offramp_id }, body: { reason: reason ?? null } };
    return this.api.send("post", `${ONE}/refund`, input, options);
  }
}
