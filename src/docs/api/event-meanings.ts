import type { InvoiceEvent, RampEvent } from "../../events/model.ts";

export const INVOICE_EVENT_MEANINGS: Readonly<Record<InvoiceEvent, string>> = {
  create: "The invoice was created and can be paid.",
  accept: "The buyer accepted the invoice.",
  cancel: "The invoice was canceled by whoever created it.",
  reject: "The buyer rejected the invoice.",
  declareSentPayment:
    "Crypto-to-fiat: the funds arrived. Paid elsewhere: the payer declared the payment as sent.",
  declareReceivedPayment:
    "Crypto-to-fiat: the bank sent the payment. Paid elsewhere: the recipient declared receipt.",
  paid: "The invoice is paid. Crypto-to-fiat: follows `declareReceivedPayment` at once.",
  c2fPaymentFailed:
    "A crypto-to-fiat payment was returned. The invoice is `open` or `accepted` again, with the " +
    "same `id` and a new `requestId`.",
};

export const RAMP_EVENT_MEANINGS: Readonly<Record<RampEvent, string>> = {
  offramp_update: "An offramp was created or changed its status.",
  payment_detail_update: "A payment detail changed its status.",
  kyc_update: "The KYC status of a user changed.",
  onramp_update: "An onramp was created or changed its status.",
};

/** The key in `payload`, and the component that describes it. */
export const RAMP_EVENT_RECORDS: Readonly<Record<RampEvent, [key: string, component: string]>> = {
  offramp_update: ["offramp", "Offramp"],
  payment_detail_update: ["payment_detail", "PaymentDetail"],
  kyc_update: ["user", "User"],
  onramp_update: ["onramp", "Onramp"],
};
