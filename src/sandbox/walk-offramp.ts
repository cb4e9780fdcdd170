import { postEntries } from "../ledger/post.ts";
import { payoutInstructed } from "../ledger/postings.ts";
import { applyAnswers, type BankDeps } from "../offramps/apply-bank-answers.ts";
import { instruction } from "../offramps/assess-offramps.ts";
import { fundOfframps } from "../offramps/fund-offramps.ts";
import { fundQuote } from "../offramps/fund-quote.ts";
import { OFFRAMP_MOVES, type Offramp, type OfframpStatus } from "../offramps/model.ts";
import { endToEndId, insertPayouts, newPayout } from "../offramps/payout-store.ts";
import { changeOfframp, recordChanges } from "../offramps/record-changes.ts";
import { recordDeposits } from "../offramps/record-deposits.ts";
import { refundOfframps } from "../offramps/refund-offramps.ts";
import { findOfframps, type KeyedOfframp, lockOfframps, toOfframps } from "../offramps/store.ts";
import type { BankAnswer } from "../partners/bank/port.ts";
import type { ChainPort } from "../partners/chain/port.ts";
import { insertSandboxTransfer } from "../partners/chain/sandbox-store.ts";
import type { Clock } from "../platform/clock.ts";
import type { Transaction } from "../platform/db/database.ts";
import { findQuotes, lockQuotes, updateProgress } from "../quotes/store.ts";
import { findPath } from "./find-path.ts";

export type WalkDeps = BankDeps & { chain: ChainPort; clock: Clock };

type Key = { account_id: string; id: string };

const STEPS_MAX = 10;
const MESSAGE = "Set by the sandbox.";

/**
 * Takes an offramp to a state by the legal path, each step with the money it means and its event.
 * Undefined when there is no such offramp, null when no path leads there.
 */
export async function walkOfframp(
  deps: WalkDeps,
  key: Key,
  to: OfframpStatus,
): Promise<Offramp | null | undefined> {
  // The worker may move it meanwhile, so the way is looked for anew after each step.
  for (let step = 0; step < STEPS_MAX; step += 1) {
    const entry = await read(deps, key);
    if (!entry) return undefined;
    const path = findPath(OFFRAMP_MOVES, entry.offramp.status, to);
    if (!path) return null;
    const [next] = path;
    if (!next) return entry.offramp;
    await takeStep(deps, entry.offramp, next);
  }
  return null;
}

async function read({ database, keyring }: WalkDeps, key: Key): Promise<KeyedOfframp | undefined> {
  const rows = await findOfframps(database, [key]);
  const subjects = rows.map((row) => ({ account_id: row.account_id, subject_id: row.user_id }));
  const [entry] = toOfframps(rows, await keyring.openSubjects(database, subjects));
  return entry;
}

async function takeStep(deps: WalkDeps, seen: Offramp, to: OfframpStatus): Promise<void> {
  if (seen.status === "initiated" && to === "pending_internal_assessment") {
    return payQuote(deps, seen);
  }
  const now = deps.clock.now();
  await deps.database.transaction(async (tx) => {
    const answer = bankAnswer(seen, to);
    if (answer) return applyAnswers(tx, deps, seen.account_id, [answer], now);
    const rows = await lockOfframps(tx, [seen]);
    const subjects = rows.map((row) => ({ account_id: row.account_id, subject_id: row.user_id }));
    const [entry] = toOfframps(rows, await deps.keyring.openSubjects(tx, subjects));
    if (entry?.offramp.status !== seen.status) return;
    moveByHand(tx, deps, entry, to, now);
  });
}

/** Steps that a bank would cause are caused by an answer of the bank. */
function bankAnswer(offramp: Offramp, to: OfframpStatus): BankAnswer | null {
  const kinds: Partial<Record<OfframpStatus, BankAnswer["kind"]>> = {
    fiat_sent: "booked",
    bounced: "returned",
    failed: "rejected",
  };
  const kind = kinds[to];
  if (!kind || !["sending_fiat", "fiat_sent"].includes(offramp.status)) return null;
  const end_to_end_id = endToEndId(offramp.id, offramp.attempt);
  return {
    account_id: offramp.account_id,
    end_to_end_id,
    bank_reference: `sandbox-${end_to_end_id}-${kind}`,
    kind,
    amount: offramp.destination_amount,
    currency: offramp.destination_currency,
    trace_number: null,
    uetr: null,
  };
}

function moveByHand(
  tx: Transaction,
  deps: WalkDeps,
  entry: KeyedOfframp,
  to: OfframpStatus,
  now: Date,
): void {
  if (to === "sending_fiat") {
    const change = changeOfframp(entry, instruction(entry.offramp), now);
    recordChanges(tx, deps.renderer, [change], now);
    // As if the bank had it already: it stays there until it is moved on.
    insertPayouts(tx, [{ ...newPayout(change.offramp, now), status: "sent" }]);
    if (change.offramp.attempt === 1) postEntries(tx, [payoutInstructed(change.offramp)], now);
    return;
  }
  const change = changeOfframp(entry, { status: to, status_message: MESSAGE }, now);
  recordChanges(tx, deps.renderer, [change], now);
  if (to === "failed") refundOfframps.record(tx, [change], null, now);
}

/** Lets the sandbox's chain pay the whole quote, and all its offramps follow. */
async function payQuote(deps: WalkDeps, offramp: Offramp): Promise<void> {
  const { database, chain, clock } = deps;
  const now = clock.now();
  const key = { account_id: offramp.account_id, id: offramp.quote_id };
  await database.transaction(async (tx) => {
    const [quote] = await lockQuotes(tx, [key]);
    if (!quote || quote.executed_at) return;
    const tx_id = `sandbox-${quote.id}`;
    const named = { tx_id, tx_network: "sandbox", tx_named_at: now };
    updateProgress(tx, { ...quote, ...named, executed_at: now, updated_at: now });
  });
  const [quote] = await findQuotes(database, [key]);
  if (!quote?.tx_id) throw new Error("a quote was executed without a transfer");
  const missing = quote.token_amount - quote.received;
  if (missing > 0n) {
    await insertSandboxTransfer(database, {
      chain: quote.deposit_token_chain,
      tx_id: quote.tx_id,
      address: quote.deposit_address,
      token: quote.deposit_token,
      amount: missing,
      mined_at: new Date(Math.min(now.getTime(), quote.expires_at.getTime())),
    });
  }
  await recordDeposits(database, chain, now);
  await database.transaction((tx) => fundQuote(tx, quote, now));
  for (let has_more = true; has_more; ) {
    has_more = await database.transaction(async (tx) => {
      const [current] = await lockQuotes(tx, [key]);
      return fundOfframps(tx, deps, current!, now);
    });
  }
}
