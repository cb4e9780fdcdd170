import type { RampEvent } from "../access/app-model.ts";
import { OFFRAMP_STATUSES } from "../offramps/model.ts";
import { PAYMENT_DETAIL_STATUSES } from "../payment-details/model.ts";
import { KYC_STATUSES } from "../users/model.ts";
import type { EventName, InvoiceEvent } from "../webhooks/record-events.ts";

const ONRAMP_STATUSES = ["initiated", "sending_fiat", "crypto_sent", "failed"] as const;
const INVOICE_STATUSES = ["open", "accepted", "declaredPaid", "paid", "canceled", "rejected"];

/** The states that a sample may show; the first is the one when none is asked for. */
const STATUSES: Record<RampEvent, readonly string[]> = {
  offramp_update: OFFRAMP_STATUSES,
  payment_detail_update: PAYMENT_DETAIL_STATUSES,
  kyc_update: KYC_STATUSES,
  onramp_update: ONRAMP_STATUSES,
};

/** The state in which each event leaves an invoice. */
const INVOICE_STATUS: Record<InvoiceEvent, string> = {
  create: "open",
  accept: "accepted",
  cancel: "canceled",
  reject: "rejected",
  declareSentPayment: "declaredPaid",
  declareReceivedPayment: "paid",
  paid: "paid",
  c2fPaymentFailed: "open",
};

export function sampleStatuses(name: EventName): readonly string[] {
  return name in INVOICE_STATUS ? INVOICE_STATUSES : STATUSES[name as RampEvent];
}

/** A made-up event in the shape of a real one. */
export function sampleEvent(
  name: EventName,
  wanted: string | null,
  ids: { id: string; user_id: string },
  now: Date,
): string {
  const timestamp = now.getTime();
  if (name in INVOICE_STATUS) {
    const status = wanted ?? INVOICE_STATUS[name as InvoiceEvent];
    const invoice = sampleInvoice(ids.id, status, now);
    return JSON.stringify({ variant: "svc_invoice", event: name, timestamp, invoice });
  }
  const status = wanted ?? STATUSES[name as RampEvent][0]!;
  const payload = samplePayload(name as RampEvent, status, ids, now.toISOString());
  return JSON.stringify({ event: name, timestamp, payload });
}

function samplePayload(
  name: RampEvent,
  status: string,
  { id, user_id }: { id: string; user_id: string },
  at: string,
) {
  const times = { created_at: at, updated_at: at };
  switch (name) {
    case "offramp_update":
      return {
        offramp: {
          id,
          user_id,
          payment_detail_id: user_id,
          quote_id: user_id,
          status,
          status_message: "This is a sample.",
          destination_amount: 1000,
          destination_currency: "eur",
          reference: "Sample",
          rails: "local",
          rate: 0.92,
          fee: 4,
          supporting_document: null,
          payout_reference: null,
          metadata: {},
          ...times,
        },
      };
    case "payment_detail_update":
      return {
        payment_detail: {
          id,
          user_id,
          status,
          account_name: "Maria Sample",
          currency: "eur",
          rails: "local",
          bank_name: "Sample Bank",
          beneficiary_type: "individual",
          metadata: {},
          ...times,
        },
      };
    case "kyc_update": {
      const currency = { status, swift_status: status };
      const general = { status, moderation_comment: null };
      const kyc = { general, usd: currency, eur: currency };
      const names = { first_name: "Ana", last_name: "Sample", email: "ana@example.com" };
      const user = { id, beneficiary_type: "individual", ...names, kyc, metadata: {}, ...times };
      return { user };
    }
    case "onramp_update":
      return {
        onramp: {
          id,
          user_id,
          status,
          crypto_currency: "usdc",
          crypto_rails: "polygon",
          destination_amount: 1000,
          destination_address: "0x0000000000000000000000000000000000000001",
          fiat_currency: "usd",
          fiat_rails: "ach_push",
          deposit_amount: 1004,
          fee: 4,
          ...times,
        },
      };
  }
}

function sampleInvoice(id: string, status: string, now: Date) {
  return {
    id,
    requestId: `01${id.replaceAll("-", "").repeat(2)}`,
    meta: { format: "svc_invoice", version: "0.0.3" },
    creationDate: now.toISOString(),
    invoiceNumber: "SAMPLE-1",
    invoiceItems: [{ name: "Sample", currency: "USD", quantity: 1, unitPrice: "9999" }],
    total: "9999",
    buyerInfo: { email: "buyer@example.com" },
    sellerInfo: { email: "seller@example.com" },
    status,
    type: "test",
    role: "seller",
  };
}
