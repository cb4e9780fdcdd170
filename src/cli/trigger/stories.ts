import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { EventName, InvoiceEvent, RampEvent } from "../../events/model.ts";
import { STATUS_AFTER } from "../../invoices/model.ts";
import { OFFRAMP_STATUSES, type OfframpStatus } from "../../offramps/model.ts";
import { ONRAMP_STATUSES } from "../../onramps/model.ts";
import { PAYMENT_DETAIL_STATUSES } from "../../payment-details/model.ts";
import { SAMPLE_PAYMENT_DETAIL } from "../../payment-details/sample.ts";
import { StartupError } from "../../platform/startup-error.ts";
import { KYC_STATUSES } from "../../users/model.ts";
import type { ApiClient } from "../api-client.ts";

type Triggered = { record: string; id: string };

/** How a real event is caused: a record is created and moved to a state. */
export type Story = {
  /** The states that can be requested; none where the event implies it. */
  statuses: readonly string[];
  default_status: string;
  /** What follows for a record in a state that does not last. */
  goes_on?: Readonly<Record<string, string>>;
  play(api: ApiClient, status: string): Promise<Triggered>;
};

const DOCUMENT = {
  supporting_document_attributes: { submitted_url: "https://files.test/invoice.pdf" },
};
const REPORTED_MAX_MS = 15_000;
const ASK_MS = 100;

const RAMP_STORIES: Record<RampEvent, Story> = {
  kyc_update: {
    statuses: KYC_STATUSES.filter((status) => status !== "not_started"),
    default_status: "approved",
    play: async (api, status) => {
      const id = await createUser(api);
      await setKyc(api, id, status);
      return { record: "user", id };
    },
  },
  payment_detail_update: {
    statuses: PAYMENT_DETAIL_STATUSES,
    default_status: "pending",
    play: async (api, status) => {
      const user_id = await createApprovedUser(api);
      const id = await createPaymentDetail(api, user_id);
      const path = `/sandbox/users/${user_id}/payment_details/${id}`;
      await api.send("PATCH", path, { payment_detail: { status } });
      return { record: "payment_detail", id };
    },
  },
  offramp_update: {
    statuses: OFFRAMP_STATUSES,
    default_status: "fiat_sent",
    goes_on: {
      pending_internal_assessment: "it continues automatically",
      ongoing_checks: "it continues automatically once it has a document, or if it needs none",
    },
    play: async (api, status) => {
      // With a document it would not stay in the checks.
      const id = await createOfframp(api, status === "ongoing_checks" ? {} : DOCUMENT);
      await api.send("PATCH", `/sandbox/offramps/${id}`, { offramp: { status } });
      return { record: "offramp", id };
    },
  },
  onramp_update: {
    statuses: ONRAMP_STATUSES,
    default_status: "crypto_sent",
    goes_on: { sending_fiat: "it continues automatically" },
    play: async (api, status) => {
      const id = await createOnramp(api);
      await api.send("PATCH", `/sandbox/onramps/${id}`, { onramp: { status } });
      return { record: "onramp", id };
    },
  },
};

/** The status that an offramp must reach for the service to report the invoice's payment. */
const PAYMENT_STATUS: Partial<Record<EventName, OfframpStatus>> = {
  paid: "fiat_sent",
  c2fPaymentFailed: "bounced",
};

export function storyOf(event: EventName): Story {
  if (event in RAMP_STORIES) return RAMP_STORIES[event as RampEvent];
  const default_status = STATUS_AFTER[event as InvoiceEvent];
  const payment_status = PAYMENT_STATUS[event];
  const play = payment_status
    ? (api: ApiClient) => playPaidInvoice(api, event, payment_status)
    : playInvoice;
  return { statuses: [], default_status, play };
}

/** Every state of every record that can be triggered. */
export const TRIGGER_STATUSES: readonly string[] = [
  ...new Set(Object.values(RAMP_STORIES).flatMap(({ statuses }) => statuses)),
];

/** A salary that the account itself pays; the worker reports the payment. */
async function playPaidInvoice(
  api: ApiClient,
  event: EventName,
  payment_status: OfframpStatus,
): Promise<Triggered> {
  const since = await api.ask<string>(({ clock }) => clock.now, "GET", "/sandbox/clock");
  const id = await createInvoice(api, {
    meta: { format: "svc_salary" },
    invoiceItems: [{ name: "Salary", currency: "EUR", quantity: 1, unitPrice: "100000" }],
    sellerInfo: { email: "maria@sample.example" },
    // It is paid only to an account that it names.
    paymentOptions: [
      {
        type: "bank-account",
        value: {
          currencies: ["EUR"],
          paymentInformation: { iban: SAMPLE_PAYMENT_DETAIL.iban },
        },
      },
    ],
  });
  const offramp_id = await createOfframp(api, { ...DOCUMENT, invoice_id: id });
  const status = { offramp: { status: payment_status } };
  await api.send("PATCH", `/sandbox/offramps/${offramp_id}`, status);
  const end_ms = performance.now() + REPORTED_MAX_MS;
  while (!(await isReported(api, { event, id, since }))) {
    if (performance.now() > end_ms) {
      throw new StartupError(
        `Invoice ${id} got no event ${event}; check that a worker is running.`,
      );
    }
    await sleep(ASK_MS);
  }
  return { record: "invoice", id };
}

async function isReported(
  api: ApiClient,
  { event, id, since }: { event: EventName; id: string; since: string },
): Promise<boolean> {
  const query = `event=${event}&limit=100&created_after=${encodeURIComponent(since)}`;
  const path = `/webhook_events?${query}`;
  const events = await api.ask<{ record_id: string }[]>(
    (answer) => [...answer.webhook_events],
    "GET",
    path,
  );
  return events.some(({ record_id }) => record_id === id);
}

async function playInvoice(api: ApiClient, status: string): Promise<Triggered> {
  const id = await createInvoice(api, {
    invoiceItems: [{ name: "Consulting", currency: "USD", quantity: 2, unitPrice: "9999" }],
  });
  if (status !== "open") {
    await api.send("PATCH", `/sandbox/invoices/${id}`, { invoice: { status } });
  }
  return { record: "invoice", id };
}

function createInvoice(api: ApiClient, about: object): Promise<string> {
  return api.ask<string>(({ id }) => id, "POST", "/invoices", {
    invoiceNumber: `trigger-${randomUUID().slice(0, 8)}`,
    convert: true,
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
    ...about,
  });
}

function setKyc(api: ApiClient, user_id: string, status: string): Promise<void> {
  return api.send("PATCH", `/sandbox/users/${user_id}/kycs`, { kyc: { status } });
}

async function createApprovedUser(api: ApiClient): Promise<string> {
  const user_id = await createUser(api);
  await setKyc(api, user_id, "approved");
  return user_id;
}

async function createOfframp(api: ApiClient, about: object): Promise<string> {
  const user_id = await createApprovedUser(api);
  const payment_detail_id = await createPaymentDetail(api, user_id);
  const quotes = `/users/${user_id}/quotes`;
  const quote_id = await api.ask<string>(({ quote }) => quote.id, "POST", quotes, {
    quote: { deposit_token: "usdc", deposit_token_chain: "polygon" },
  });
  const path = `${quotes}/${quote_id}/offramps`;
  return api.ask<string>(({ offramps }) => offramps[0].id, "POST", path, {
    offramps: [
      {
        payment_detail_id,
        destination_amount: 1000,
        destination_currency: "eur",
        ...about,
      },
    ],
  });
}

async function createOnramp(api: ApiClient): Promise<string> {
  const user_id = await createApprovedUser(api);
  const path = `/users/${user_id}/onramps`;
  return api.ask<string>(({ onramp }) => onramp.id, "POST", path, {
    onramp: {
      destination_amount: 1000,
      crypto_currency: "usdc",
      crypto_rails: "polygon",
      destination_address: "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed",
      fiat_currency: "usd",
      fiat_rails: "wire",
    },
  });
}

function createUser(api: ApiClient): Promise<string> {
  return api.ask<string>(({ user }) => user.id, "POST", "/users", {
    user: {
      beneficiary_type: "individual",
      email: `trigger-${randomUUID()}@example.com`,
      first_name: "Ana",
      last_name: "Sample",
    },
  });
}

function createPaymentDetail(api: ApiClient, user_id: string): Promise<string> {
  const path = `/users/${user_id}/payment_details`;
  return api.ask<string>(({ payment_detail }) => payment_detail.id, "POST", path, {
    payment_detail: SAMPLE_PAYMENT_DETAIL,
  });
}
