import { findKeyCreators } from "../../accounts/api-key-store.ts";
import type { AccountControls } from "../../accounts/controls-store.ts";
import {
  APPROVAL_REASONS,
  type ApprovalSums,
  type Counted,
  loadSums,
} from "../../approvals/approval-sums.ts";
import { propose } from "../../approvals/propose.ts";
import type { NewProposal } from "../../approvals/store.ts";
import type { ApprovalRules } from "../../approvals/with-approval.ts";
import type { Catalogue } from "../../catalogue/catalogue.ts";
import type { Command } from "../../platform/commands/use-case.ts";
import type { Transaction } from "../../platform/db/database.ts";
import type { GatePolicy } from "../gates.ts";
import { describeNewQuote, type QuoteDescription } from "./describe-quote.ts";
import {
  COOLING_OFF,
  findLatePayees,
  isAnyCoolingOff,
  PAY_QUOTE,
  recordQuoteProposals,
} from "./late-payees.ts";
import type { LoadedQuotes } from "./load-quotes.ts";
import type { Quote } from "./model.ts";

type QuoteCommand = Command<{ user_id: string; quote_id: string }>;

/** What decides whether paying quotes needs approval. */
export type QuoteApprovals = {
  sums: ApprovalSums;
  counted: ReadonlyMap<string, Counted>;
  /** Why a quote needs approval whatever its amount. */
  always: ReadonlyMap<string, string>;
  descriptions: ReadonlyMap<string, QuoteDescription>;
  key_creators: ReadonlyMap<string, string>;
};

type LoadDeps = { approvals: ApprovalRules; catalogue: Catalogue; policy: GatePolicy };

/** What members see is read only for quotes that may need them. */
export async function loadApprovals(
  tx: Transaction,
  { approvals: rules, catalogue, policy }: LoadDeps,
  controls: readonly AccountControls[],
  { quotes, contents, keys }: LoadedQuotes,
  commands: readonly QuoteCommand[],
  is_from_balance: boolean,
): Promise<QuoteApprovals> {
  // Once, however many commands name it: what has been sent to it is read.
  const named = new Set(
    commands.flatMap(({ account_id, input }) => quotes.get(account_id, input.quote_id) ?? []),
  );
  const undecided = [...named].filter((quote) => quote.proposal_id === null);
  const counted = new Map(
    undecided.map((quote) => [quote.id, countedOf(quote, contents.get(quote.id)!)]),
  );
  const newest = is_from_balance
    ? undecided.map(({ id }) => contents.get(id)!.payments.map(({ newest_at }) => newest_at))
    : await Promise.all(undecided.map((quote) => findLatePayees(tx, rules, quote)));
  const always = new Map(
    undecided
      .filter((_quote, at) => isAnyCoolingOff(rules, newest[at]!))
      .map(({ id }) => [id, COOLING_OFF]),
  );
  const sums = await loadSums(tx, rules, controls, [...counted.values()], always.size > 0);
  const worst = sums.copy();
  const may_need = undecided.filter(({ id }) => {
    const request = counted.get(id)!;
    if (always.has(id) || worst.reasonFor(request) !== null) return true;
    worst.take(request);
    return false;
  });
  const names = { catalogue, keys, keyring: rules.keyring, policy };
  const descriptions = await Promise.all(
    may_need.map(
      async (quote) => [quote.id, await describeNewQuote(tx, names, quote, rules.now())] as const,
    ),
  );
  const credentials = may_need.length > 0 ? commands.map((command) => command.credential_id) : [];
  const key_creators = await findKeyCreators(tx, credentials);
  return { sums, counted, always, descriptions: new Map(descriptions), key_creators };
}

/** The payouts themselves count, without the fees. */
function countedOf(quote: Quote, { due, due_fees }: { due: bigint; due_fees: bigint }): Counted {
  const { account_id, id, deposit_token } = quote;
  return {
    account_id,
    amount: { amount: due - due_fees, currency: deposit_token, is_paid_out: true },
    counts_as: [id],
  };
}

/** The quote with its approval, if it needs one, and the proposal to record. */
export function decideApproval(
  { sums, counted, always, descriptions, key_creators }: QuoteApprovals,
  command: Command<unknown>,
  quote: Quote,
  key: Buffer,
  now: Date,
): { quote: Quote; proposal: NewProposal | null } {
  const request = counted.get(quote.id);
  if (!request || quote.proposal_id !== null) return { quote, proposal: null };
  const reason = sums.reasonFor(request);
  const why = always.get(quote.id) ?? (reason && APPROVAL_REASONS[reason]);
  if (!why) {
    sums.take(request);
    return { quote, proposal: null };
  }
  const { summary, ...described } = descriptions.get(quote.id)!;
  const amount_usd = sums.amountOf(request);
  const content = { ...described, input: null, why };
  const proposal = propose(
    command,
    { kind: PAY_QUOTE, record_id: quote.id, amount_usd, summary, voters: "members" },
    { content, subject_id: quote.user_id, key },
    key_creators,
    now,
  );
  const { id: proposal_id } = proposal.proposal;
  return { quote: { ...quote, proposal_id, approval_status: "pending" }, proposal };
}

export function recordApprovals(
  tx: Transaction,
  { sums }: QuoteApprovals,
  decided: readonly { proposal: NewProposal | null }[],
  now: Date,
): void {
  sums.record(tx, now);
  const proposals = decided.flatMap(({ proposal }) => proposal ?? []);
  if (proposals.length > 0) recordQuoteProposals(tx, proposals, now);
}
