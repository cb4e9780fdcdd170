import { owedTo } from "../ledger/model.ts";
import { payoutInstructed } from "../ledger/offramp-postings.ts";
import { postEntries } from "../ledger/post-entries.ts";
import { findBalances } from "../ledger/store.ts";
import type { ApprovedChangeDeps } from "../offramps/approved-changes.ts";
import { assertOfframps } from "../offramps/assert-offramps.ts";
import { fundOfframps } from "../offramps/fund-offramps.ts";
import {
  type GiveUpFacts,
  giveUp,
  lockForGiveUp,
  recordGiveUps,
  withPayouts,
} from "../offramps/give-up.ts";
import { OFFRAMP_MOVES, type Offramp, type OfframpStatus } from "../offramps/model.ts";
import { applyAnswers, type BankDeps } from "../offramps/payouts/apply-bank-answers.ts";
import { instruction } from "../offramps/payouts/assess-offramps.ts";
import { endToEndId, newPayout } from "../offramps/payouts/model.ts";
import { insertPayouts, lockCurrentPayouts, updatePayouts } from "../offramps/payouts/store.ts";
import { endQuote } from "../offramps/quotes/close-quote.ts";
import {
  type FundingRules,
  fundFromDeposits,
  withoutAbandoned,
} from "../offramps/quotes/fund-from-deposits.ts";
import type { PayDeps } from "../offramps/quotes/payment-use-case.ts";
import { recordDeposits } from "../offramps/quotes/record-deposits.ts";
import { findQuotes, lockQuotes } from "../offramps/quotes/store.ts";
import { advanceOfframp, recordChanges } from "../offramps/record-changes.ts";
import { type KeyedOfframp, lockOfframps, openOfframps } from "../offramps/store.ts";
import type { BankAnswer } from "../partners/bank/port.ts";
import { sandboxBankAccount } from "../partners/bank/sandbox.ts";
import type { ChainPort } from "../partners/chain/port.ts";
import { sandboxSender } from "../partners/chain/sandbox.ts";
import { insertSandboxTransfer } from "../partners/chain/sandbox-store.ts";
import { sandboxTxId } from "../partners/chain/tx-id.ts";
import type { Clock } from "../platform/clock.ts";
import type { Transaction } from "../platform/db/database.ts";
import { Refusal } from "../platform/errors.ts";
import { minOf } from "../platform/money.ts";
import { lockKycs } from "../users/kyc-store.ts";
import { findPath } from "./find-path.ts";
import {
  type ForcedBy,
  forceExecution,
  forceReroute,
  needsApproval,
  refuseWhileStopped,
  requirePermission,
} from "./force-controls.ts";
import { whyNotSimulated } from "./real-chains.ts";

export type ForceDeps = BankDeps &
  FundingRules &
  PayDeps &
  ApprovedChangeDeps & { chain: ChainPort; clock: Clock };

type Key = { account_id: string; id: string };

const STEPS_MAX = 10;
const FIELD = "offramp.status";
const MESSAGE = "Set by the sandbox.";

/**
 * Moves an offramp to a state by the legal path, each step with its money and its event. Undefined
 * when there is no such offramp, null when there is no path. Throws where a hold, a limit or a
 * missing approval stops it; the steps before remain.
 */
export async function forceOfframpStatus(
  deps: ForceDeps,
  key: Key,
  to: OfframpStatus | null,
  by: ForcedBy,
): Promise<Offramp | null | undefined> {
  // The worker may move it concurrently, so the path is computed again after each step.
  for (let step = 0; step < STEPS_MAX; step += 1) {
    const entry = await read(deps, key);
    if (!entry) return undefined;
    const path = to === null ? [] : findPath(OFFRAMP_MOVES, entry.offramp.status, to);
    // After a step of ours the worker may have moved it on, beyond the wanted state.
    const is_beyond = step > 0 && to !== null && findPath(OFFRAMP_MOVES, to, entry.offramp.status);
    if (!path) return is_beyond ? entry.offramp : null;
    const [next] = path;
    if (!next) return entry.offramp;
    await takeStep(deps, entry.offramp, next, by);
  }
  return null;
}

function read({ database, keyring }: ForceDeps, key: Key): Promise<KeyedOfframp | undefined> {
  return database.transaction((tx) => lockAsserted(tx, keyring, key));
}

/** What bank and chain are made to say follows from the offramp: fails if it was altered. */
async function lockAsserted(
  tx: Transaction,
  keyring: ForceDeps["keyring"],
  key: Key,
): Promise<KeyedOfframp | undefined> {
  const entries = await openOfframps(tx, keyring, await lockOfframps(tx, [key]));
  await assertOfframps(tx, entries);
  return entries[0];
}

async function takeStep(
  deps: ForceDeps,
  seen: Offramp,
  to: OfframpStatus,
  by: ForcedBy,
): Promise<void> {
  const { database, clock } = deps;
  // Without reserved money it cannot be sent to the bank: its quote is paid first.
  const needs_money = to === "pending_internal_assessment" || to === "sending_fiat";
  if (needs_money && seen.funded_at === null) return payQuote(deps, seen, by);
  if (seen.status === "initiated" && to === "failed") return abandonQuote(deps, seen);
  const answer = bankAnswer(seen, to);
  if (answer) {
    await database.transaction((tx) => markSent(tx, seen, clock.now()));
    return database.transaction((tx) => applyAnswers(tx, deps, [answer], clock.now()));
  }
  if (seen.status === "bounced" && to === "sending_fiat") {
    await database.transaction((tx) => forceReroute(tx, deps, seen, by, clock.now()));
    // It stays there until it is moved on.
    return database.transaction((tx) => markSent(tx, seen, clock.now()));
  }
  if (seen.status === "bounced" && to === "failed") requirePermission(by, "refundOfframp");
  await database.transaction(async (tx) => {
    if (to === "sending_fiat") await refuseWhileStopped(tx, seen, FIELD);
    const locked = await lockForGiveUp(tx, deps.prices, [seen], clock.now());
    const entry = await lockAsserted(tx, deps.keyring, seen);
    if (entry?.offramp.status !== seen.status) return;
    const quote = locked.quotes.get(seen.account_id, seen.quote_id);
    if (to === "sending_fiat" && !["done", null].includes(quote?.approval_status ?? null)) {
      throw needsApproval("They confirm it on /dashboard/approvals.");
    }
    const facts = await withPayouts(tx, locked, [seen]);
    moveByHand(tx, deps, entry, facts, to, clock.now());
  });
}

/** As if the bank had received its instruction, so that the bank's answer can follow. */
async function markSent(tx: Transaction, seen: Offramp, now: Date): Promise<void> {
  // Users are locked before offramps.
  await lockKycs(tx, [seen]);
  const rows = await lockOfframps(tx, [seen]);
  const payouts = await lockCurrentPayouts(tx, rows);
  const waiting = payouts.filter(({ status }) => ["recorded", "submitting"].includes(status));
  const is_unsent = waiting.some(({ status }) => status === "recorded");
  for (const row of is_unsent ? rows : []) await refuseWhileStopped(tx, row, FIELD);
  updatePayouts(
    tx,
    waiting.map((payout) => ({ ...payout, status: "sent", updated_at: now })),
  );
}

/** An unpaid offramp fails only with its whole quote, as if it was not paid in time. */
async function abandonQuote(deps: ForceDeps, { account_id, quote_id }: Offramp): Promise<void> {
  const now = deps.clock.now();
  for (let has_more = true; has_more; ) {
    has_more = await deps.database.transaction(async (tx) => {
      const [quote] = await lockQuotes(tx, [{ account_id, id: quote_id }]);
      if (!quote || quote.funded_at) return false;
      return (await endQuote(tx, deps, quote, now)) !== null;
    });
  }
}

/** A step that the bank would cause is caused by a simulated answer of the bank. */
function bankAnswer(offramp: Offramp, to: OfframpStatus): BankAnswer | null {
  const kinds: Partial<Record<OfframpStatus, BankAnswer["kind"]>> = {
    fiat_sent: "booked",
    bounced: "returned",
    failed: "rejected",
  };
  const kind = kinds[to];
  if (!kind || !["sending_fiat", "fiat_sent"].includes(offramp.status)) return null;
  const end_to_end_id = endToEndId(offramp.id, offramp.attempt);
  const bank_account = sandboxBankAccount(offramp.destination_currency);
  return {
    account_id: offramp.account_id,
    end_to_end_id,
    bank_reference: `sandbox-${end_to_end_id}-${kind}`,
    bank_account: kind === "rejected" ? null : bank_account,
    paid_from: bank_account,
    kind,
    amount: offramp.destination_amount,
    currency: offramp.destination_currency,
    trace_number: null,
    uetr: null,
    reasons: [],
  };
}

function moveByHand(
  tx: Transaction,
  deps: ForceDeps,
  entry: KeyedOfframp,
  facts: GiveUpFacts,
  to: OfframpStatus,
  now: Date,
): void {
  if (to === "sending_fiat") {
    const change = advanceOfframp(entry, instruction(entry.offramp), now);
    recordChanges(tx, deps.renderer, [change], now);
    // As if the bank already had it: it stays there until it is moved on.
    insertPayouts(tx, [{ ...newPayout(change.offramp, now), status: "sent" }]);
    postEntries(tx, [payoutInstructed(change.offramp)], now);
    return;
  }
  if (to === "failed") {
    const given_up = giveUp(facts, entry, MESSAGE, now);
    if ("problems" in given_up) throw Refusal.of(given_up.problems);
    recordChanges(tx, deps.renderer, [given_up.value.change], now);
    recordGiveUps(tx, [given_up.value], now);
    return;
  }
  const change = advanceOfframp(entry, { status: to, status_message: MESSAGE }, now);
  recordChanges(tx, deps.renderer, [change], now);
}

/** Lets the sandbox's chain pay the whole quote; all its offramps follow. */
async function payQuote(deps: ForceDeps, offramp: Offramp, by: ForcedBy): Promise<void> {
  const { database, chain, clock } = deps;
  const now = clock.now();
  const key = { account_id: offramp.account_id, id: offramp.quote_id };
  const [found] = await findQuotes(database, [key]);
  if (!found?.executed_at) requirePermission(by, "executeQuote");
  const why_not = found && whyNotSimulated(chain, found.deposit_token_chain);
  if (why_not) throw new Refusal("invalid_transition", why_not);
  await database.transaction((tx) => forceExecution(tx, deps, offramp, by, now));
  const [quote] = await findQuotes(database, [key]);
  if (!quote) return;
  const { token_amount } = await withoutAbandoned(database, quote);
  const owed_key = {
    account_id: quote.account_id,
    ledger_account: owedTo(quote.user_id, quote.deposit_token_chain),
    currency: quote.deposit_token,
  };
  const owed = (await findBalances(database, [owed_key])).get(owed_key);
  const missing = token_amount - minOf(quote.received + quote.from_balance, owed);
  if (missing > 0n && !quote.funded_at) {
    await insertSandboxTransfer(database, {
      chain: quote.deposit_token_chain,
      tx_id: quote.tx_id ?? sandboxTxId(quote.deposit_token_chain, quote.id),
      address: quote.deposit_address,
      sender: sandboxSender(quote.deposit_token_chain, quote.deposit_address),
      token: quote.deposit_token,
      amount: missing,
      mined_at: new Date(Math.min(now.getTime(), quote.expires_at.getTime())),
    });
  }
  await recordDeposits(deps);
  await database.transaction((tx) => fundFromDeposits(tx, deps, quote, now));
  for (let has_more = true; has_more; ) {
    has_more = await database.transaction(async (tx) => {
      const [current] = await lockQuotes(tx, [key]);
      return fundOfframps(tx, deps, current!, now);
    });
  }
}
