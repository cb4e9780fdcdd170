import { type LimitDeps, type Limits, loadLimits, lockLimits } from "../../limits/load-limits.ts";
import type { ChainPort } from "../../partners/chain/port.ts";
import type { AccountMap } from "../../platform/account-map.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Command, UseCase, Verdict } from "../../platform/commands/use-case.ts";
import type { Session } from "../../platform/db/database.ts";
import { notFound, Refusal } from "../../platform/errors.ts";
import { newId } from "../../platform/ids.ts";
import { type Checked, problemsOf } from "../../platform/problems.ts";
import { enqueueTasksAt } from "../../platform/tasks/tasks.ts";
import { deactivationProblems } from "../../users/clearance.ts";
import { findKycs } from "../../users/kyc-store.ts";
import type { Kyc } from "../../users/model.ts";
import { lockUsers, usersOf } from "../../users/store.ts";
import { CLOSE_QUOTE_TASK } from "../task-kinds.ts";
import type { WantedQuote } from "./check-new-quote.ts";
import { type Quote, restUntil } from "./model.ts";
import { countOpenQuotes, insertQuotes } from "./store.ts";

type NewQuote = {
  user_id: string;
  wanted: Checked<WantedQuote>;
  /** The rates and fees of the quote for its whole life; null when there are none. */
  price_version_id: string | null;
};

const RETRY_AFTER_SECONDS = 60;

type CreateQuotesDeps = {
  chain: ChainPort;
  clock: Clock;
  quote_life_ms: number;
  quotes_open_max: number;
  limits: LimitDeps;
};

type Loaded = {
  users: AccountMap<Kyc>;
  /** How many open quotes each user has. */
  open: AccountMap<number>;
  /** A new deposit address for each command that can succeed, by its id. */
  addresses: Map<string, string>;
  limits: Limits;
};

export function createQuotes(
  deps: CreateQuotesDeps,
  render: (quote: Quote) => string,
): UseCase<NewQuote, Loaded, Quote> {
  return {
    name: "create-quotes",
    rows: () => 2,
    load: async (tx, commands) => {
      const keys = usersOf(commands);
      // Locked: of two transactions that count at once, the second sees what the first created.
      const [locked_ids] = await Promise.all([lockLimits(tx, commands), lockUsers(tx, keys)]);
      const [users, open] = await Promise.all([
        findKycs(tx, keys),
        countOpenQuotes(tx, keys, deps.clock.now()),
      ]);
      const limits = await loadLimits(tx, deps.limits, locked_ids);
      return { users, open, limits, addresses: await issueAddresses(tx, deps, users, commands) };
    },
    decide: (loaded, command, now) => decideOne(deps, loaded, command, now),
    record: (tx, _loaded, accepted, now) => {
      const quotes = accepted.map((entry) => entry.output);
      insertQuotes(tx, quotes);
      const closing = quotes.map((quote) => ({ ...quote, due_at: restUntil(quote) }));
      enqueueTasksAt(tx, CLOSE_QUOTE_TASK, closing, now);
    },
    render,
  };
}

async function issueAddresses(
  tx: Session,
  { chain, clock }: CreateQuotesDeps,
  users: AccountMap<Kyc>,
  commands: readonly Command<NewQuote>[],
): Promise<Map<string, string>> {
  const wanted = commands.flatMap(({ id, account_id, input }) =>
    "value" in input.wanted && users.has(account_id, input.user_id)
      ? [{ id, chain: input.wanted.value.deposit_token_chain }]
      : [],
  );
  const chains = wanted.map((one) => one.chain);
  const addresses = await chain.issueAddresses(tx, chains, clock.now());
  return new Map(wanted.map(({ id }, at) => [id, addresses[at]!]));
}

function decideOne(
  { quote_life_ms, quotes_open_max }: CreateQuotesDeps,
  { users, open, limits, addresses }: Loaded,
  { id: command_id, account_id, input }: Command<NewQuote>,
  now: Date,
): Verdict<Quote> {
  const { wanted } = input;
  const kyc = users.get(account_id, input.user_id);
  if (!kyc) {
    return { refusal: Refusal.of([...problemsOf(wanted), notFound("user_id")]) };
  }
  if ("problems" in wanted) return { refusal: Refusal.of(wanted.problems) };
  const problems = [
    ...deactivationProblems(kyc, "user_id"),
    ...limits.openQuoteProblems(account_id, "quote"),
  ];
  if (problems.length > 0) return { refusal: Refusal.of(problems) };
  if (input.price_version_id === null) {
    const message = "Current rates are not available, so no quote can be created; try again later.";
    return { refusal: new Refusal("unavailable", message, RETRY_AFTER_SECONDS) };
  }
  const count = (open.get(account_id, input.user_id) ?? 0) + 1;
  if (quotes_open_max > 0 && count > quotes_open_max) {
    const message =
      `The user has ${quotes_open_max} open quotes; execute one of them, or wait until one has ` +
      "expired.";
    return { refusal: Refusal.of([{ field: "user_id", code: "limit_exceeded", message }]) };
  }
  open.set(account_id, input.user_id, count);
  const id = newId(now);
  const quote: Quote = {
    account_id,
    id,
    user_id: input.user_id,
    ...wanted.value,
    deposit_address: addresses.get(command_id)!,
    price_version_id: input.price_version_id,
    expires_at: new Date(now.getTime() + quote_life_ms),
    token_amount: 0n,
    token_fees: 0n,
    offramp_count: 0,
    executed_at: null,
    tx_id: null,
    tx_network: null,
    tx_named_at: null,
    tx_status: null,
    received: 0n,
    from_balance: 0n,
    shortfall: 0n,
    spent_before: null,
    funded_at: null,
    closed_at: null,
    proposal_id: null,
    approval_status: null,
    created_at: now,
    updated_at: now,
  };
  return { output: quote, subject: null };
}
