type SampleRecords = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

const JUST_CREATED = {
  Offramp: { status: "initiated", status_message: null, payout_reference: null },
  Onramp: { status: "initiated", status_message: null, tx_id: null },
  Quote: { executed: false, status: "open" },
  Refund: { status: "pending", tx_id: null },
};
const NO_KYC = { status: "not_started", swift_status: "not_started" };

/** Operations that show a record in another state than usual. */
export const BY_OPERATION: Readonly<Record<string, SampleRecords>> = {
  createUser: {
    User: {
      kyc: {
        general: { status: "not_started", moderation_comment: null },
        usd: NO_KYC,
        eur: NO_KYC,
      },
    },
  },
  createQuote: {
    Quote: { ...JUST_CREATED.Quote, deposit_token_amount: 0, fees: 0, rates: {} },
    "": { crypto_transfer: null, offramps: [] },
  },
  createOfframps: {
    Offramp: {
      ...JUST_CREATED.Offramp,
      supporting_document: {
        submitted_url: "https://files.example.com/invoice-1042.pdf",
        status: "not_checked",
      },
    },
  },
  updateOfframp: JUST_CREATED,
  executeQuote: { Offramp: JUST_CREATED.Offramp, NamedTransfer: { status: "unknown" } },
  fundQuote: { Offramp: JUST_CREATED.Offramp, "": { crypto_transfer: null } },
  rerouteOfframp: { Offramp: { status: "sending_fiat", status_message: null } },
  refundOfframp: {
    Offramp: { status: "failed", status_message: "Refunded to the user's balance." },
  },
  createOnramp: JUST_CREATED,
  createRefund: JUST_CREATED,
  deactivatePaymentDetail: { PaymentDetail: { status: "deactivated" } },
  matchDeposit: { Deposit: { status: "matching", reason: null, message: null, amount: 1004 } },
  acceptDepositDifference: { Deposit: { status: "matching", reason: null, message: null } },
  returnDeposit: { Deposit: { status: "returning", reason: null, message: null } },
  dismissDeposit: { Deposit: { status: "dismissed" } },
  listFees: {
    "": {
      fees: [
        {
          currency: "eur",
          rails: "local",
          basis_points: 40,
          flat_usd: 0,
          minimum_amount: 1,
          minimum_usd_equivalent: null,
        },
      ],
      onramp_fees: [{ currency: "usd", rails: "ach_push", basis_points: 40, flat_usd: 0 }],
    },
  },
  validatePaymentDetail: { "": { errors: [] } },
};
