import { endProposal } from "../../approvals/end-proposal.ts";
import {
  CONTENT_CHANGED,
  isApproved,
  type ProposalStatus,
  runProposalKind,
} from "../../approvals/model.ts";
import {
  findContents,
  lockProposal,
  proposalAccount,
  type SealedProposal,
} from "../../approvals/store.ts";
import { AccountMap } from "../../platform/account-map.ts";
import type { Database, Transaction } from "../../platform/db/database.ts";
import type { Keyring } from "../../platform/encryption/keyring.ts";
import type { TaskHandler } from "../../platform/tasks/run-set.ts";
import { updateTasksDue } from "../../platform/tasks/tasks.ts";
import { CHUNK } from "../fund-offramps.ts";
import { type GiveUpFacts, giveUp, recordGiveUps } from "../give-up.ts";
import { recordChanges } from "../record-changes.ts";
import type { OfframpRenderer } from "../render.ts";
import { claimBeforePayout, listQuoteTerms, toOfframps } from "../store.ts";
import { ASSESS_OFFRAMP_TASK } from "../task-kinds.ts";
import { PAY_QUOTE } from "./approve-quotes.ts";
import { endQuote } from "./close-quote.ts";
import { digestTerms } from "./describe-quote.ts";
import type { Quote } from "./model.ts";
import { lockQuotes, updateProgress } from "./store.ts";

type ApprovalTaskDeps = { database: Database; keyring: Keyring; renderer: OfframpRenderer };

const REFUSALS: Readonly<Partial<Record<ProposalStatus, string>>> = {
  rejected: "A member rejected the payment.",
  lapsed: "The payment was not approved in time.",
  void: "The payment changed while it waited for approval.",
};

/**
 * Follows the end of a proposal to pay a quote: once it is confirmed, the offramps go on; otherwise
 * they fail, in chunks, and what was paid for them stays owed to the user.
 */
export function payQuoteTask(deps: ApprovalTaskDeps): TaskHandler {
  return {
    kind: runProposalKind(PAY_QUOTE),
    set_max: 20,
    handle: async (set) => {
      for (const task of set.tasks) {
        await deps.database.transaction(async (tx) => {
          const tasks = await set.lock(tx, [task]);
          if (tasks.length === 0) return;
          const { account_id, record_id } = task;
          const proposal = await lockProposal(tx, account_id, record_id);
          const has_more = proposal ? await follow(tx, deps, proposal, set.now) : false;
          if (has_more) set.postpone(tx, tasks, set.now);
          else set.finish(tx, tasks);
        });
      }
    },
  };
}

/** Returns whether more offramps are left to fail. */
async function follow(
  tx: Transaction,
  deps: ApprovalTaskDeps,
  proposal: SealedProposal,
  now: Date,
): Promise<boolean> {
  const { account_id, record_id } = proposal;
  const [quote] = await lockQuotes(tx, [{ account_id, id: record_id }]);
  if (!quote) return false;
  if (proposal.status !== "confirmed") return refuse(tx, deps, quote, proposal.status, now);
  if (!isApproved(proposal, proposalAccount(proposal), proposal.votes)) {
    throw new Error("a confirmed proposal lacks the votes; nothing is done, see sliproad verify");
  }
  const content = (await findContents(tx, deps.keyring, [proposal])).get(proposal.id);
  const terms = await listQuoteTerms(tx, account_id, quote.id);
  if (content?.digest !== digestTerms(terms)) {
    const end = { status: "void", outcome: CONTENT_CHANGED, actor: "worker" } as const;
    endProposal(tx, proposal, end, now);
    return refuse(tx, deps, quote, "void", now);
  }
  updateProgress(tx, { ...quote, approval_status: "done", updated_at: now });
  endProposal(tx, proposal, { status: "done", outcome: null, actor: "worker" }, now);
  const offramp_ids = terms.map(({ id }) => id);
  updateTasksDue(tx, { account_id, kinds: [ASSESS_OFFRAMP_TASK] }, offramp_ids, now);
  return false;
}

async function refuse(
  tx: Transaction,
  deps: ApprovalTaskDeps,
  quote: Quote,
  status: ProposalStatus,
  now: Date,
): Promise<boolean> {
  const message = REFUSALS[status];
  if (message === undefined) return false;
  const refused: Quote = { ...quote, approval_status: status as Quote["approval_status"] };
  if (quote.approval_status === "pending") updateProgress(tx, { ...refused, updated_at: now });
  if (!quote.funded_at) return (await endQuote(tx, deps, refused, now, message)) !== null;
  const { account_id, user_id } = quote;
  const rows = await claimBeforePayout(tx, quote, CHUNK);
  const keys = await deps.keyring.openUserKeys(tx, [{ account_id, user_id }]);
  // No money has left yet, so neither rates nor attempts matter.
  const facts: GiveUpFacts = {
    quotes: AccountMap.of([refused], (one) => one),
    prices: null,
    payouts: new Map(),
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
  return given_up.length > 0;
}
