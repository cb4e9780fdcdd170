import type { ProposalStatus } from "../../approvals/model.ts";
import type { RefundStatus } from "../../balances/refund-store.ts";
import type { Chain, Token } from "../../catalogue/chains.ts";
import type { DepositRail, Rail } from "../../catalogue/rails.ts";
import type { ChangeType, InvoiceFormat, InvoiceStatus } from "../../invoices/model.ts";
import type { LimitScope, LimitWindow } from "../../limits/model.ts";
import type {
  ExceptionKind,
  ExceptionStatus,
  Resolution,
} from "../../offramps/exceptions/model.ts";
import type { DocumentStatus, OfframpStatus } from "../../offramps/model.ts";
import { DEPOSIT_REASONS, type DepositStatus, type OnrampStatus } from "../../onramps/model.ts";
import type { TransferStatus as NamedTransferStatus } from "../../partners/chain/port.ts";
import type { PaymentDetailStatus } from "../../payment-details/model.ts";
import { ERROR_CODES, ERRORS, type ErrorCode } from "../../platform/errors.ts";
import type { ExportFormat, ExportKind, ExportRecord } from "../../reports/exports/model.ts";
import type { KeptRecord, Retention } from "../../retention/model.ts";
import type { MatchStatus, ScreenedRecordKind } from "../../screening/model.ts";
import type { MissingPart } from "../../travel/ivms101.ts";
import type { TransferKind, TransferStatus, TravelStatus } from "../../travel/model.ts";
import type { KycStatus } from "../../users/model.ts";
import { INVOICE_EVENT_MEANINGS, RAMP_EVENT_MEANINGS } from "./event-meanings.ts";

type Meanings<Value extends string = string> = Readonly<Record<Value, string>>;

const INVOICE_STATUS: Meanings<InvoiceStatus> = {
  draft: "Not payable yet. The other party cannot see it.",
  scheduled: "A template with a `recurringRule`. It creates invoices and is never paid itself.",
  open: "Payable. The buyer has not answered yet.",
  accepted: "Payable. The buyer accepted it.",
  declaredPaid: "The payment was declared as sent. The seller has not confirmed it yet.",
  paid:
    "Paid. Not final for a crypto-to-fiat payment: if the bank returns it, the invoice goes back " +
    "to `open` or `accepted`.",
  canceled: "Canceled by whoever created it. Final.",
  rejected: "Rejected by the buyer. Final.",
};

/**
 * Every enum of the API, each value explained. An enum of the OpenAPI document is recognised by its
 * values and becomes the shared component of that name; a test reports those that are missing here.
 */
export const MEANINGS = {
  OfframpStatus: {
    initiated: "Created. Sliproad waits for the quote to be executed and its deposit to arrive.",
    pending_internal_assessment: "The deposit is confirmed. Sliproad checks the payout.",
    ongoing_checks:
      "On hold: a check is open, such as a missing document. `status_message` says which one.",
    sending_fiat: "The bank has the payment instruction.",
    fiat_sent:
      "The bank sent the money. Not final: the receiving bank can return it weeks later, and the " +
      "offramp then becomes `bounced`.",
    bounced:
      "The money came back. Call `reroute` with another payment detail, or `refund` to give up.",
    failed: "Final. Nothing was paid out, or everything that came back was given up.",
  } satisfies Meanings<OfframpStatus>,
  DocumentStatus: {
    not_checked: "Nobody has reviewed the document yet.",
    approved: "A reviewer approved this file.",
    rejected:
      "A reviewer rejected this file, or Sliproad could not fetch it. Send another file, which " +
      "starts at `not_checked`. Only a member can approve a rejected file.",
  } satisfies Meanings<DocumentStatus>,
  QuoteStatus: {
    open: "Offramps can be added, and the quote can be executed, until it expires.",
    executed: "A transfer or a balance pays for the quote. Nothing can be added.",
    expired: "It was not executed in time. Create a new quote.",
    failed: "It was executed, but the deposit did not arrive in full and in time.",
  },
  NamedTransferStatus: {
    unknown: "The chain does not know it, or was not asked yet.",
    pending: "The chain has it, but it is not final.",
    final: "It is final and pays the deposit address in the token of the quote.",
    failed: "It failed, or it does not pay the deposit address in the token. Name another one.",
  } satisfies Meanings<NamedTransferStatus>,
  OnrampStatus: {
    initiated: "Created. Sliproad waits for the bank deposit.",
    sending_fiat: "The deposit is matched. Conversion and delivery are running.",
    crypto_sent: "The tokens were sent; `tx_id` names the transaction. Final.",
    failed: "Not paid in time, or given up. Final.",
  } satisfies Meanings<OnrampStatus>,
  KycStatus: {
    not_started: "The user has not started verification.",
    initiated: "The user has saved at least one step.",
    pending_assessment: "The user submitted everything. Automatic checks are running.",
    prechecks_completed: "The automatic checks passed.",
    application_queued: "The application waits for the identity provider.",
    awaiting_manual_review: "A reviewer has to decide.",
    retry_required: "Something has to be submitted again. Create a new KYC session.",
    retry_denied: "Not approved, and no further attempt is possible. Final.",
    approved: "Verified. A reviewer can still suspend the user.",
    suspended: "Blocked by a reviewer, like a user who is not approved.",
    failed: "Not approved. Final.",
  } satisfies Meanings<KycStatus>,
  PaymentDetailStatus: {
    pending: "Checks are running. It cannot be paid yet.",
    approved: "All checks passed. It can be paid.",
    failed: "A check failed. Create a new payment detail.",
    deactivated: "Deactivated by the account. Final.",
  } satisfies Meanings<PaymentDetailStatus>,
  BeneficiaryType: { individual: "A person.", business: "A company or another organisation." },
  RefundStatus: {
    pending: "Recorded. The tokens have not left yet.",
    sending: "Waits for its turn on the chain, or is sent there and not final yet.",
    sent: "The transaction is confirmed; `tx_id` names it. Final.",
    failed: "The chain refused it. The amount is owed to the user again. Final.",
  } satisfies Meanings<RefundStatus>,
  RetentionStatus: {
    active: "Nobody requested the user's erasure.",
    erasure_requested:
      "The user is deactivated. It is erased by itself once nothing has to be kept any more.",
    erased: "The user is erased. Final.",
  } satisfies Meanings<Retention["status"]>,
  KeptRecord: {
    payments: "Records of payments, for the years of `SLIPROAD_RETENTION_YEARS`.",
    identity_documents: "The documents and data that identified the user, as long as payments.",
    open_payments: "A payout, refund or onramp is not completed.",
    balance: "Money is owed to the user.",
    hold: "The user or account is frozen, or checks on the user are open.",
  } satisfies Meanings<KeptRecord>,
  TravelStatus: {
    complete: "Everything that the record should contain was known.",
    incomplete: "Something was not known when the tokens were sent; see `missing`.",
  } satisfies Meanings<TravelStatus>,
  TravelTransferKind: {
    onramp: "The delivery of an onramp.",
    refund: "A refund from a balance.",
  } satisfies Meanings<TransferKind>,
  TravelTransferStatus: {
    sending: "The tokens may be on their way.",
    sent: "The transfer is on the chain; `tx_id` names it.",
    failed: "The chain refused the transfer. Nothing was sent.",
  } satisfies Meanings<TransferStatus>,
  MissingTravelPart: {
    address: "The street, town or country of the user.",
    originating_vasp: "The operator's own name: the setting `SLIPROAD_VASP_NAME`.",
  } satisfies Meanings<MissingPart>,
  LimitScope: {
    payout: "The largest single payment.",
    user: "All payments of a user.",
    payee: "All payments to one bank account, whichever payment detail names it.",
    account: "All payments of the account.",
    open_quotes: "What the account's open quotes would cost.",
  } satisfies Meanings<LimitScope>,
  LimitWindow: {
    single: "At any time.",
    day: "The last 24 hours.",
    "30_days": "The last 30 days.",
  } satisfies Meanings<LimitWindow>,
  ProposalStatus: {
    pending: "It waits for members to vote.",
    confirmed: "Two members agreed. It runs in a moment.",
    rejected: "A member rejected it. Final.",
    void: "What it was about changed before it ran. Final.",
    lapsed: "Too few members confirmed it within 72 hours. Final.",
    done: "It ran. Final.",
    failed: "It was confirmed but refused when it ran; `outcome` says why. Final.",
  } satisfies Meanings<ProposalStatus>,
  DepositStatus: {
    unmatched: "It waits for the operator; `reason` says why.",
    matching: "It is being matched to an onramp.",
    matched: "It pays an onramp.",
    releasing: "It is being taken back from its onramp.",
    returning: "The bank is sending it back to the payer.",
    returned: "It went back to the payer. Final.",
    dismissed: "It was no money of its own, for example a line reported twice. Final.",
    kept: "It was the operator's own money, for example a transfer between its accounts. Final.",
  } satisfies Meanings<DepositStatus>,
  DepositReason: DEPOSIT_REASONS,
  InvoiceStatus: INVOICE_STATUS,
  InvoiceStatusFilter: {
    ...INVOICE_STATUS,
    pending: "`open`, `accepted` or `declaredPaid`.",
    overdue: "`open` or `accepted`, and past its due date.",
  },
  InvoiceFormat: {
    svc_invoice: "An invoice: you are the seller.",
    svc_salary: "A salary: you are the employer and buyer.",
  } satisfies Meanings<InvoiceFormat>,
  InvoiceMode: { live: "A real invoice.", test: "An invoice of the sandbox." },
  InvoiceRole: { seller: "Your account is paid.", buyer: "Your account pays." },
  InvoiceDirection: { sent: "Your account is the seller.", received: "Your account is the buyer." },
  InvoiceChangeType: {
    accept: "The buyer accepts an open invoice.",
    reject: "The buyer rejects it; `input.note` is required.",
    cancel: "Whoever created the invoice cancels it.",
    declareSentPayment: "The buyer declares that the payment was sent.",
    declareReceivedPayment: "The seller declares that the payment arrived.",
    markUnpaid: "The seller takes back that it was paid.",
    changePaymentOptions: "The payee corrects how to be paid. The invoice is `open` again.",
  } satisfies Meanings<ChangeType>,
  TaxType: { fixed: "An amount in minor units.", percentage: "A percentage of the item." },
  PaymentOptionType: { wallet: "A crypto address.", "bank-account": "A bank account." },
  Token: { usdc: "USD Coin.", usdt: "Tether USD." } satisfies Meanings<Token>,
  Chain: {
    polygon: "Polygon.",
    ethereum: "Ethereum.",
    arbitrum: "Arbitrum One.",
    base: "Base.",
    tron: "Tron.",
    solana: "Solana.",
  } satisfies Meanings<Chain>,
  Rails: {
    local: "The domestic network of the currency, such as SEPA or ACH.",
    swift: "The SWIFT network. Always needs a supporting document.",
    wire: "A domestic wire transfer in usd.",
  } satisfies Meanings<Rail>,
  DepositRails: {
    ach_push: "An ACH credit transfer in usd.",
    wire: "A domestic wire transfer in usd.",
    local: "A SEPA credit transfer in eur.",
  } satisfies Meanings<DepositRail>,
  ConversionMode: {
    sending: "`input_amount` is given; the answer says what arrives.",
    receiving: "`output_amount` is given; the answer says what to send.",
  },
  AppFlow: {
    authorization_code: "People authorise the application to read and write for their account.",
    client_credentials: "The application acts for the account that created it.",
  },
  WebhookState: {
    active: "Events are sent.",
    paused: "Paused by the account. Events are kept until it is resumed.",
    disabled: "Disabled after failures or a 410. Events are recorded as `skipped`.",
    not_enabled: "The operator has not enabled webhooks for the account.",
    incomplete: "The URL or the secret is missing.",
  },
  RampEvent: RAMP_EVENT_MEANINGS,
  BankAnswer: {
    booked: "The payment was made.",
    returned: "The money came back.",
    rejected: "The payment was not made.",
  },
  BankExceptionStatus: {
    open: "It waits for the operator.",
    returning: "The bank is asked to send the money back.",
    resolved: "Decided; `resolution` and `reason` say how. Final.",
  } satisfies Meanings<ExceptionStatus>,
  BankExceptionKind: {
    suspense:
      "Money came back that fits no sent payment, or more than was sent. It is in `suspense`.",
    no_such_payment: "The end-to-end id is unknown.",
    out_of_order: "It contradicts an earlier answer, such as booked after rejected.",
    conflict: "The amount or currency differs from the instruction, or nothing came back.",
  } satisfies Meanings<ExceptionKind>,
  BankExceptionResolution: {
    assign:
      "It belongs to a payout: money that came back is a return of it, a booking is its payment.",
    return: "The money in suspense is sent back to where it came from.",
    write_off: "The operator keeps the money in suspense, or accepts what left as a loss.",
    dismiss: "No money moved; nothing is posted.",
  } satisfies Meanings<Resolution>,
  ScreeningMatchStatus: {
    open: "It waits for a reviewer; the person's money is held.",
    cleared: "Somebody else. It stays so until the person or the entry changes.",
    confirmed: "The person is the entry of the list; the money stays held.",
    closed: "The entry has left its list, or a later match with it took the place of this one.",
  } satisfies Meanings<MatchStatus>,
  ScreeningVerdict: {
    possible_match: "A reviewer has to compare the two.",
    match:
      "The wallet is listed, or the name agrees and so does the birth date (of a company: the " +
      "country).",
  },
  ScreenedRecordKind: {
    user: "A user, with the wallets that sent or receive tokens.",
    payment_detail: "The payee of a payment detail.",
  } satisfies Meanings<ScreenedRecordKind>,
  ListEntryKind: {
    individual: "A person.",
    business: "A company or organization.",
    other: "A vessel, an aircraft, or not stated.",
  },
  HistoryKind: {
    event: "The record changed.",
    posting: "Money moved in the ledger.",
    act: "Somebody did something about it, as the audit log says.",
    proposal: "Something about it was proposed for approval.",
    vote: "A member voted on a proposal.",
  },
  ExportKind: {
    payouts: "Offramps that were created in the period, with their status at the time of writing.",
    ledger: "Every line of every ledger entry.",
    deposits: "Transfers on a chain; in the operator's account also bank deposits.",
    audit_log: "What people, keys and the command line did.",
    approvals: "Proposals, with the votes on them.",
  } satisfies Meanings<ExportKind>,
  ExportFormat: {
    csv: "RFC 4180 with a head; texts that a spreadsheet would run get an apostrophe.",
    jsonl: "One JSON object per line.",
  } satisfies Meanings<ExportFormat>,
  ExportStatus: {
    pending: "The file is not written yet.",
    ready: "The file can be downloaded.",
    removed: "No file is stored: it was removed, or the command line wrote it. Its digest stays.",
  } satisfies Meanings<ExportRecord["status"]>,
  LedgerSide: {
    debit: "The account grows by debits, which are above zero.",
    credit: "The account grows by credits, which are below zero.",
  },
  EventName: { ...INVOICE_EVENT_MEANINGS, ...RAMP_EVENT_MEANINGS },
  DeliveryStatus: {
    pending: "Waiting for the next attempt.",
    delivered: "The receiver answered 2xx.",
    failed: "All attempts failed.",
    skipped: "Nothing will be sent; `reason` says why.",
  },
  ErrorCode: Object.fromEntries(
    ERROR_CODES.map((code) => [code, ERRORS[code][1]]),
  ) as Meanings<ErrorCode>,
} satisfies Record<string, Meanings>;

export type EnumName = keyof typeof MEANINGS;

/** The enum with exactly these values, in any order. */
export function findEnum(values: readonly unknown[]): EnumName | undefined {
  const names = Object.keys(MEANINGS) as EnumName[];
  return names.find((name) => {
    const known = Object.keys(MEANINGS[name]);
    return known.length === values.length && values.every((value) => known.includes(`${value}`));
  });
}

/** The values as a Markdown list. */
export function describeEnum(name: EnumName): string {
  const lines = Object.entries<string>(MEANINGS[name]).map(
    ([value, meaning]) => `- \`${value}\`: ${meaning}`,
  );
  return lines.join("\n");
}
