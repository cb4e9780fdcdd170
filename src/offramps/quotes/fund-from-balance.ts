import { findReservations, type Reservations } from "../../balances/reservation-store.ts";
import { TOKEN_DIGITS } from "../../catalogue/chains.ts";
import { quoteFunded } from "../../ledger/offramp-postings.ts";
import { postEntries } from "../../ledger/post-entries.ts";
import { type Balances, findBalances } from "../../ledger/store.ts";
import type { Problem } from "../../platform/errors.ts";
import { minOf, minorToText } from "../../platform/money.ts";
import { enqueueTasks } from "../../platform/tasks/tasks.ts";
import { lockUsers, usersOf } from "../../users/store.ts";
import { FUND_OFFRAMPS_TASK, FUND_QUOTE_TASK } from "../task-kinds.ts";
import { owedKey } from "./fund-from-deposits.ts";
import { fundingProblems, type Quote } from "./model.ts";
import {
  type Payable,
  type PayDeps,
  type PaymentRule,
  paymentUseCase,
  type QuotePayment,
} from "./payment-use-case.ts";

type Funds = {
  balances: Balances;
  /** What is reserved for executed quotes. */
  reservations: Reservations;
  /** What earlier commands of this set have taken from each balance. */
  taken: Map<string, bigint>;
};

/**
 * Pays a quote from the user's balance, at the quote's rate. If the balance is too low, it is
 * reserved, and the quote waits for the rest as with a short deposit.
 */
export function fundFromBalance(deps: PayDeps) {
  return paymentUseCase(deps, BALANCE_FUNDING);
}

const BALANCE_FUNDING: PaymentRule<QuotePayment, Funds> = {
  name: "fund-from-balance",
  rows: 5,
  is_from_balance: true,
  // Every operation that lowers `owed` locks the user and reads the balance under that lock.
  lock: (tx, commands) => lockUsers(tx, usersOf(commands)),
  load: async (tx, commands, { quotes }) => {
    const named = commands.flatMap(
      ({ account_id, input }) => quotes.get(account_id, input.quote_id) ?? [],
    );
    const quote_ids = named.map(({ id }) => id);
    const [balances, reservations] = await Promise.all([
      findBalances(tx, named.map(owedKey)),
      findReservations(tx, usersOf(commands), quote_ids),
    ]);
    return { balances, reservations, taken: new Map() };
  },
  isRepeated: () => false,
  problems: (payable, { input }, funds, shared, now) => {
    const state_problems = fundingProblems(payable.quote, now);
    const problems = [...input.problems, ...state_problems, ...shared];
    // Offramps that were given up cost nothing.
    if (payable.content.due === 0n) {
      const message = "Add at least one offramp before funding the quote.";
      problems.push({ field: "quote_id", code: "no_offramps_present", message });
    }
    if (state_problems.length === 0) problems.push(...balanceProblems(payable, funds));
    return problems;
  },
  pay: ({ quote, content }, _input, funds, now) => {
    const part = takePart(funds, quote, content.due);
    const from_balance = quote.from_balance + part.more;
    if (part.is_enough) {
      funds.reservations.set(quote, 0n);
      const name = balanceName(quote);
      funds.taken.set(name, (funds.taken.get(name) ?? 0n) + content.due);
    } else {
      funds.reservations.set(quote, quote.received + from_balance);
    }
    return {
      ...quote,
      executed_at: quote.executed_at ?? now,
      from_balance,
      funded_at: part.is_enough ? now : null,
      updated_at: now,
    };
  },
  record: (tx, paid, now) => {
    const funded = paid.filter(({ quote }) => quote.funded_at !== null);
    postEntries(
      tx,
      funded.map(({ quote, content: { due } }) => {
        return quoteFunded({ ...quote, token_amount: due }, due);
      }),
      now,
    );
    const quotes = paid.map(({ quote }) => quote);
    const in_full = quotes.filter((quote) => quote.funded_at !== null);
    enqueueTasks(tx, FUND_OFFRAMPS_TASK, in_full, now);
    const in_part = quotes.filter((quote) => quote.funded_at === null);
    enqueueTasks(tx, FUND_QUOTE_TASK, in_part, now);
  },
};

function balanceProblems({ quote, content }: Payable, funds: Funds): Problem[] {
  const part = takePart(funds, quote, content.due);
  if (part.more !== 0n || part.is_enough) return [];
  const has = minorToText(part.free, TOKEN_DIGITS);
  const needs = minorToText(content.due, TOKEN_DIGITS);
  const message = `The balance is ${has} ${quote.deposit_token}, but the quote needs ${needs}.`;
  return [{ field: "quote_id", code: "record_invalid", message }];
}

/** What the balance can contribute: what other quotes have not reserved, up to what is missing. */
function takePart(
  { balances, reservations, taken }: Funds,
  quote: Quote,
  due: bigint,
): { free: bigint; more: bigint; is_enough: boolean } {
  const reserved = (taken.get(balanceName(quote)) ?? 0n) + reservations.sumBeside(quote);
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
