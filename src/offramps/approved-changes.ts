import { isCoolingOff } from "../approvals/cooling-off.ts";
import { proposalTask } from "../approvals/tasks.ts";
import { type ApprovalRules, type Describe, withApproval } from "../approvals/with-approval.ts";
import type { Catalogue } from "../catalogue/catalogue.ts";
import { minorDigits } from "../catalogue/currencies.ts";
import type { LimitDeps } from "../limits/load-limits.ts";
import type { Command, UseCase } from "../platform/commands/use-case.ts";
import type { Database } from "../platform/db/database.ts";
import type { ModuleCore } from "../platform/module.ts";
import { minorToText } from "../platform/money.ts";
import type { TaskHandler } from "../platform/tasks/run-set.ts";
import type { CurrentPrices } from "../prices/price-book.ts";
import { changeOfframps, type LoadedOfframps, type OfframpChange } from "./change-offramps.ts";
import { describeRefund, describeReroute, describeReview } from "./describe-changes.ts";
import { reviewDocuments } from "./documents/review-documents.ts";
import type { GatePolicy } from "./gates.ts";
import type { RateRules } from "./rate-promise.ts";
import type { ChangedOfframp } from "./record-changes.ts";
import { refundOfframps } from "./refund-offramps.ts";
import type { OfframpRenderer } from "./render.ts";
import { isCostlyReroute, type RerouteLimits, rerouteOfframps } from "./reroute-offramps.ts";

type ChangeDeps = Pick<ModuleCore, "clock" | "keyring"> & {
  renderer: OfframpRenderer;
  catalogue: Catalogue;
  policy: GatePolicy;
  approvals: ApprovalRules;
  prices: CurrentPrices;
  limits: LimitDeps;
} & RateRules;
export type ApprovedChangeDeps = ChangeDeps & RerouteLimits;
export type ApprovedReviewDeps = Pick<
  ChangeDeps,
  "keyring" | "renderer" | "approvals" | "catalogue"
>;

export function refundWithApproval(deps: ApprovedChangeDeps) {
  return changeWithApproval(deps, refundOfframp(deps), {
    summary: "Refund a payout of",
    is_summed: true,
    describe: describeRefund(deps),
  });
}

const YOUNG_DETAIL = "The new payment detail was created recently.";
const COSTLY_REROUTE =
  "The bank kept more than is usual, or the payout was re-routed three times already.";

export function rerouteWithApproval(deps: ApprovedChangeDeps) {
  return changeWithApproval(deps, rerouteOfframp(deps), {
    summary: "Re-route a bounced payout of",
    needsOperator: ({ offramps, extra }, { account_id, input }) => {
      const entry = offramps.get(account_id, input.offramp_id);
      return entry && isCostlyReroute(deps, entry.offramp, extra) ? COSTLY_REROUTE : null;
    },
    alwaysNeeds: ({ extra }, { account_id, input }, now) => {
      const id = input.requested.payment_detail_id;
      const detail = id === null ? undefined : extra.details.get(account_id, id);
      return detail && isCoolingOff(deps.approvals, detail.created_at, now) ? YOUNG_DETAIL : null;
    },
    is_summed: true,
    describe: describeReroute(deps),
  });
}

const LATE_DOCUMENT = "The document was uploaded after two members had approved the payment.";

export function reviewWithApproval(deps: ApprovedReviewDeps) {
  return changeWithApproval(deps, reviewDocument(deps), {
    summary: "Review the document of a payout of",
    alwaysNeeds: ({ offramps }, { account_id, input }) => {
      const { offramp } = offramps.get(account_id, input.offramp_id) ?? {};
      const is_approved = input.requested.status === "approved";
      return is_approved && offramp?.document_after_approval ? LATE_DOCUMENT : null;
    },
    is_summed: false,
    describe: describeReview(deps),
  });
}

/** Runs after two members have approved. */
export function changeProposalTasks(
  deps: ChangeDeps & { database: Database; index_key: Buffer },
): TaskHandler[] {
  return [
    proposalTask(deps, refundOfframp(deps), describeRefund(deps)),
    proposalTask(deps, rerouteOfframp(deps), describeReroute(deps)),
    proposalTask(deps, reviewDocument(deps), describeReview(deps)),
  ];
}

function refundOfframp({ keyring, renderer, prices, clock }: ChangeDeps) {
  return changeOfframps(keyring, renderer, refundOfframps(prices, clock));
}

function rerouteOfframp(deps: ChangeDeps) {
  return changeOfframps(deps.keyring, deps.renderer, rerouteOfframps(deps));
}

function reviewDocument({ keyring, renderer }: Pick<ChangeDeps, "keyring" | "renderer">) {
  return changeOfframps(keyring, renderer, reviewDocuments);
}

type Change<Requested> = Command<OfframpChange<Requested>>;

/** The offramp's own amount decides whether the change needs approval. */
function changeWithApproval<Requested, Extra>(
  { approvals }: { approvals: ApprovalRules },
  use_case: UseCase<OfframpChange<Requested>, LoadedOfframps<Extra>, ChangedOfframp>,
  options: {
    /** The amount is appended. */
    summary: string;
    /** Whether it counts in the sum of 24 hours: once, and not if its quote was counted. */
    is_summed: boolean;
    describe: Describe<OfframpChange<Requested>, LoadedOfframps<Extra>>;
    /** Why it needs two members whatever the amount. */
    alwaysNeeds?: (
      loaded: LoadedOfframps<Extra>,
      command: Change<Requested>,
      now: Date,
    ) => string | null;
    /** The same, where one of them must be the operator's. */
    needsOperator?: (loaded: LoadedOfframps<Extra>, command: Change<Requested>) => string | null;
  },
) {
  const amountOf = (
    { offramps }: LoadedOfframps<Extra>,
    { account_id, input }: Change<Requested>,
  ) => {
    const entry = offramps.get(account_id, input.offramp_id);
    if (!entry) return null;
    const { destination_amount, destination_currency } = entry.offramp;
    return { amount: destination_amount, currency: destination_currency };
  };
  return withApproval(use_case, {
    ...approvals,
    amountOf,
    recordIdOf: ({ input }) => input.offramp_id,
    countsAs: (loaded, { account_id, input }) => {
      const quote_id = loaded.offramps.get(account_id, input.offramp_id)?.offramp.quote_id;
      return options.is_summed && quote_id ? [input.offramp_id, quote_id] : [];
    },
    summaryOf: (loaded, command) => {
      const { amount, currency } = amountOf(loaded, command)!;
      return `${options.summary} ${minorToText(amount, minorDigits(currency)!)} ${currency}.`;
    },
    describe: options.describe,
    ...(options.alwaysNeeds ? { alwaysNeeds: options.alwaysNeeds } : {}),
    ...(options.needsOperator ? { needsOperator: options.needsOperator } : {}),
  });
}
