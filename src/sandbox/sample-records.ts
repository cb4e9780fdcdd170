import { FIELD_NAMES } from "../catalogue/payment-detail-fields.ts";
import type {
  ChangeName,
  Invoice,
  InvoiceChange,
  InvoiceStatus,
  KeyedInvoice,
} from "../invoices/model.ts";
import type { Offramp, OfframpStatus } from "../offramps/model.ts";
import type { Onramp, OnrampStatus } from "../onramps/model.ts";
import type { PaymentDetail, PaymentDetailStatus } from "../payment-details/model.ts";
import type { KycStatus, User } from "../users/model.ts";

/** The input of a sample record: two ids and the time. */
export type SampleKeys = { id: string; other_id: string; now: Date };

const ACCOUNT_ID = "00000000-0000-7000-8000-000000000000";
const MESSAGE = "This is a sample.";

function basics({ id, now }: SampleKeys) {
  return { account_id: ACCOUNT_ID, id, sequence: 1, created_at: now, updated_at: now };
}

export function sampleUser(keys: SampleKeys, status: KycStatus): User {
  const currency = { status, swift_status: status };
  return {
    ...basics(keys),
    beneficiary_type: "individual",
    identity: {
      email: "ana@example.com",
      first_name: "Ana",
      last_name: "Sample",
      company_name: null,
      date_of_birth: "1990-01-31",
      address_line1: "1 Sample Street",
      address_line2: null,
      city: "Lisbon",
      state: null,
      postcode: "1000-001",
      country: "PT",
      nationality: "PT",
      phone: null,
      ssn: null,
      source_of_funds: null,
      business_activity: null,
      metadata: {},
    },
    kyc: { general: { status, moderation_comment: null }, usd: currency, eur: currency },
    deactivated_at: null,
  };
}

export function samplePaymentDetail(keys: SampleKeys, status: PaymentDetailStatus): PaymentDetail {
  const absent = Object.fromEntries(FIELD_NAMES.map((name) => [name, null]));
  return {
    ...basics(keys),
    user_id: keys.other_id,
    status,
    fields: {
      ...(absent as PaymentDetail["fields"]),
      account_name: "Ana Sample",
      beneficiary_type: "individual",
      currency: "eur",
      rails: "local",
      iban: "DE89370400440532013000",
      bank_name: "Sample Bank",
      country: "DE",
      metadata: {},
    },
  };
}

export function sampleOfframp(keys: SampleKeys, status: OfframpStatus): Offramp {
  const { other_id, now } = keys;
  const is_sent = status === "fiat_sent" || status === "bounced";
  return {
    ...basics(keys),
    user_id: other_id,
    quote_id: other_id,
    payment_detail_id: other_id,
    invoice_id: null,
    status,
    status_message: MESSAGE,
    destination_amount: 100_000n,
    destination_currency: "eur",
    rails: "local",
    rate: "0.92",
    fee: 400n,
    deposit_token: "usdc",
    deposit_token_chain: "polygon",
    token_amount: 1_091_304_348n,
    token_fee: 4_347_827n,
    details: { reference: "Sample", metadata: {}, submitted_url: null },
    document_status: null,
    document_source: null,
    document_id: null,
    document_file: null,
    document_hash: null,
    document_type: null,
    document_version: 0,
    document_after_approval: false,
    document_fetch_failures: 0,
    funded_at: status === "initiated" ? null : now,
    attempt: is_sent ? 1 : 0,
    rate_until: null,
    rate_paused_at: null,
    given_back: null,
    refund_rate: null,
    payout_reference: is_sent ? { end_to_end_id: "SAMPLE1", trace_number: null, uetr: null } : null,
  };
}

export function sampleOnramp(keys: SampleKeys, status: OnrampStatus): Onramp {
  const is_paid = status === "sending_fiat" || status === "crypto_sent";
  return {
    ...basics(keys),
    user_id: keys.other_id,
    status,
    status_message: MESSAGE,
    crypto_currency: "usdc",
    crypto_rails: "polygon",
    destination_amount: 1_000_000_000n,
    destination_address: "0x0000000000000000000000000000000000000001",
    fiat_currency: "usd",
    fiat_rails: "ach_push",
    rate: "1",
    fee: 400n,
    deposit_amount: 100_400n,
    price_version_id: keys.other_id,
    deposit_instructions: {
      bank_account_number: "000123456789",
      bank_routing_number: "021000021",
      bank_iban: null,
      bank_swift_bic: null,
      bank_name: "Sample Bank",
      bank_address: "1 Sample Street, New York",
      bank_beneficiary_name: "Sliproad Sandbox",
    },
    deposit_message: "SAMPLE",
    deposit_id: null,
    paid_at: is_paid ? keys.now : null,
    deposit_account: is_paid ? "bank:main" : null,
    received: is_paid ? 100_400n : null,
    delivery: status === "crypto_sent" ? "sent" : null,
    tx_id: status === "crypto_sent" ? `0x${"0".repeat(63)}1` : null,
  };
}

export function sampleInvoice(
  keys: SampleKeys,
  name: ChangeName,
  status: InvoiceStatus,
): { entry: KeyedInvoice; change: InvoiceChange } {
  const { id, now } = keys;
  const change: InvoiceChange = {
    ...{ id: keys.other_id, sequence: 1, name, from_status: null, to_status: status },
    ...{ actor_account_id: ACCOUNT_ID, input: null, at: now },
  };
  const is_paid = status === "paid" || status === "declaredPaid";
  const invoice: Invoice = {
    ...basics(keys),
    format: "svc_invoice",
    status,
    request_id: `01${id.replaceAll("-", "").repeat(2)}`,
    number_index: Buffer.alloc(0),
    currency: "USD",
    total: 9_999n,
    total_without_tax: 9_999n,
    creation_date: now,
    due_at: null,
    document: {
      version: "0.0.3",
      invoiceNumber: "SAMPLE-1",
      creationDate: now.toISOString(),
      invoiceItems: [{ name: "Sample", currency: "USD", quantity: 1, unitPrice: "9999" }],
      buyerInfo: { email: "buyer@example.com", businessName: "Sample Buyer" },
      sellerInfo: { email: "seller@example.com", businessName: "Sample Seller" },
      paymentOptions: [],
    },
    party_index: Buffer.alloc(0),
    shared_with: null,
    shared_from: null,
    was_accepted: status === "accepted",
    payment: is_paid ? { payment_date: now.toISOString(), is_manually_paid: true } : null,
    tracked: [],
    offramp_id: null,
    next_occurrence_at: null,
    occurrences: 0,
    template_id: null,
    occurrence: null,
    app_id: null,
  };
  return { entry: { invoice, history: [change], key: Buffer.alloc(0) }, change };
}
