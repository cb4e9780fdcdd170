import { randomUUID } from "node:crypto";
import type { RampEvent } from "../access/app-model.ts";
import { OFFRAMP_STATUSES } from "../offramps/model.ts";
import { ONRAMP_STATUSES } from "../onramps/model.ts";
import { PAYMENT_DETAIL_STATUSES } from "../payment-details/model.ts";
import { KYC_STATUSES } from "../users/model.ts";
import type { EventName, InvoiceEvent } from "../webhooks/record-events.ts";
import type { ApiClient } from "./api-client.ts";

export type Triggered = { record: string; id: string };

/** How an event comes about in earnest: a record is made and taken to a state. */
export type Story = {
  /** The states that can be asked for; none where the event itself says it. */
  statuses: readonly string[];
  default_status: string;
  play(api: ApiClient, status: string): Promise<Triggered>;
};

const RAMP_STORIES: Record<RampEvent, Story> = {
  kyc_update: {
    statuses: KYC_STATUSES.filter((status) => status !== "not_started"),
    default_status: "approved",
    play: async (api, status) => {
      const id = await makeUser(api);
      await setKyc(api, id, status);
      return { record: "user", id };
    },
  },
  payment_detail_update: {
    statuses: PAYMENT_DETAIL_STATUSES,
    default_status: "pending",
    play: async (api, status) => {
      const user_id = await makeApprovedUser(api);
      const id = await makePaymentDetail(api, user_id);
      const path = `/sandbox/users/${user_id}/payment_details/${id}`;
      await api.call("PATCH", path, { payment_detail: { status } });
      return { record: "payment_detail", id };
    },
  },
  offramp_update: {
    statuses: OFFRAMP_STATUSES,
    default_status: "fiat_sent",
    play: async (api, status) => {
      const id = await makeOfframp(api);
      await api.call("PATCH", `/sandbox/offramps/${id}`, { offramp: { status } });
      return { record: "offramp", id };
    },
  },
  onramp_update: {
    statuses: ONRAMP_STATUSES,
    default_status: "crypto_sent",
    play: async (api, status) => {
      const id = await makeOnramp(api);
      await api.call("PATCH", `/sandbox/onramps/${id}`, { onramp: { status } });
      return { record: "onramp", id };
    },
  },
};

/** Where an invoice ends after each event. Those of payments by offramp are sent as samples. */
const INVOICE_STATUS: Partial<Record<InvoiceEvent, string>> = {
  create: "open",
  accept: "accepted",
  cancel: "canceled",
  reject: "rejected",
  declareSentPayment: "declaredPaid",
  declareReceivedPayment: "paid",
};

/** Undefined where only a sample can be sent. */
export function storyOf(event: EventName): Story | undefined {
  if (event in RAMP_STORIES) return RAMP_STORIES[event as RampEvent];
  const default_status = INVOICE_STATUS[event as InvoiceEvent];
  if (default_status === undefined) return undefined;
  return { statuses: [], default_status, play: playInvoice };
}

async function playInvoice(api: ApiClient, status: string): Promise<Triggered> {
  const { id } = await api.call("POST", "/invoices", {
    invoiceNumber: `trigger-${randomUUID().slice(0, 8)}`,
    convert: true,
    invoiceItems: [{ name: "Consulting", currency: "USD", quantity: 2, unitPrice: "9999" }],
    buyerInfo: { email: "accounts@buyer.example" },
    paymentOptions: [
      {
        type: "bank-account",
        value: {
          currencies: ["USD"],
          paymentInformation: { accountNumber: "000123456789", routingNumber: "021000021" },
        },
      },
    ],
  });
  if (status !== "open") {
    await api.call("PATCH", `/sandbox/invoices/${id}`, { invoice: { status } });
  }
  return { record: "invoice", id };
}

function setKyc(api: ApiClient, user_id: string, status: string): Promise<unknown> {
  return api.call("PATCH", `/sandbox/users/${user_id}/kycs`, { kyc: { status } });
}

async function makeApprovedUser(api: ApiClient): Promise<string> {
  const user_id = await makeUser(api);
  await setKyc(api, user_id, "approved");
  return user_id;
}

async function makeOfframp(api: ApiClient): Promise<string> {
  const user_id = await makeApprovedUser(api);
  const payment_detail_id = await makePaymentDetail(api, user_id);
  const { quote } = await api.call("POST", `/users/${user_id}/quotes`, {
    quote: { deposit_token: "usdc", deposit_token_chain: "polygon" },
  });
  const supporting_document_attributes = { submitted_url: "https://files.test/invoice.pdf" };
  const { offramps } = await api.call("POST", `/users/${user_id}/quotes/${quote.id}/offramps`, {
    offramps: [
      {
        payment_detail_id,
        destination_amount: 1000,
        destination_currency: "eur",
        supporting_document_attributes,
      },
    ],
  });
  return offramps[0].id;
}

async function makeOnramp(api: ApiClient): Promise<string> {
  const user_id = await makeApprovedUser(api);
  const { onramp } = await api.call("POST", `/users/${user_id}/onramps`, {
    onramp: {
      destination_amount: 1000,
      crypto_currency: "usdc",
      crypto_rails: "polygon",
      destination_address: "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed",
      fiat_currency: "usd",
      fiat_rails: "wire",
    },
  });
  return onramp.id;
}

async function makeUser(api: ApiClient): Promise<string> {
  const { user } = await api.call("POST", "/users", {
    user: {
      beneficiary_type: "individual",
      email: `trigger-${randomUUID()}@example.com`,
      first_name: "Ana",
      last_name: "Sample",
    },
  });
  return user.id;
}

async function makePaymentDetail(api: ApiClient, user_id: string): Promise<string> {
  const { payment_detail } = await api.call("POST", `/users/${user_id}/payment_details`, {
    payment_detail: {
      account_name: "Maria Sample",
      currency: "eur",
      iban: "DE89370400440532013000",
      bank_name: "Sample Bank",
      beneficiary_type: "individual",
      date_of_birth: "21/04/1988",
      address_line1: "12 Sample Street",
      city: "Lisbon",
      postal_code: "1100-148",
      country: "PT",
    },
  });
  return payment_detail.id;
}
