import type { Schema } from "./types.ts";

export type InvoiceEventName =
  | "create"
  | "accept"
  | "cancel"
  | "reject"
  | "declareSentPayment"
  | "declareReceivedPayment"
  | "paid"
  | "c2fPaymentFailed";

/** Something happened to an invoice. Match on `invoice.id`: its `requestId` may change. */
export type InvoiceEvent = {
  variant: "svc_invoice" | "svc_salary";
  event: InvoiceEventName;
  /** Unix milliseconds; strictly increases per record. */
  timestamp: number;
  invoice: Schema<"Invoice">;
};

type RampEvent<Name extends string, Payload> = { event: Name; timestamp: number; payload: Payload };

/** The content of a webhook, discriminated by `event`. */
export type WebhookEvent =
  | InvoiceEvent
  | RampEvent<"kyc_update", { user: Schema<"User"> }>
  | RampEvent<"payment_detail_update", { payment_detail: Schema<"PaymentDetail"> }>
  | RampEvent<"offramp_update", { offramp: Schema<"Offramp"> }>
  | RampEvent<"onramp_update", { onramp: Schema<"Onramp"> }>;
