import type { PaymentDetailStatus } from "../payment-details/model.ts";
import type { Problem } from "../platform/errors.ts";
import { documentRequired } from "../prices/pricing.ts";
import { clearanceProblems, type KycEnforcement } from "../users/clearance.ts";
import type { Kyc } from "../users/model.ts";
import type { Offramp } from "./model.ts";
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
};

/** Why this offramp cannot be paid now, as a sentence for the caller; null when it can. */
export function closedGate(policy: GatePolicy, offramp: Offramp, facts: GateFacts): string | null {
  if (facts.approval_status !== null && facts.approval_status !== "done") {
    return "The payment waits for approval by two members.";
  }
  return (
    facts.invoice_end ??
    kycGate(policy, offramp, facts.kyc) ??
    detailGate(facts.detail_status) ??
    (hasPassedDocument(offramp) ? null : documentGate(policy.documents, offramp))
  );
}

function kycGate(policy: GatePolicy, offramp: Offramp, kyc: Kyc | undefined): string | null {
  if (policy.kyc_enforcement === "off") return null;
  if (!kyc) return "The user's data was erased.";
  const [problem] = clearanceProblems(kyc, offramp.destination_currency, offramp.rails, "");
  return problem?.message ?? null;
}

function detailGate(status: PaymentDetailStatus | undefined): string | null {
  if (status === "approved") return null;
  if (status === "pending") return "The payment detail is still being checked.";
  if (status === "deactivated")
    return "The payment detail was deactivated. Re-route the payout to another one.";
  return "The payment detail was rejected. Re-route the payout to another one.";
}

/** The first attempt was sent with a document that had passed; later uploads change nothing. */
function hasPassedDocument({ attempt, document_status }: Offramp): boolean {
  return attempt > 0 && document_status !== null;
}

function documentGate(policy: DocumentPolicy, offramp: Offramp): string | null {
  const { document_status, document_file, details } = offramp;
  if (document_status === "rejected") {
    return details.document_comment ?? "The supporting document was rejected. Upload another one.";
  }
  const { destination_currency, rails, destination_amount } = offramp;
  const is_needed =
    policy === "always" ||
    policy === "review" ||
    (policy === "threshold" && documentRequired(destination_currency, rails, destination_amount));
  if (!is_needed) return null;
  if (document_status === null) return "This payout needs a supporting document. Upload one.";
  if (document_file === null) return "The supporting document is being fetched.";
  if (policy === "review" && document_status !== "approved") {
    return "The supporting document is waiting for review.";
  }
  return null;
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
