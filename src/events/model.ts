/** Enqueued with each event; `webhooks/fan-out.ts` handles it. */
export const FAN_OUT_TASK = "fan-out-events";

/** The events other than those of invoices, which an application may subscribe to. */
export const RAMP_EVENTS = [
  "offramp_update",
  "payment_detail_update",
  "kyc_update",
  "onramp_update",
] as const;
export type RampEvent = (typeof RAMP_EVENTS)[number];

export const INVOICE_EVENTS = [
  "create",
  "accept",
  "cancel",
  "reject",
  "declareSentPayment",
  "declareReceivedPayment",
  "paid",
  "c2fPaymentFailed",
] as const;
export type InvoiceEvent = (typeof INVOICE_EVENTS)[number];
export type EventName = RampEvent | InvoiceEvent;
