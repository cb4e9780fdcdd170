import { lockSums } from "../../approvals/approval-sums.ts";
import type { NewProposal } from "../../approvals/store.ts";
import { sumReserved } from "../../balances/refund-balances.ts";
import { listReservations, type Reservation } from "../../balances/reservation-store.ts";
import { TOKEN_DIGITS } from "../../catalogue/chains.ts";
import { postEntries } from "../../ledger/post.ts";
import { quoteFunded } from "../../ledger/postings.ts";
import { type Balances, findBalances } from "../../ledger/store.ts";
import type { Command, UseCase, Verdict } from "../../platform/commands/use-case.ts";
import { notFound, type Problem, Refusal } from "../../platform/errors.ts";
import { minOf, minorToText } from "../../platform/money.ts";
import { enqueueTasks, taskNow } from "../../platform/tasks/tasks.ts";
import { lockUsers } from "../../users/store.ts";
import { executionProblems, type GatePolicy } from "../gates.ts";
import { FUND_OFFRAMPS_TASK, FUND_QUOTE_TASK } from "../task-kinds.ts";
import {
  decideApproval,
  loadApprovals,
  type QuoteApprovals,
  recordApprovals,
} from "./approve-quotes.ts";
import type { PayDeps } from "./execute-quotes.ts";
import { owedKey } from "./fund-quote.ts";
import {
  loadQuoteLimits,
  type QuoteLimits,
  quoteLimitProblems,
  takeQuote,
} from "./limit-quotes.ts";
import { type LoadedQuotes, loadQuotes, type QuoteContent } from "./load-quotes.ts";
import { fundingProblems, type Quote } from "./model.ts";
import { updateProgress } from "./store.ts";

type BalanceFunding = { user_id: string; quote_id: string; problems: readonly Problem[] };

type Loaded = LoadedQuotes & {
  approvals: QuoteApprovals;
  limited: QuoteLimits;
  balances: Balances;
  /** What is reserved for executed quotes, by quote. */
  reservations: Map<string, Reservation>;
  /** What earlier commands of this set have taken from each balance. */
  taken: Map<string, bigint>;
};
type Funded = { quote: Quote; content: QuoteContent; proposal: NewProposal | null };

/**
 * Pays a quote from the user's balance, at the quote's rate. If the balance is too low, it is
 * reserved, and the quote waits for the rest as with a short deposit.
 */
export function fundFromBalance({
  keyring,
  policy,
  renderer,
  approvals,
  limits,
}: PayDeps): UseCase<BalanceFunding, Loaded, Funded> {
  return {
    name: "fund-from-balance",
    rows: () => 5,
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
      const quotes = accepted.map(({ output }) => output.quote);
      for (const quote of quotes) updateProgress(tx, quote);
      const funded = accepted.filter(({ output }) => output.quote.funded_at !== null);
      postEntries(
        tx,
        funded.map(({ output: { quote, content } }) =>
          quoteFunded({ ...quote, token_amount: content.due }, content.due),
        ),
        now,
      );
      enqueueTasks(
        tx,
        quotes.map(({ account_id, id, funded_at }) =>
          taskNow(funded_at ? FUND_OFFRAMPS_TASK : FUND_QUOTE_TASK, { account_id, id }, now),
        ),
      );
    },
    render: ({ quote, content }) => renderer.quote(quote, content.offramps, content.rates),
  };
}

async function load(
  { keyring, approvals: rules, limits }: Pick<PayDeps, "keyring" | "approvals" | "limits">,
  tx: Parameters<UseCase<BalanceFunding, Loaded, Funded>["load"]>[0],
  commands: readonly Command<BalanceFunding>[],
): Promise<Loaded> {
  const users = commands.map(({ account_id, input }) => ({ account_id, user_id: input.user_id }));
  // Every operation that lowers `owed` locks the account, where amounts count, then the user, and
  // reads the balance under that lock.
  const account_ids = commands.map(({ account_id }) => account_id);
  const [controls] = await Promise.all([lockSums(tx, rules, account_ids), lockUsers(tx, users)]);
  const loaded = await loadQuotes(tx, keyring, commands);
  const quotes = commands.flatMap(
    ({ account_id, input }) => loaded.quotes.get(account_id, input.quote_id) ?? [],
  );
  const [balances, waiting] = await Promise.all([
    findBalances(tx, quotes.map(owedKey)),
    listReservations(tx, users),
  ]);
  const reservations = new Map(waiting.map((entry) => [entry.id, entry]));
  const approvals = await loadApprovals(tx, rules, controls, loaded, commands, true);
  const limited = await loadQuoteLimits(tx, limits, controls, loaded, commands);
  return { ...loaded, approvals, limited, balances, reservations, taken: new Map() };
}

function decideOne(
  policy: GatePolicy,
  loaded: Loaded,
  command: Command<BalanceFunding>,
  now: Date,
): Verdict<Funded> {
  const { account_id, input } = command;
  const quote = loaded.quotes.get(account_id, input.quote_id);
  const kyc = loaded.kycs.get(account_id, input.user_id);
  const key = loaded.keys.get(account_id, input.user_id);
  if (!kyc || !key || quote?.user_id !== input.user_id) {
    return { refusal: Refusal.of([...input.problems, notFound("quote_id")]) };
  }
  const content = loaded.contents.get(quote.id)!;
  const state_problems = fundingProblems(quote, now);
  const problems = [
    ...input.problems,
    ...state_problems,
    ...executionProblems(policy, kyc, content.payments),
    ...content.invoice_problems,
    ...quoteLimitProblems(loaded.limited, quote),
  ];
  // Offramps that were given up cost nothing.
  if (content.due === 0n) {
    const message = "Add at least one offramp before funding the quote.";
    problems.push({ field: "quote_id", code: "no_offramps_present", message });
  }
  const part = takePart(loaded, quote, content.due);
  if (state_problems.length === 0 && part.more === 0n && !part.is_enough) {
    const has = minorToText(part.free, TOKEN_DIGITS);
    const needs = minorToText(content.due, TOKEN_DIGITS);
    const message = `The balance is ${has} ${quote.deposit_token}, but the quote needs ${needs}.`;
    problems.push({ field: "quote_id", code: "record_invalid", message });
  }
  if (problems.length > 0) return { refusal: Refusal.of(problems) };
  const paid: Quote = {
    ...quote,
    executed_at: quote.executed_at ?? now,
    from_balance: quote.from_balance + part.more,
    funded_at: part.is_enough ? now : null,
    updated_at: now,
  };
  takeQuote(loaded.limited, quote);
  const { quote: funded, proposal } = decideApproval(loaded.approvals, command, paid, key, now);
  // Later commands of the same set must see what this one took.
  loaded.quotes.set(account_id, quote.id, funded);
  if (part.is_enough) {
    loaded.reservations.delete(quote.id);
    const name = balanceName(quote);
    loaded.taken.set(name, (loaded.taken.get(name) ?? 0n) + content.due);
  } else {
    const reserved = quote.received + funded.from_balance;
    loaded.reservations.set(quote.id, { ...quote, reserved });
  }
  return {
    output: { quote: funded, content, proposal },
    subject: { subject_id: quote.user_id, key },
  };
}

/** What the balance can contribute: what other quotes have not reserved, up to what is missing. */
function takePart(
  { balances, reservations, taken }: Loaded,
  quote: Quote,
  due: bigint,
): { free: bigint; more: bigint; is_enough: boolean } {
  const { account_id, user_id, deposit_token: token, deposit_token_chain: chain } = quote;
  const others = [...reservations.values()].filter(({ id }) => id !== quote.id);
  const reserved =
    (taken.get(balanceName(quote)) ?? 0n) +
    sumReserved(others, { account_id, user_id, token, chain });
  const left = balances.get(owedKey(quote)) - reserved;
  const free = left > 0n ? left : 0n;
  const usable = minOf(free, due);
  const counted = quote.received + quote.from_balance;
  return { free, more: usable > counted ? usable - counted : 0n, is_enough: usable === due };
}

function balanceName(quote: Quote): string {
  const { account_id, ledger_account, currency } = owedKey(quote);
  return `${account_id} ${ledger_account} ${currency}`;
}
