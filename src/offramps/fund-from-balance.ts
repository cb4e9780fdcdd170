import { TOKEN_DIGITS } from "../catalogue/chains.ts";
import { findPayables } from "../invoices/payments.ts";
import { owedTo } from "../ledger/model.ts";
import { postEntries } from "../ledger/post.ts";
import { quoteFunded } from "../ledger/postings.ts";
import { type Balances, findBalances } from "../ledger/store.ts";
import { AccountMap } from "../platform/account-map.ts";
import type { Command, UseCase, Verdict } from "../platform/commands/use-case.ts";
import type { Keyring, SubjectKeys } from "../platform/encryption/keyring.ts";
import { notFound, type Problem, Refusal } from "../platform/errors.ts";
import { minorToText } from "../platform/money.ts";
import { enqueueTasks, taskNow } from "../platform/tasks/tasks.ts";
import { additionProblems, type Quote } from "../quotes/model.ts";
import { lockQuotes, updateProgress } from "../quotes/store.ts";
import type { Kyc } from "../users/model.ts";
import { findKycs, lockUsers } from "../users/store.ts";
import { OFFRAMPS_EMBEDDED_MAX, type QuoteContent, toRates } from "./execute-quotes.ts";
import { executionProblems, type GatePolicy } from "./gates.ts";
import { endedInvoiceProblems, invoiceKeys } from "./invoice-problems.ts";
import type { OfframpRenderer } from "./render.ts";
import {
  listInvoicePayments,
  listQuoteOfframps,
  listQuotePayments,
  listQuoteRates,
  toOfframps,
} from "./store.ts";
import { FUND_OFFRAMPS_TASK } from "./task-kinds.ts";

export type BalanceFunding = { user_id: string; quote_id: string; problems: readonly Problem[] };

type Loaded = {
  quotes: AccountMap<Quote>;
  kycs: AccountMap<Kyc>;
  keys: SubjectKeys;
  balances: Balances;
  contents: Map<string, QuoteContent>;
  /** What commands of this set have taken from a balance already. */
  taken: Map<string, bigint>;
};
type Funded = { quote: Quote; content: QuoteContent };

/** Pays a quote, at its own rate, with what is owed to the user. */
export function fundFromBalance(
  keyring: Keyring,
  policy: GatePolicy,
  renderer: OfframpRenderer,
): UseCase<BalanceFunding, Loaded, Funded> {
  return {
    name: "fund-from-balance",
    rows: () => 4,
    load: (tx, commands) => load(keyring, tx, commands),
    decide: (loaded, commands, now) =>
      new Map(commands.map((command) => [command.id, decideOne(policy, loaded, command, now)])),
    record: (tx, _loaded, accepted, now) => {
      const quotes = accepted.map(({ output }) => output.quote);
      for (const quote of quotes) updateProgress(tx, quote);
      postEntries(
        tx,
        quotes.map((quote) => quoteFunded(quote, quote.token_amount)),
        now,
      );
      enqueueTasks(
        tx,
        quotes.map((quote) =>
          taskNow(FUND_OFFRAMPS_TASK, { account_id: quote.account_id, id: quote.id }, now),
        ),
      );
    },
    render: ({ quote, content }) => renderer.quote(quote, content.offramps, content.rates),
  };
}

async function load(
  keyring: Keyring,
  tx: Parameters<UseCase<BalanceFunding, Loaded, Funded>["load"]>[0],
  commands: readonly Command<BalanceFunding>[],
): Promise<Loaded> {
  const users = commands.map(({ account_id, input }) => ({ account_id, user_id: input.user_id }));
  const subjects = users.map(({ account_id, user_id }) => ({ account_id, subject_id: user_id }));
  const quote_keys = commands.map(({ account_id, input }) => ({ account_id, id: input.quote_id }));
  // What lowers `owed` locks the user first and reads the balance under that lock.
  await lockUsers(tx, users);
  const [locked, kycs, keys] = await Promise.all([
    lockQuotes(tx, quote_keys),
    findKycs(tx, users),
    keyring.openSubjects(tx, subjects),
  ]);
  const balances = await findBalances(tx, locked.map(owedKey));
  const contents = await Promise.all(
    locked.map(async ({ account_id, id }) => {
      const [payments, for_invoices, rows, rates] = await Promise.all([
        listQuotePayments(tx, account_id, id),
        listInvoicePayments(tx, account_id, id),
        listQuoteOfframps(tx, account_id, id, OFFRAMPS_EMBEDDED_MAX),
        listQuoteRates(tx, account_id, [id]),
      ]);
      const offramps = toOfframps(rows, keys).map(({ offramp }) => offramp);
      const invoices = await findPayables(tx, invoiceKeys(for_invoices));
      const invoice_problems = endedInvoiceProblems(invoices, for_invoices);
      return [id, { payments, offramps, rates: toRates(rates), invoice_problems }] as const;
    }),
  );
  const quotes = AccountMap.of(locked, (quote) => quote);
  return { quotes, kycs, keys, balances, contents: new Map(contents), taken: new Map() };
}

function decideOne(
  policy: GatePolicy,
  loaded: Loaded,
  { account_id, input }: Command<BalanceFunding>,
  now: Date,
): Verdict<Funded> {
  const quote = loaded.quotes.get(account_id, input.quote_id);
  const kyc = loaded.kycs.get(account_id, input.user_id);
  const key = loaded.keys.get(account_id, input.user_id);
  if (!kyc || !key || quote?.user_id !== input.user_id) {
    return { refusal: Refusal.of([...input.problems, notFound("quote_id")]) };
  }
  const content = loaded.contents.get(quote.id)!;
  const state_problems = additionProblems(quote, now);
  const problems = [
    ...input.problems,
    ...state_problems,
    ...executionProblems(policy, kyc, content.payments),
    ...content.invoice_problems,
  ];
  if (quote.offramp_count === 0) {
    const message = "Add at least one offramp before funding the quote.";
    problems.push({ field: "quote_id", code: "no_offramps_present", message });
  }
  const balance_name = `${account_id} ${quote.user_id} ${quote.deposit_token}`;
  const taken = loaded.taken.get(balance_name) ?? 0n;
  const available = loaded.balances.get(owedKey(quote)) - taken;
  if (state_problems.length === 0 && available < quote.token_amount) {
    const has = minorToText(available, TOKEN_DIGITS);
    const needs = minorToText(quote.token_amount, TOKEN_DIGITS);
    const message = `The balance is ${has} ${quote.deposit_token}, but the quote needs ${needs}.`;
    problems.push({ field: "quote_id", code: "record_invalid", message });
  }
  if (problems.length > 0) return { refusal: Refusal.of(problems) };
  loaded.taken.set(balance_name, taken + quote.token_amount);
  const funded: Quote = { ...quote, executed_at: now, funded_at: now, updated_at: now };
  loaded.quotes.set(account_id, quote.id, funded);
  return { output: { quote: funded, content }, subject: { subject_id: quote.user_id, key } };
}

function owedKey({ account_id, user_id, deposit_token }: Quote) {
  return { account_id, ledger_account: owedTo(user_id), currency: deposit_token };
}
