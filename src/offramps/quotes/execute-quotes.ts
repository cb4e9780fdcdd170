import { lockSums } from "../../approvals/approval-sums.ts";
import type { NewProposal } from "../../approvals/store.ts";
import type { ApprovalRules } from "../../approvals/with-approval.ts";
import type { LimitDeps } from "../../limits/load-limits.ts";
import type { TransferStatus } from "../../partners/chain/port.ts";
import type { Command, UseCase, Verdict } from "../../platform/commands/use-case.ts";
import type { Keyring } from "../../platform/encryption/keyring.ts";
import { notFound, type Problem, Refusal } from "../../platform/errors.ts";
import { enqueueTasks, taskNow } from "../../platform/tasks/tasks.ts";
import { executionProblems, type GatePolicy } from "../gates.ts";
import type { OfframpRenderer } from "../render.ts";
import { ANNOUNCE_TRANSFER_TASK, FUND_QUOTE_TASK } from "../task-kinds.ts";
import {
  decideApproval,
  loadApprovals,
  type QuoteApprovals,
  recordApprovals,
} from "./approve-quotes.ts";
import {
  loadQuoteLimits,
  type QuoteLimits,
  quoteLimitProblems,
  takeQuote,
} from "./limit-quotes.ts";
import { type LoadedQuotes, loadQuotes, type QuoteContent } from "./load-quotes.ts";
import { type Quote, TRANSFER_NOT_FOUND_MS } from "./model.ts";
import { listQuotesByTransfer, updateProgress } from "./store.ts";

type Execution = {
  user_id: string;
  quote_id: string;
  tx_id: string;
  blockchain: string;
  network: string;
  /** The chain's status of the transfer named before, if it was another one. */
  earlier: { tx_id: string; status: TransferStatus } | null;
  problems: readonly Problem[];
};

type Loaded = LoadedQuotes & {
  approvals: QuoteApprovals;
  limited: QuoteLimits;
  /** Quotes that already name the transfer, or were paid by it, by command id. */
  same_transfer: Map<string, { id: string; is_paid: boolean }[]>;
};
type Executed = {
  quote: Quote;
  content: QuoteContent;
  proposal: NewProposal | null;
  is_new: boolean;
};

export type PayDeps = {
  keyring: Keyring;
  policy: GatePolicy;
  renderer: OfframpRenderer;
  approvals: ApprovalRules;
  limits: LimitDeps;
};

/** Names the transfer that pays a quote. From then on no offramp can be added. */
export function executeQuotes({
  keyring,
  policy,
  renderer,
  approvals,
  limits,
}: PayDeps): UseCase<Execution, Loaded, Executed> {
  return {
    name: "execute-quotes",
    rows: () => 3,
    load: (tx, commands) => load({ keyring, approvals, limits }, tx, commands),
    decide: (loaded, commands, now) =>
      new Map(commands.map((command) => [command.id, decideOne(policy, loaded, command, now)])),
    record: (tx, loaded, accepted, now) => {
      recordApprovals(
        tx,
        loaded.approvals,
        accepted.map(({ output }) => output),
        now,
      );
      const executed = accepted.filter(({ output }) => output.is_new).map(({ output }) => output);
      for (const { quote } of executed) updateProgress(tx, quote);
      const kinds = [ANNOUNCE_TRANSFER_TASK, FUND_QUOTE_TASK];
      enqueueTasks(
        tx,
        executed.flatMap(({ quote }) =>
          kinds.map((kind) => taskNow(kind, { account_id: quote.account_id, id: quote.id }, now)),
        ),
      );
    },
    render: ({ quote, content }) => renderer.quote(quote, content.offramps, content.rates),
  };
}

async function load(
  { keyring, approvals: rules, limits }: Pick<PayDeps, "keyring" | "approvals" | "limits">,
  tx: Parameters<UseCase<Execution, Loaded, Executed>["load"]>[0],
  commands: readonly Command<Execution>[],
): Promise<Loaded> {
  const account_ids = commands.map(({ account_id }) => account_id);
  const [controls, loaded, named] = await Promise.all([
    lockSums(tx, rules, account_ids),
    loadQuotes(tx, keyring, commands),
    Promise.all(
      commands.map(({ account_id, input }) =>
        // Without an id nothing was checked, so `blockchain` may not be a valid chain either.
        input.tx_id === ""
          ? []
          : listQuotesByTransfer(tx, account_id, input.blockchain, input.tx_id),
      ),
    ),
  ]);
  const same_transfer = new Map(commands.map((command, at) => [command.id, named[at]!]));
  const approvals = await loadApprovals(tx, rules, controls, loaded, commands, false);
  const limited = await loadQuoteLimits(tx, limits, controls, loaded, commands);
  return { ...loaded, same_transfer, approvals, limited };
}

function decideOne(
  policy: GatePolicy,
  loaded: Loaded,
  command: Command<Execution>,
  now: Date,
): Verdict<Executed> {
  const { account_id, input } = command;
  const quote = loaded.quotes.get(account_id, input.quote_id);
  const kyc = loaded.kycs.get(account_id, input.user_id);
  const key = loaded.keys.get(account_id, input.user_id);
  if (!kyc || !key || quote?.user_id !== input.user_id) {
    return { refusal: Refusal.of([...input.problems, notFound("quote_id")]) };
  }
  const content = loaded.contents.get(quote.id)!;
  const subject = { subject_id: quote.user_id, key };
  const is_repeated = quote.tx_id === input.tx_id && input.problems.length === 0;
  if (is_repeated && quote.deposit_token_chain === input.blockchain) {
    return { output: { quote, content, proposal: null, is_new: false }, subject };
  }
  const problems = [
    ...input.problems,
    ...chainProblems(quote, input),
    ...stateProblems(quote, input, now),
    ...executionProblems(policy, kyc, content.payments),
    ...content.invoice_problems,
    ...quoteLimitProblems(loaded.limited, quote),
    ...(isTaken(quote, loaded.same_transfer.get(command.id)!) ? [transferTaken()] : []),
  ];
  if (problems.length > 0) return { refusal: Refusal.of(problems) };
  const named: Quote = {
    ...quote,
    executed_at: quote.executed_at ?? now,
    tx_id: input.tx_id,
    tx_network: input.network,
    tx_named_at: now,
    updated_at: now,
  };
  takeQuote(loaded.limited, quote);
  const executed = decideApproval(loaded.approvals, command, named, key, now);
  loaded.quotes.set(account_id, quote.id, executed.quote);
  return { output: { ...executed, content, is_new: true }, subject };
}

function chainProblems(quote: Quote, input: Execution): Problem[] {
  if (input.blockchain === quote.deposit_token_chain || input.blockchain === "") return [];
  const field = "quote.crypto_transfer.blockchain";
  const message = `Send ${quote.deposit_token_chain}, the chain of the quote.`;
  return [{ field, code: "record_invalid", message }];
}

function stateProblems(quote: Quote, input: Execution, now: Date): Problem[] {
  const refuse = (code: Problem["code"], message: string) => [{ field: "quote_id", code, message }];
  // A quote partly funded from the balance names its transfer later, or never.
  const is_named = quote.tx_id !== null || quote.funded_at !== null;
  if (quote.executed_at && is_named && !mayRename(quote, input, now)) {
    return refuse(
      "quote_already_executed",
      "The quote was already executed with another transfer; create a new quote.",
    );
  }
  if (quote.closed_at || (quote.tx_id === null && now >= quote.expires_at)) {
    return refuse("quote_expired", "The quote has expired; create a new one.");
  }
  if (quote.offramp_count === 0) {
    return refuse("no_offramps_present", "Add at least one offramp before executing the quote.");
  }
  return [];
}

/** Another transfer may be named once the first failed, or was not found for ten minutes. */
function mayRename(quote: Quote, { earlier }: Execution, now: Date): boolean {
  if (quote.funded_at || !earlier || earlier.tx_id !== quote.tx_id) return false;
  const waited_ms = now.getTime() - (quote.tx_named_at ?? now).getTime();
  if (earlier.status === "failed") return true;
  return earlier.status === "unknown" && waited_ms >= TRANSFER_NOT_FOUND_MS;
}

/** Named for another quote, or received at another quote's address and not at this one's. */
function isTaken(quote: Quote, same: readonly { id: string; is_paid: boolean }[]): boolean {
  const is_own = same.some(({ id, is_paid }) => id === quote.id && is_paid);
  return same.some(({ id, is_paid }) => id !== quote.id && !(is_paid && is_own));
}

function transferTaken(): Problem {
  const message =
    "This transfer already pays for another quote; send the transfer that pays for this quote.";
  return { field: "quote.crypto_transfer.tx_id", code: "record_not_unique", message };
}
