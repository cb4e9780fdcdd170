/**
 * The invented records that all examples of the document show: one user, one payee, one quote with
 * one payout, one onramp, one invoice. Their ids and amounts are consistent.
 */
export const id = (tail: string) => `019a8f3c-7a10-7c4e-9b2d-${tail.padStart(12, "0")}`;

export const IDS: Readonly<Record<string, string>> = {
  account_id: id("a1"),
  user_id: id("b1"),
  payment_detail_id: id("c1"),
  quote_id: id("d1"),
  offramp_id: id("e1"),
  onramp_id: id("f1"),
  invoice_id: id("101"),
  app_id: id("111"),
  client_id: id("111"),
  webhook_event_id: id("121"),
  webhook_delivery_id: id("131"),
  deposit_id: id("141"),
  refund_id: id("151"),
  refund_address_id: id("161"),
  proposal_id: id("171"),
  person_id: id("181"),
  replay_id: id("191"),
  crypto_deposit_id: id("1a1"),
  document_id: id("201"),
  travel_record_id: id("211"),
  sub: id("181"),
  record_id: id("e1"),
  export_id: id("211"),
  screening_match_id: id("221"),
};

const TX_ID = "0x9c3b1f5e8d7a46208f1c2e3d4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a6978";
export const ADDRESS = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed";
export const SERVER = "http://127.0.0.1:4000";
export const CREATED_AT = "2026-11-16T09:30:00.000Z";

/** The sample for a field of this name, in any record. `null` also where a string is allowed. */
export const BY_NAME: Readonly<Record<string, unknown>> = {
  created_at: CREATED_AT,
  updated_at: CREATED_AT,
  createdAt: CREATED_AT,
  updatedAt: CREATED_AT,
  date: CREATED_AT,
  at: CREATED_AT,
  from: "2026-11-16T00:00:00.000Z",
  to: "2026-11-17T00:00:00.000Z",
  now: CREATED_AT,
  booked_at: CREATED_AT,
  mined_at: CREATED_AT,
  timestamp: Date.parse(CREATED_AT),
  metadata: { order: "1042" },
  miscellaneous: {},
  status_message: null,
  moderation_comment: null,
  deposit_token: "usdc",
  deposit_token_chain: "polygon",
  token: "usdc",
  chain: "polygon",
  blockchain: "polygon",
  network: "amoy",
  address: ADDRESS,
  tx_id: TX_ID,
  currency: "eur",
  rails: "local",
  has_more: false,
  has_more_offramps: false,
  email: "ana.sample@example.com",
  beneficiary_type: "individual",
  destination_amount: 1000,
  destination_currency: "eur",
  reference: "Invoice 1042",
  rate: 0.86,
  fee: 4,
  fees: 4.651163,
  deposit_token_amount: 1167.441861,
  rates: { eur: 0.86 },
  expiry: Date.parse(CREATED_AT) / 1000 + 1800,
  executed: true,
  webhook_type: "offramp_update",
  idle: true,
  client_secret: "cs_test_4f9d0c1b7e6a58230d4c",
  webhook_secret: "whsec_9mQ2v7KpX4tR8sLz1bNc6yWd3hJf5gEa",
  webhook_secret_standard: "whsec_OW1RMnY3S3BYNHRSOHNMejFiTmM2eVdkM2hKZjVnRWE=",
  only_failed: false,
  message: "The document was uploaded.",
  valid: true,
  quantity: 2,
  name: "Consulting",
};

/** A person of a travel record. */
export const PERSON = {
  naturalPerson: {
    name: {
      nameIdentifier: [
        {
          primaryIdentifier: "Sample",
          secondaryIdentifier: "Ana",
          nameIdentifierType: "LEGL",
        },
      ],
    },
    geographicAddress: [
      {
        addressType: "HOME",
        addressLine: ["1 Sample Street"],
        postCode: "1000-001",
        townName: "Lisbon",
        country: "PT",
      },
    ],
    customerIdentification: IDS.user_id,
    countryOfResidence: "PT",
  },
};
