import { endProposal } from "../../approvals/end-proposal.ts";
import {
  CONTENT_CHANGED,
  NOT_DESCRIBED,
  type ProposalStatus,
  runProposalKind,
} from "../../approvals/model.ts";
import {
  findContents,
  lockProposal,
  type SealedProposal,
  updateContent,
} from "../../approvals/store.ts";
import { assertApproved } from "../../approvals/tasks.ts";
import type { Catalogue } from "../../catalogue/catalogue.ts";
import { AccountMap } from "../../platform/account-map.ts";
import type { Database, Transaction } from "../../platform/db/database.ts";
import { SECOND_MS } from "../../platform/durations.ts";
import type { Keyring } from "../../platform/encryption/keyring.ts";
import { recordByRecord } from "../../platform/tasks/one-by-one.ts";
import type { TaskHandler } from "../../platform/tasks/run-set.ts";
import { updateTasksDue } from "../../platform/tasks/tasks.ts";
import { claimBeforePayout } from "../claim-store.ts";
import { CHUNK } from "../fund-offramps.ts";
import type { GatePolicy } from "../gates.ts";
import { type GiveUpFacts, giveUp, recordGiveUps } from "../give-up.ts";
import { recordChanges } from "../record-changes.ts";
import type { OfframpRenderer } from "../render.ts";
import { toOfframps } from "../store.ts";
import { ASSESS_OFFRAMP_TASK } from "../task-kinds.ts";
import { endQuote } from "./close-quote.ts";
import { describeTerms, isDescribedLater } from "./describe-quote.ts";
import { PAY_QUOTE } from "./late-payees.ts";
import type { Quote } from "./model.ts";
import { digestTerms, loadTerms } from "./quote-terms.ts";
import { findQuotes, lockQuotes, updateProgress } from "./store.ts";

type ApprovalTaskDeps = {
  database: Database;
  keyring: Keyring;
  renderer: OfframpRenderer;
  catalogue: Catalogue;
  policy: GatePolicy;
};

const REFUSALS: Readonly<Partial<Record<ProposalStatus, string>>> = {
  rejected: "A member rejected the payment.",
  lapsed: "The payment was not approved in time.",
  void: "The payment changed while it waited for approval.",
};

const QUOTE_ENDED = "The quote has ended.";

/** A quote of thousands of payouts is read for each description, and has thousands of documents. */
const DESCRIBED_AGAIN_MIN_MS = 5 * SECOND_MS;
const DESCRIBED_AGAIN_MS_PER_PAYOUT = 3;

/**
 * Describes a pending proposal to pay a quote as its payouts are now, and follows its end: once it
 * is confirmed, the offramps go on; otherwise they fail, in chunks, and what was paid for them
 * stays owed to the user.
 */
export function payQuoteTask(deps: ApprovalTaskDeps): TaskHandler {
  return {
    kind: runProposalKind(PAY_QUOTE),
    set_max: 20,
    handle: (set) =>
      // Many payouts may have changed since, each with a task: one look serves all of them.
      recordByRecord(deps.database, set, (due) =>
        deps.database.transaction(async (tx) => {
          const tasks = await set.lock(tx, due);
          if (tasks.length === 0) return;
          const { account_id, record_id } = due[0]!;
          const proposal = await lockProposal(tx, account_id, record_id);
          const next_at = proposal ? await follow(tx, deps, proposal, set.now) : null;
          if (next_at) set.postpone(tx, tasks, next_at);
          else set.finish(tx, tasks);
        }),
      ),
  };
}

/** Returns when there is more to do: now, if more offramps are left to fail. */
async function follow(
  tx: Transaction,
  deps: ApprovalTaskDeps,
  proposal: SealedProposal,
  now: Date,
): Promise<Date | null> {
  if (proposal.status === "pending") return check(tx, deps, proposal, now);
  const quote = await lockQuoteOf(tx, proposal);
  if (!quote) return null;
  if (proposal.status !== "confirmed") return refuse(tx, deps, quote, proposal.status, now);
  assertApproved(tx, proposal);
  const content = (await findContents(tx, deps.keyring, [proposal])).get(proposal.id);
  const { terms } = await openTerms(tx, deps, quote, now);
  if (content?.digest !== digestTerms(terms)) {
    return makeVoid(tx, deps, proposal, CONTENT_CHANGED, now);
  }
  updateProgress(tx, { ...quote, approval_status: "done", updated_at: now });
  endProposal(tx, proposal, { status: "done", outcome: null, actor: "worker" }, now);
  const offramp_ids = terms.map(({ offramp }) => offramp.id);
  const { account_id } = proposal;
  updateTasksDue(tx, { account_id, kinds: [ASSESS_OFFRAMP_TASK] }, offramp_ids, now);
  return null;
}

function lockQuoteOf(tx: Transaction, proposal: SealedProposal): Promise<Quote | undefined> {
  const { account_id, record_id: id } = proposal;
  return lockQuotes(tx, [{ account_id, id }]).then(([quote]) => quote);
}

/**
 * A payout of the quote changed while the proposal is pending. Until somebody has voted, it shows
 * the new content; after the first vote it is void. Reads the quote without locking it, because its
 * payouts and documents would wait. A change meanwhile has a task of its own, and once the proposal
 * is confirmed its content is compared again under the lock.
 */
async function check(
  tx: Transaction,
  deps: ApprovalTaskDeps,
  proposal: SealedProposal,
  now: Date,
): Promise<Date | null> {
  const { account_id, record_id: id } = proposal;
  const [quote] = await findQuotes(tx, [{ account_id, id }]);
  if (!quote) return null;
  const content = (await findContents(tx, deps.keyring, [proposal])).get(proposal.id);
  if (content && isDescribedLater(quote) && content.digest !== NOT_DESCRIBED) {
    const pause_ms = quote.offramp_count * DESCRIBED_AGAIN_MS_PER_PAYOUT;
    const after_ms = Math.max(DESCRIBED_AGAIN_MIN_MS, pause_ms);
    const again_at = new Date(proposal.updated_at.getTime() + after_ms);
    if (again_at > now) return again_at;
  }
  const { keys, terms } = await openTerms(tx, deps, quote, now);
  const is_over =
    quote.closed_at !== null || terms.every(({ offramp }) => offramp.status === "failed");
  if (!content || is_over) return makeVoid(tx, deps, proposal, QUOTE_ENDED, now);
  if (proposal.votes.length > 0) {
    const is_same = content.digest === digestTerms(terms);
    return is_same ? null : makeVoid(tx, deps, proposal, CONTENT_CHANGED, now);
  }
  const { summary: _, ...described } = await describeTerms(tx, { ...deps, keys }, quote, terms);
  if (described.digest !== content.digest || described.waits_for !== content.waits_for) {
    const key = keys.get(quote.account_id, quote.user_id)!;
    updateContent(tx, { proposal, content: { ...content, ...described }, key }, now);
  }
  return null;
}

async function openTerms(
  tx: Transaction,
  { keyring, catalogue }: ApprovalTaskDeps,
  quote: Quote,
  now: Date,
) {
  const { account_id, user_id } = quote;
  const keys = await keyring.openUserKeys(tx, [{ account_id, user_id }]);
  return { keys, terms: await loadTerms(tx, { catalogue, keyring, keys }, quote, now) };
}

async function makeVoid(
  tx: Transaction,
  deps: ApprovalTaskDeps,
  proposal: SealedProposal,
  outcome: string,
  now: Date,
): Promise<Date | null> {
  const quote = await lockQuoteOf(tx, proposal);
  endProposal(tx, proposal, { status: "void", outcome, actor: "worker" }, now);
  return quote ? refuse(tx, deps, quote, "void", now) : null;
}

async function refuse(
  tx: Transaction,
  deps: ApprovalTaskDeps,
  quote: Quote,
  status: ProposalStatus,
  now: Date,
): Promise<Date | null> {
  const message = REFUSALS[status];
  if (message === undefined) return null;
  const refused: Quote = { ...quote, approval_status: status as Quote["approval_status"] };
  if (quote.approval_status === "pending") updateProgress(tx, { ...refused, updated_at: now });
  if (!quote.funded_at) return (await endQuote(tx, deps, refused, now, message)) ? now : null;
  const { account_id, user_id } = quote;
  const rows = await claimBeforePayout(tx, quote, CHUNK);
  const keys = await deps.keyring.openUserKeys(tx, [{ account_id, user_id }]);
  // No money has left yet, so neither rates nor attempts matter.
  const facts: GiveUpFacts = {
    quotes: AccountMap.of([refused], (one) => one),
    prices: null,
    payouts: new Map(),
    changed: new Set(),
  };
  const given_up = toOfframps(rows, keys).flatMap((entry) => {
    const decided = giveUp(facts, entry, message, now);
    if ("problems" in decided) return [];
    if (decided.value.quote) facts.quotes.set(account_id, quote.id, decided.value.quote);
    return [decided.value];
  });
  recordChanges(
    tx,
    deps.renderer,
    given_up.map(({ change }) => change),
    now,
  );
  recordGiveUps(tx, given_up, now);
  return given_up.length > 0 ? now : null;
}
