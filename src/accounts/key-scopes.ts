type ScopeSpec = { readonly meaning: string; readonly operations: readonly string[] };

/**
 * What a key with a scope may do: every operation of the API stands under exactly one scope. A key
 * without scopes may do everything. The reference page (docs/reference/roles.md) is generated
 * from it.
 */
export const KEY_SCOPES = {
  read: {
    meaning: "Read everything of the account, and calculate prices.",
    operations: [
      "listUsers",
      "showUser",
      "showRetention",
      "listPaymentDetails",
      "showPaymentDetail",
      "validatePaymentDetail",
      "listPaymentDetailRequirements",
      "calculateQuoteRate",
      "calculateConversion",
      "listFees",
      "listExposures",
      "listQuotes",
      "showQuote",
      "listOfframps",
      "showOfframp",
      "listAccountOfframps",
      "showHistory",
      "listLedgerEntries",
      "listLedgerBalances",
      "listExports",
      "showExport",
      "downloadExport",
      "downloadSupportingDocument",
      "downloadDocument",
      "listLimits",
      "listBalances",
      "listAccountBalances",
      "listCryptoDeposits",
      "listRefundAddresses",
      "listRefunds",
      "listTravelRecords",
      "showTravelRecord",
      "listOnramps",
      "showOnramp",
      "listBankExceptions",
      "listDeposits",
      "showDeposit",
      "listInvoices",
      "showInvoice",
      "downloadInvoice",
      "showMe",
      "listApps",
      "showApp",
      "listWebhookEvents",
      "showWebhookEvent",
      "listWebhookDeliveries",
      "listProposals",
      "showProposal",
      "listProposedPayouts",
      "showSandboxClock",
    ],
  },
  "payouts:create": {
    meaning:
      "Create and change users and KYC sessions; create payment details, quotes, offramps and " +
      "documents. Nothing is paid by it.",
    operations: [
      "createUser",
      "updateUser",
      "createKycSession",
      "createPaymentDetail",
      "deactivatePaymentDetail",
      "createQuote",
      "createOfframps",
      "uploadSupportingDocument",
      "uploadDocument",
    ],
  },
  "payouts:execute": {
    meaning:
      "Execute quotes, fund them from a balance, re-route payouts, and change or remove payouts " +
      "of quotes that are not executed.",
    // Whoever may only prepare payouts must not replace the payee of what somebody else executes.
    operations: ["executeQuote", "fundQuote", "rerouteOfframp", "updateOfframp", "deleteOfframp"],
  },
  refunds: {
    meaning: "Register refund addresses, and give balances and payouts back.",
    operations: ["createRefundAddress", "createRefund", "refundOfframp"],
  },
  onramps: {
    meaning: "Create onramps: a bank deposit is delivered as coins to the address that they name.",
    operations: ["createOnramp"],
  },
  invoices: {
    meaning: "Create and change invoices, and where their buyers pay.",
    operations: ["createInvoice", "convertInvoice", "changeInvoice"],
  },
  exports: {
    meaning: "Create and remove files for auditors; `read` downloads them.",
    operations: ["createExport", "deleteExport"],
  },
  webhooks: {
    meaning:
      "Change where webhooks go, their secrets, and send events again; not an application's name " +
      "and redirect URIs.",
    operations: [
      "updateApp",
      "rotateWebhookSecret",
      "switchWebhookSecret",
      "pauseApp",
      "resumeApp",
      "replayApp",
      "redeliverWebhookEvent",
    ],
  },
  admin: {
    meaning:
      "Manage applications, their names, redirect URIs and client secrets (with client " +
      "credentials, which change invoices, `invoices` is needed as well); erase users; and what " +
      "only the operator may do: freezes, deposits, bank exceptions, document reviews and " +
      "screening.",
    operations: [
      "createApp",
      "rotateClientSecret",
      "resetAppUsed",
      "deleteApp",
      "freezeUser",
      "unfreezeUser",
      "deleteUser",
      "restoreUser",
      "matchDeposit",
      "acceptDepositDifference",
      "returnDeposit",
      "dismissDeposit",
      "resolveBankException",
      "reviewSupportingDocument",
      "listScreeningMatches",
      "clearScreeningMatch",
      "confirmScreeningMatch",
    ],
  },
  sandbox: {
    meaning: "Play the bank, the chain, the reviewers and the clock in sandbox mode.",
    operations: [
      "advanceSandboxClock",
      "setSandboxKyc",
      "setSandboxPaymentDetail",
      "setSandboxOfframp",
      "createSandboxCryptoDeposit",
      "setSandboxOnramp",
      "createSandboxDeposit",
      "sendSandboxWebhook",
      "setSandboxInvoice",
      "createSandboxCryptoTransfer",
    ],
  },
} as const satisfies Record<string, ScopeSpec>;

export type KeyScope = keyof typeof KEY_SCOPES;

export const KEY_SCOPE_NAMES = Object.keys(KEY_SCOPES) as KeyScope[];

const scope_of = new Map(
  KEY_SCOPE_NAMES.flatMap((scope) =>
    KEY_SCOPES[scope].operations.map((operation) => [operation as string, scope]),
  ),
);

/** The scope that an operation needs; undefined under none, so that no scope permits it. */
export function scopeOf(operation: string): KeyScope | undefined {
  return scope_of.get(operation);
}

export function isKeyScope(text: string): text is KeyScope {
  return Object.hasOwn(KEY_SCOPES, text);
}
