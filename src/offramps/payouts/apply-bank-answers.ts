import { suspenseReceived } from "../../ledger/exception-postings.ts";
import type { NewEntry } from "../../ledger/model.ts";
import { payoutBooked, payoutReturned } from "../../ledger/offramp-postings.ts";
import { postEntries } from "../../ledger/post-entries.ts";
import type { BankAnswer, BankPort } from "../../partners/bank/port.ts";
import { explainReasons } from "../../partners/bank/reasons/explain-reason.ts";
import { AccountMap } from "../../platform/account-map.ts";
import type { Transaction } from "../../platform/db/database.ts";
import type { RecordKey } from "../../platform/db/rows.ts";
import type { ModuleCore } from "../../platform/module.ts";
import { enqueueTasksAt } from "../../platform/tasks/tasks.ts";
import type { CurrentPrices } from "../../prices/price-book.ts";
import {
  type GivenUp,
  type GiveUpFacts,
  giveUp,
  lockForGiveUp,
  recordGiveUps,
  withPayouts,
} from "../give-up.ts";
import type { Offramp } from "../model.ts";
import { advanceOfframp, type ChangedOfframp, recordChanges } from "../record-changes.ts";
import type { OfframpRenderer } from "../render.ts";
import { type KeyedOfframp, lockOfframps, openOfframps } from "../store.ts";
import { FAIL_LAPSED_TASK } from "../task-kinds.ts";
import { recordProvenRails } from "./canary.ts";
import { offrampIdOf, type Payout } from "./model.ts";
import {
  type AnswerOutcome,
  findBankAnswers,
  type HandledAnswer,
  insertBankAnswers,
  lockPayouts,
  updatePayouts,
} from "./store.ts";

export type BankDeps = Pick<ModuleCore, "database" | "keyring" | "clock" | "log"> & {
  bank: BankPort;
  renderer: OfframpRenderer;
  prices: CurrentPrices;
  reroute_ms: number;
};

/** The state of payouts while answers are applied one after the other. */
type Progress = {
  offramps: AccountMap<KeyedOfframp>;
  /** By end-to-end id. */
  payouts: AccountMap<Payout>;
  changes: ChangedOfframp[];
  entries: NewEntry[];
  give_up_facts: GiveUpFacts;
  given_up: GivenUp[];
  reroute_ms: number;
};

/** Of several accounts only if all are bookings. */
export async function applyAnswers(
  tx: Transaction,
  deps: BankDeps,
  answers: readonly BankAnswer[],
  now: Date,
): Promise<void> {
  // Offramps are always locked before their payouts; the id of a payout contains its offramp's.
  const keys = offrampsOf(answers);
  const rejected = offrampsOf(answers.filter(({ kind }) => kind === "rejected"));
  const locked = await lockForGiveUp(tx, deps.prices, rejected, now);
  const [rows, payouts, known] = await Promise.all([
    lockOfframps(tx, keys),
    lockPayouts(tx, answers),
    findBankAnswers(tx, answers),
  ]);
  const opened = await openOfframps(tx, deps.keyring, rows);
  const progress: Progress = {
    offramps: new AccountMap(),
    payouts: new AccountMap(),
    changes: [],
    entries: [],
    give_up_facts: await withPayouts(tx, locked, rejected),
    given_up: [],
    reroute_ms: deps.reroute_ms,
  };
  for (const entry of opened) setOfframp(progress, entry);
  for (const payout of payouts) {
    progress.payouts.set(payout.account_id, payout.end_to_end_id, payout);
  }
  const outcomes: HandledAnswer[] = [];
  for (const answer of answers) {
    const { account_id, bank_reference } = answer;
    if (known.has(account_id, bank_reference)) continue;
    known.set(account_id, bank_reference, true);
    outcomes.push({ answer, held: 0n, ...applyOne(progress, answer, now) });
  }
  if (outcomes.length === 0) return;
  insertBankAnswers(tx, outcomes, now);
  updatePayouts(tx, [...progress.payouts.values()]);
  recordChanges(tx, deps.renderer, progress.changes, now);
  lapseLater(tx, progress.changes, now);
  const booked = [...progress.payouts.values()].filter(({ status }) => status === "booked");
  recordProvenRails(
    tx,
    booked.flatMap(({ account_id, offramp_id, bank_account }) => {
      const entry = progress.offramps.get(account_id, offramp_id);
      return entry ? [{ ...entry.offramp, bank_account }] : [];
    }),
    now,
  );
  postEntries(tx, progress.entries, now);
  recordGiveUps(tx, progress.given_up, now);
}

export function offrampsOf(answers: readonly BankAnswer[]): RecordKey[] {
  return answers.flatMap(({ account_id, end_to_end_id }) => {
    const id = offrampIdOf(end_to_end_id);
    return id === null ? [] : [{ account_id, id }];
  });
}

function setOfframp({ offramps }: Progress, entry: KeyedOfframp): void {
  offramps.set(entry.offramp.account_id, entry.offramp.id, entry);
}

/** What an answer means, and what it leaves in suspense. */
type Applied = { outcome: AnswerOutcome; held?: bigint };

function applyOne(progress: Progress, answer: BankAnswer, now: Date): Applied {
  const { account_id } = answer;
  const payout = progress.payouts.get(account_id, answer.end_to_end_id);
  const entry = payout && progress.offramps.get(account_id, payout.offramp_id);
  if (answer.kind === "returned" && answer.amount <= 0n) return { outcome: "conflict" };
  if (!payout || !entry) {
    if (answer.kind !== "returned") return { outcome: "no_such_payment" };
    return suspend(progress, answer, "no_such_payment");
  }
  const is_current = entry.offramp.attempt === payout.attempt;
  const is_open = ["submitting", "sent"].includes(payout.status);
  const move = (change: Partial<Offramp>, returned?: bigint) => {
    const changed = {
      ...advanceOfframp(progress.offramps.get(account_id, payout.offramp_id)!, change, now),
      ...(returned === undefined ? {} : { came_back: { before: 0n, after: returned } }),
    };
    progress.changes.push(changed);
    setOfframp(progress, changed);
  };
  const settle = (change: Partial<Payout>) =>
    progress.payouts.set(account_id, answer.end_to_end_id, {
      ...{ ...payout, ...change },
      updated_at: now,
    });

  if (answer.kind === "booked") {
    const { bank_account } = answer;
    const is_late = payout.is_booking_implied && bank_account === payout.bank_account;
    if (is_late && isAsInstructed(answer, entry.offramp)) {
      // The return was read first, and posted the booking too.
      settle({ is_booking_implied: false });
      return { outcome: "applied" };
    }
    if (!is_current || !is_open) return { outcome: "out_of_order" };
    if (!isAsInstructed(answer, entry.offramp)) return { outcome: "conflict" };
    settle({ status: "booked", bank_account });
    progress.entries.push(payoutBooked(entry.offramp, payout.attempt, bank_account));
    move({ status: "fiat_sent", status_message: null, payout_reference: proofOf(answer) });
    return { outcome: "applied" };
  }
  if (answer.kind === "rejected") {
    if (!is_current || !is_open) return { outcome: "out_of_order" };
    settle({ status: "rejected" });
    const status_message = `${told(answer)} Its money was credited to the user's balance.`;
    const decided = giveUp(progress.give_up_facts, entry, status_message, now);
    if ("problems" in decided) {
      // What came back earlier has no rate now: it is given up when the operator has set one.
      move(bounced(decided.problems[0]!.message, progress.reroute_ms, now));
      return { outcome: "applied" };
    }
    const { change, quote } = decided.value;
    progress.given_up.push(decided.value);
    progress.changes.push(change);
    setOfframp(progress, change);
    if (quote) progress.give_up_facts.quotes.set(quote.account_id, quote.id, quote);
    return { outcome: "applied" };
  }
  return applyReturn(progress, answer, { payout, entry, is_current, is_open, settle, move }, now);
}

type Step = {
  payout: Payout;
  entry: KeyedOfframp;
  is_current: boolean;
  is_open: boolean;
  settle: (change: Partial<Payout>) => void;
  move: (change: Partial<Offramp>, returned?: bigint) => void;
};

/** The bank returned money. If no sent payment matches it, it is posted to suspense. */
function applyReturn(
  progress: Progress,
  answer: BankAnswer,
  { payout, entry, is_current, is_open, settle, move }: Step,
  now: Date,
): Applied {
  const { entries, reroute_ms } = progress;
  const { offramp } = entry;
  const is_ours = is_current && (payout.status === "booked" || is_open);
  if (!is_ours || answer.currency !== offramp.destination_currency) {
    return suspend(progress, answer, "suspense");
  }
  // A return without a booking implies both.
  const { paid_from, bank_account: returned_to } = answer;
  const implied = is_open ? { bank_account: paid_from, is_booking_implied: true } : {};
  if (is_open) entries.push(payoutBooked(offramp, payout.attempt, paid_from));
  entries.push(payoutReturned(offramp, payout.attempt, answer.amount, returned_to));
  settle({ status: "returned", returned_amount: answer.amount, returned_to, ...implied });
  const status_message = `${told(answer)} ${explainReasons(answer.reasons).next_step}`;
  move(bounced(status_message, reroute_ms, now), answer.amount);
  // What came back beyond the payout waits in suspense, and in the operator's list.
  const held = answer.amount - offramp.destination_amount;
  return held > 0n ? { outcome: "suspense", held } : { outcome: "applied" };
}

/** What the bank did, and why if it said so. */
function told({ kind, reasons }: BankAnswer): string {
  const { because } = explainReasons(reasons);
  return `The bank ${kind} the payment${because === null ? "" : ` because ${because}`}.`;
}

/** A bounced payout can be re-routed for a limited time. */
export function bounced(status_message: string, reroute_ms: number, now: Date): Partial<Offramp> {
  const rate_until = new Date(now.getTime() + reroute_ms);
  return { status: "bounced", status_message, rate_until, rate_paused_at: null };
}

/** Looks at bounced payouts again when their time is over. */
export function lapseLater(tx: Transaction, changes: readonly ChangedOfframp[], now: Date): void {
  const bounced = changes
    .map(({ offramp }) => offramp)
    .filter(({ status }) => status === "bounced");
  const lapsing = bounced.map((offramp) => ({ ...offramp, due_at: offramp.rate_until! }));
  enqueueTasksAt(tx, FAIL_LAPSED_TASK, lapsing, now);
}

/** Money that matches no payment. */
function suspend({ entries }: Progress, answer: BankAnswer, outcome: AnswerOutcome): Applied {
  entries.push(suspenseReceived(answer));
  return { outcome, held: answer.amount };
}

function isAsInstructed(answer: BankAnswer, offramp: Offramp): boolean {
  return (
    answer.amount === offramp.destination_amount && answer.currency === offramp.destination_currency
  );
}

function proofOf(answer: BankAnswer) {
  const { end_to_end_id, trace_number, uetr } = answer;
  return { end_to_end_id, trace_number, uetr };
}
