import { recordAudits } from "../../accounts/audit.ts";
import type { AuditAction } from "../../accounts/audit-actions.ts";
import { actorOf } from "../../accounts/model.ts";
import { lockSums } from "../../approvals/approval-sums.ts";
import type { NewProposal } from "../../approvals/store.ts";
import type { ApprovalRules } from "../../approvals/with-approval.ts";
import type { Catalogue } from "../../catalogue/catalogue.ts";
import type { LimitDeps } from "../../limits/load-limits.ts";
import { AccountMap } from "../../platform/account-map.ts";
import type { Accepted, Command, UseCase, Verdict } from "../../platform/commands/use-case.ts";
import type { Transaction } from "../../platform/db/database.ts";
import type { Keyring } from "../../platform/encryption/keyring.ts";
import { notFound, type Problem, Refusal } from "../../platform/errors.ts";
import { executionProblems, type GatePolicy } from "../gates.ts";
import type { OfframpRenderer } from "../render.ts";
import {
  decideApproval,
  loadApprovals,
  type QuoteApprovals,
  recordApprovals,
} from "./approve-quotes.ts";
import {
  checkQuoteLimits,
  loadQuoteLimits,
  type QuoteLimits,
  takeQuote,
} from "./check-quote-limits.ts";
import { type LoadedQuotes, loadQuotes, type QuoteContent } from "./load-quotes.ts";
import type { Quote } from "./model.ts";
import { listOfframpCounts, updateProgress } from "./store.ts";

export type PayDeps = {
  keyring: Keyring;
  catalogue: Catalogue;
  policy: GatePolicy;
  renderer: OfframpRenderer;
  approvals: ApprovalRules;
  limits: LimitDeps;
};

export type QuotePayment = { user_id: string; quote_id: string; problems: readonly Problem[] };

/** A quote to be paid, and what it consists of. */
export type Payable = { quote: Quote; content: QuoteContent };

/** One way to pay quotes: what is its own. */
export type PaymentRule<Input extends QuotePayment, Extra> = {
  name: string;
  /** How many rows one payment writes. */
  rows: number;
  is_from_balance: boolean;
  /** Takes the locks that come before those of the quotes. */
  lock?: (tx: Transaction, commands: readonly Command<Input>[]) => Promise<unknown>;
  load: (
    tx: Transaction,
    commands: readonly Command<Input>[],
    loaded: LoadedQuotes,
  ) => Promise<Extra>;
  /** Whether this payment was recorded before; then it is only answered again. */
  isRepeated: (quote: Quote, input: Input) => boolean;
  /** All problems in their order; `shared` are those of every way to pay. */
  problems: (
    payable: Payable,
    command: Command<Input>,
    extra: Extra,
    shared: readonly Problem[],
    now: Date,
  ) => Problem[];
  /** The quote as it is after the payment. */
  pay: (payable: Payable, input: Input, extra: Extra, now: Date) => Quote;
  record: (tx: Transaction, paid: readonly Payable[], now: Date) => void;
};

type Loaded<Extra> = LoadedQuotes & {
  approvals: QuoteApprovals;
  limited: QuoteLimits;
  extra: Extra;
};
type Paid = Payable & { proposal: NewProposal | null; is_new: boolean };

export function paymentUseCase<Input extends QuotePayment, Extra>(
  deps: PayDeps,
  rule: PaymentRule<Input, Extra>,
): UseCase<Input, Loaded<Extra>, Paid> {
  return {
    name: rule.name,
    rows: () => rule.rows,
    weigh,
    load: (tx, commands) => load(deps, rule, tx, commands),
    decide: (loaded, command, now) => decideOne(deps.policy, rule, loaded, command, now),
    record: (tx, loaded, accepted, now) => {
      const paid = accepted.map(({ output }) => output).filter(({ is_new }) => is_new);
      recordApprovals(tx, loaded.approvals, paid, now);
      for (const { quote } of paid) updateProgress(tx, quote);
      rule.record(tx, paid, now);
      recordActs(tx, rule, accepted, now);
    },
    render: ({ quote, content }) => deps.renderer.quote(quote, content.offramps, content.rates),
  };
}

/** Who let the money go: what follows is background work. */
function recordActs<Input extends QuotePayment>(
  tx: Transaction,
  { is_from_balance }: { is_from_balance: boolean },
  accepted: readonly Accepted<Input, Paid>[],
  now: Date,
): void {
  const action: AuditAction = is_from_balance ? "quote.fund" : "quote.execute";
  const acts = accepted
    .filter(({ output }) => output.is_new)
    .map(({ command, output: { quote } }) => {
      const { account_id, id, proposal_id } = quote;
      const act = { account_id, actor: actorOf(command), action, record: `quote:${id}` };
      return { ...act, reason: "", ...(proposal_id ? { detail: { proposal_id } } : {}) };
    });
  recordAudits(tx, acts, now);
}

/** About what is read for an offramp: itself, its payment and its invoice. */
const OFFRAMP_BYTES = 1_000;

async function weigh(
  tx: Transaction,
  commands: readonly Command<QuotePayment>[],
): Promise<Map<string, number>> {
  const keys = commands.map(({ account_id, input }) => ({ account_id, id: input.quote_id }));
  const counts = AccountMap.of(await listOfframpCounts(tx, keys), (quote) => quote);
  return new Map(
    commands.map(({ id, account_id, input: { quote_id } }) => [
      id,
      OFFRAMP_BYTES * (counts.get(account_id, quote_id)?.offramp_count ?? 0),
    ]),
  );
}

async function load<Input extends QuotePayment, Extra>(
  deps: PayDeps,
  rule: PaymentRule<Input, Extra>,
  tx: Transaction,
  commands: readonly Command<Input>[],
): Promise<Loaded<Extra>> {
  const { keyring, approvals: rules, limits } = deps;
  // Sent at once and run in this order: the account, where amounts count, then what the rule
  // locks, then the quotes.
  const [controls, , loaded] = await Promise.all([
    lockSums(tx, rules, commands),
    rule.lock?.(tx, commands),
    loadQuotes(tx, keyring, commands),
  ]);
  const [extra, approvals, limited] = await Promise.all([
    rule.load(tx, commands, loaded),
    loadApprovals(tx, deps, controls, loaded, commands, rule.is_from_balance),
    loadQuoteLimits(tx, limits, controls, loaded, commands),
  ]);
  return { ...loaded, extra, approvals, limited };
}

function decideOne<Input extends QuotePayment, Extra>(
  policy: GatePolicy,
  rule: PaymentRule<Input, Extra>,
  loaded: Loaded<Extra>,
  command: Command<Input>,
  now: Date,
): Verdict<Paid> {
  const { account_id, input } = command;
  const quote = loaded.quotes.get(account_id, input.quote_id);
  const kyc = loaded.kycs.get(account_id, input.user_id);
  const key = loaded.keys.get(account_id, input.user_id);
  if (!kyc || !key || quote?.user_id !== input.user_id) {
    return { refusal: Refusal.of([...input.problems, notFound("quote_id")]) };
  }
  const content = loaded.contents.get(quote.id)!;
  const subject = { subject_id: quote.user_id, key };
  if (input.problems.length === 0 && rule.isRepeated(quote, input)) {
    return { output: { quote, content, proposal: null, is_new: false }, subject };
  }
  const shared = [
    ...executionProblems(policy, kyc, content.payments),
    ...content.invoice_problems,
    ...checkQuoteLimits(loaded.limited, quote),
  ];
  const payable = { quote, content };
  const problems = rule.problems(payable, command, loaded.extra, shared, now);
  if (problems.length > 0) return { refusal: Refusal.of(problems) };
  takeQuote(loaded.limited, quote);
  const paid = rule.pay(payable, input, loaded.extra, now);
  const decided = decideApproval(loaded.approvals, command, paid, key, now);
  // Later commands of the same set must see what this one took.
  loaded.quotes.set(account_id, quote.id, decided.quote);
  return { output: { ...decided, content, is_new: true }, subject };
}
