import type { CallOptions } from "../api.ts";
import type { List } from "../list.ts";
import type { Answer, Body, Query, Schema } from "../types.ts";
import { Resource } from "./resource.ts";

const ALL = "/users/{user_id}/payment_details";

export type PaymentDetail = Schema<"PaymentDetail">;
export type NewPaymentDetail = Body<"post", typeof ALL>["payment_detail"];
export type PaymentDetailRequirement = Schema<"PaymentDetailRequirement">;
export type PaymentDetailVerdict = Answer<"post", `${typeof ALL}/validate`>["payment_detail"];

/** The bank accounts that a user pays to. */
export class PaymentDetails extends Resource {
  async create(
    user_id: string,
    payment_detail: NewPaymentDetail,
    options?: CallOptions,
  ): Promise<PaymentDetail> {
    const input = { path: { user_id }, body: { payment_detail } };
    return this.api.sendFor("payment_detail", "post", ALL, input, options);
  }

  /** Checks without storing anything. */
  async validate(
    user_id: string,
    payment_detail: NewPaymentDetail,
    options?: CallOptions,
  ): Promise<PaymentDetailVerdict> {
    const input = { path: { user_id }, body: { payment_detail } };
    return this.api.sendFor("payment_detail", "post", `${ALL}/validate`, input, options);
  }

  async show(
    user_id: string,
    payment_detail_id: string,
    options?: CallOptions,
  ): Promise<PaymentDetail> {
    const input = { path: { user_id, payment_detail_id } };
    return this.api.sendFor("payment_detail", "get", `${ALL}/{payment_detail_id}`, input, options);
  }

  list(user_id: string, query: Query<typeof ALL> = {}, options?: CallOptions): List<PaymentDetail> {
    return this.api.list(ALL, "payment_details", { path: { user_id }, query }, options);
  }

  async deactivate(
    user_id: string,
    payment_detail_id: string,
    options?: CallOptions,
  ): Promise<PaymentDetail> {
    const input = { path: { user_id, payment_detail_id } };
    const path = `${ALL}/{payment_detail_id}/deactivate` as const;
    return this.api.sendFor("payment_detail", "patch", path, input, options);
  }

  /** The fields that each currency and rail needs. */
  async requirements(
    query: Query<"/payment_detail_requirements"> = {},
    options?: CallOptions,
  ): Promise<PaymentDetailRequirement[]> {
    const path = "/payment_detail_requirements";
    return this.api.sendFor("payment_detail_requirements", "get", path, { query }, options);
  }
}
