import type { ChainPort } from "../../partners/chain/port.ts";
import type { AccountMap } from "../../platform/account-map.ts";
import type { Command, UseCase, Verdict } from "../../platform/commands/use-case.ts";
import { notFound, Refusal } from "../../platform/errors.ts";
import { newId } from "../../platform/ids.ts";
import { type Checked, problemsOf } from "../../platform/problems.ts";
import { enqueueTasks } from "../../platform/tasks/tasks.ts";
import type { Kyc } from "../../users/model.ts";
import { findKycs } from "../../users/store.ts";
import { CLOSE_QUOTE_TASK } from "../task-kinds.ts";
import type { WantedQuote } from "./check-new-quote.ts";
import { EXECUTION_GRACE_MS, type Quote } from "./model.ts";
import { insertQuotes } from "./store.ts";

type NewQuote = {
  user_id: string;
  wanted: Checked<WantedQuote>;
  /** The rates and fees of the quote for its whole life; null when there are none. */
  price_version_id: string | null;
};

const RETRY_AFTER_SECONDS = 60;

export function createQuotes(
  chain: ChainPort,
  life_ms: number,
  render: (quote: Quote) => string,
): UseCase<NewQuote, AccountMap<Kyc>, Quote> {
  return {
    name: "create-quotes",
    rows: () => 2,
    load: (tx, commands) =>
      findKycs(
        tx,
        commands.map(({ account_id, input }) => ({ account_id, user_id: input.user_id })),
      ),
    decide: (users, commands, now) =>
      new Map(
        commands.map((command) => [command.id, decideOne(chain, life_ms, users, command, now)]),
      ),
    record: (tx, _users, accepted, now) => {
      const quotes = accepted.map((entry) => entry.output);
      insertQuotes(tx, quotes);
      enqueueTasks(
        tx,
        quotes.map((quote) => ({
          account_id: quote.account_id,
          id: newId(now),
          kind: CLOSE_QUOTE_TASK,
          record_id: quote.id,
          due_at: new Date(quote.expires_at.getTime() + EXECUTION_GRACE_MS),
          created_at: now,
        })),
      );
    },
    render,
  };
}

function decideOne(
  chain: ChainPort,
  life_ms: number,
  users: AccountMap<Kyc>,
  { account_id, input }: Command<NewQuote>,
  now: Date,
): Verdict<Quote> {
  const { wanted } = input;
  if (!users.has(account_id, input.user_id)) {
    return { refusal: Refusal.of([...problemsOf(wanted), notFound("user_id")]) };
  }
  if ("problems" in wanted) return { refusal: Refusal.of(wanted.problems) };
  if (input.price_version_id === null) {
    const message = "Current rates are not available, so no quote can be created; try again later.";
    return { refusal: new Refusal("unavailable", message, RETRY_AFTER_SECONDS) };
  }
  const id = newId(now);
  const quote: Quote = {
    account_id,
    id,
    user_id: input.user_id,
    ...wanted.value,
    deposit_address: chain.addressFor(wanted.value.deposit_token_chain, id),
    price_version_id: input.price_version_id,
    expires_at: new Date(now.getTime() + life_ms),
    token_amount: 0n,
    token_fees: 0n,
    offramp_count: 0,
    executed_at: null,
    tx_id: null,
    tx_network: null,
    tx_named_at: null,
    received: 0n,
    from_balance: 0n,
    funded_at: null,
    hold: null,
    closed_at: null,
    proposal_id: null,
    approval_status: null,
    created_at: now,
    updated_at: now,
  };
  return { output: quote, subject: null };
}
