import type { OwnReviews } from "../accounts/store.ts";
import { documentRequired } from "../catalogue/document-rules.ts";
import type { PaymentDetailStatus } from "../payment-details/model.ts";
import type { Problem } from "../platform/errors.ts";
import {
  clearanceProblems,
  deactivationProblems,
  holdProblems,
  type KycEnforcement,
} from "../users/clearance.ts";
import type { Kyc } from "../users/model.ts";
import { isBeforePayout, type Offramp } from "./model.ts";
import type { Quote } from "./quotes/model.ts";

/** Which executed offramps need a document before they are paid. */
type DocumentPolicy = "always" | "threshold" | "never" | "review";

export type GatePolicy = { kyc_enforcement: KycEnforcement; documents: DocumentPolicy };

type GateFacts = {
  kyc: Kyc | undefined;
  detail_status: PaymentDetailStatus | undefined;
  /** Of the quote, where paying it needs two members. */
  approval_status: Quote["approval_status"];
  /** Why it can no longer pay its invoice. */
  invoice_end: string | null;
  /** What the account reviews itself; absent: nothing. */
  own_reviews?: OwnReviews | undefined;
};

/**
 * A closed gate, as a sentence for the caller, and who can open it. While only the operator can,
 * the time for which the rate is kept stands still; a proposal has a time of its own. Reviews that
 * the account itself decides are in the caller's hands.
 */
export type Gate = { message: string; by: "caller" | "operator" | "approval" };

const byCaller = (message: string): Gate => ({ message, by: "caller" });
const byOperator = (message: string): Gate => ({ message, by: "operator" });

/** Why this offramp cannot be paid now; null when it can. */
export function closedGate(policy: GatePolicy, offramp: Offramp, facts: GateFacts): Gate | null {
  if (facts.approval_status !== null && facts.approval_status !== "done") {
    return { message: "The payment waits for approval by two members.", by: "approval" };
  }
  const { kyc, own_reviews: own } = facts;
  return (
    (facts.invoice_end === null ? null : byCaller(facts.invoice_end)) ??
    kycGate(policy, offramp, kyc, own?.kyc_review_by_account) ??
    detailGate(facts.detail_status) ??
    (hasPassedDocument(offramp)
      ? null
      : documentGate(policy.documents, offramp, own?.document_review_by_account))
  );
}

type Destination = Pick<Offramp, "destination_currency" | "rails">;

/**
 * Why a payment that waits in a file for the bank must not leave yet; null when it may go. A
 * payment detail that its owner deactivates after the payout was given to the file is still paid.
 */
export function fileGate(
  policy: Pick<GatePolicy, "kyc_enforcement">,
  offramp: Destination,
  { kyc, detail_status }: Pick<GateFacts, "kyc" | "detail_status">,
): Gate | null {
  const closed = kycGate(policy, offramp, kyc);
  if (closed || detail_status === "deactivated") return closed;
  return detailGate(detail_status);
}

function kycGate(
  policy: Pick<GatePolicy, "kyc_enforcement">,
  offramp: Destination,
  kyc: Kyc | undefined,
  is_own_review = false,
): Gate | null {
  const [hold] = kyc ? holdProblems(kyc, "") : [];
  if (hold) return byOperator(hold.message);
  if (policy.kyc_enforcement === "off") return null;
  if (!kyc) return byCaller("The user's data was erased.");
  const [problem] = clearanceProblems(kyc, offramp.destination_currency, offramp.rails, "");
  if (!problem) return null;
  return IN_REVIEW.includes(kyc.general.status) && !is_own_review
    ? byOperator(problem.message)
    : byCaller(problem.message);
}

/** In these states a reviewer acts next, also on the clearance of an approved user. */
const IN_REVIEW: readonly string[] = [
  "pending_assessment",
  "prechecks_completed",
  "application_queued",
  "awaiting_manual_review",
  "suspended",
  "approved",
];

function detailGate(status: PaymentDetailStatus | undefined): Gate | null {
  if (status === "approved") return null;
  if (status === "pending") return byOperator("The payment detail is still being checked.");
  if (status === "deactivated")
    return byCaller("The payment detail was deactivated. Refund the payout and quote again.");
  return byCaller("The payment detail was rejected. Refund the payout and quote again.");
}

/** The first attempt was sent with a document that had passed; later uploads change nothing. */
function hasPassedDocument({ attempt, document_status }: Offramp): boolean {
  return attempt > 0 && document_status !== null;
}

const NOT_APPROVED =
  "The supporting document was uploaded after two members approved the payment. It waits for " +
  "their approval too: ask a reviewer to approve it.";

function documentGate(
  policy: DocumentPolicy,
  offramp: Offramp,
  is_own_review = false,
): Gate | null {
  const { document_status, document_file, document_after_approval, details } = offramp;
  if (document_status === "rejected") {
    return byCaller(
      details.document_comment ?? "The supporting document was rejected. Upload another one.",
    );
  }
  // The caller's doing, so the time for which the rate is kept goes on.
  if (document_after_approval && document_status !== "approved") return byCaller(NOT_APPROVED);
  const { destination_currency, rails, destination_amount } = offramp;
  const is_needed =
    policy === "always" ||
    policy === "review" ||
    (policy === "threshold" && documentRequired(destination_currency, rails, destination_amount));
  if (!is_needed) return null;
  if (document_status === null) {
    return byCaller("This payout needs a supporting document. Upload one.");
  }
  if (document_file === null) return byCaller("The supporting document is being fetched.");
  if (policy === "review" && document_status !== "approved") {
    const message = "The supporting document is waiting for review.";
    return is_own_review ? byCaller(message) : byOperator(message);
  }
  return null;
}

/** Whether another file is needed before it can be paid, or its file is still being fetched. */
export function awaitsDocument(policy: GatePolicy, offramp: Offramp): boolean {
  if (!isBeforePayout(offramp.status)) return false;
  const is_on_its_way = offramp.document_status === "not_checked" && offramp.document_file === null;
  return is_on_its_way || documentGate(policy.documents, offramp)?.by === "caller";
}

/** The same checks at execution, as problems of a request. */
export function executionProblems(
  policy: GatePolicy,
  kyc: Kyc,
  payments: readonly QuotePayment[],
): Problem[] {
  const problems = payments.flatMap(({ destination_currency, rails, detail_status }) => {
    const found: Problem[] = [];
    if (policy.kyc_enforcement !== "off") {
      found.push(...clearanceProblems(kyc, destination_currency, rails, "quote"));
    }
    if (detail_status === "deactivated") {
      const message = "A payment detail of this quote was deactivated; create a new quote.";
      found.push({ field: "quote", code: "payment_detail_deactivated", message });
    } else if (detail_status !== "approved") {
      const message = "A payment detail of this quote is not approved.";
      found.push({ field: "quote", code: "payment_detail_not_approved", message });
    }
    return found;
  });
  problems.push(...holdProblems(kyc, "quote"), ...deactivationProblems(kyc, "quote"));
  return [...new Map(problems.map((problem) => [problem.code, problem])).values()];
}

/** A kind of payment in a quote, and the state of the bank accounts that receive it. */
export type QuotePayment = {
  destination_currency: string;
  rails: string;
  detail_status: PaymentDetailStatus;
  /** When the newest of them was created. */
  newest_at: Date;
};
