import { suspenseReceived } from "../../ledger/exception-postings.ts";
import type { NewEntry } from "../../ledger/model.ts";
import { payoutBooked, payoutReturned } from "../../ledger/offramp-postings.ts";
import { postEntries } from "../../ledger/post-entries.ts";
import type { BankAnswer, BankPort } from "../../partners/bank/port.ts";
import { explainReasons } from "../../partners/bank/reasons/explain-reason.ts";
import { readOn } from "../../partners/read-on.ts";
import { AccountMap } from "../../platform/account-map.ts";
import type { Transaction } from "../../platform/db/database.ts";
import { limitLockWait } from "../../platform/db/lock-wait.ts";
import { isLockConflict, isOutage } from "../../platform/db/outages.ts";
import type { RecordKey } from "../../platform/db/rows.ts";
import { SECOND_MS } from "../../platform/durations.ts";
import type { ModuleCore } from "../../platform/module.ts";
import { describeError } from "../../platform/tasks/outage.ts";
import { splitByBytes } from "../../platform/tasks/split-by-bytes.ts";
import { enqueueTasksAt } from "../../platform/tasks/tasks.ts";
import type { CurrentPrices } from "../../prices/price-book.ts";
import { CHUNK } from "../fund-offramps.ts";
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
import { findOfframpLinks, type KeyedOfframp, lockOfframps, openOfframps } from "../store.ts";
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

/** Those of many accounts. */
const ANSWERS_PER_READ_MAX = 1_200;
/** Each can be as large as those of payouts, which also run two at a time. */
const SETS_AT_ONCE = 2;
const CURSOR = "bank";
/** Others must not wait for the locks of one account. */
const LOCK_WAIT_MAX_MS = SECOND_MS;

/**
 * Reads the bank's new answers and applies each one once. Where those of an account cannot be
 * applied now, because somebody holds its locks for example, they are read again next time, and
 * those of others are applied.
 */
export function bankReader(deps: BankDeps): () => Promise<void> {
  let behind: Behind = new Map();
  const list = async (cursor: string | null) => {
    const { answers, ...read } = await deps.bank.listAnswers(cursor, ANSWERS_PER_READ_MAX);
    return { items: answers, ...read };
  };
  return async () => {
    // Read again, the answers of others are known.
    const were_behind = behind.size > 0;
    const now_behind: Behind = new Map();
    const take = async (read: BankAnswer[], now: Date, keepCursor: () => void) => {
      const answers = were_behind ? await withoutKnown(deps, read) : read;
      await applyInGroups(deps, answers, { before: behind, now: now_behind }, now);
      if (answers.some(({ account_id }) => now_behind.has(account_id))) keepCursor();
    };
    await readOn(deps.database, CURSOR, list, take, deps.clock);
    for (const [account_id, error] of now_behind) {
      if (error === null || behind.get(account_id) === error) continue;
      deps.log.warn({ account_id, error }, "the bank's answers of an account cannot be applied");
    }
    behind = now_behind;
  };
}

/** Accounts whose answers could not be applied, and why; null for locks that somebody held. */
type Behind = Map<string, string | null>;

async function withoutKnown({ database }: BankDeps, read: BankAnswer[]): Promise<BankAnswer[]> {
  const left: BankAnswer[] = [];
  for (const [account_id, answers] of Map.groupBy(read, (answer) => answer.account_id)) {
    const known = await findBankAnswers(database, answers);
    left.push(...answers.filter(({ bank_reference }) => !known.has(account_id, bank_reference)));
  }
  return left;
}

/** Those of several accounts at once, and of an account in their order. */
async function applyInGroups(
  deps: BankDeps,
  answers: readonly BankAnswer[],
  behind: { before: Behind; now: Behind },
  now: Date,
): Promise<void> {
  // Their order is kept: an earlier answer of the account waits.
  const free = answers.filter(({ account_id }) => !behind.now.has(account_id));
  const waiting = groupAccounts(free, behind.before, deps.database.by_account ? 0 : CHUNK);
  const applyNext = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      await applyGroup(deps, next, behind.now, now);
    }
  };
  // All end before the page is read again because one of them failed.
  const ended = await Promise.allSettled(Array.from({ length: SETS_AT_ONCE }, applyNext));
  const failed = ended.find((one) => one.status === "rejected");
  if (failed) throw failed.reason;
}

/**
 * Answers that are applied one part after the other: those of an account, or of several with few
 * answers, which together have at most `answers_max`. Alone is an account with anything but
 * bookings, since giving money back locks more than they do, and one that was behind.
 */
function groupAccounts(
  answers: readonly BankAnswer[],
  behind: Behind,
  answers_max: number,
): BankAnswer[][] {
  const alone: BankAnswer[][] = [];
  const together: BankAnswer[][] = [];
  for (const [account_id, own] of Map.groupBy(answers, (answer) => answer.account_id)) {
    const last = together.at(-1);
    const is_plain = own.every(({ kind }) => kind === "booked") && !behind.has(account_id);
    if (!is_plain || own.length >= answers_max) alone.push(own);
    else if (last && last.length + own.length <= answers_max) last.push(...own);
    else together.push([...own]);
  }
  return [...together, ...alone];
}

/** If answers of several accounts fail, each is tried alone: one does not stop the others. */
async function applyGroup(
  deps: BankDeps,
  group: readonly BankAnswer[],
  behind: Behind,
  now: Date,
): Promise<void> {
  const of_accounts = [...Map.groupBy(group, (answer) => answer.account_id)];
  try {
    await applyParts(deps, group, now);
  } catch (error) {
    if (isOutage(error)) throw error;
    const [[first]] = of_accounts as [[string, BankAnswer[]]];
    if (of_accounts.length === 1)
      behind.set(first, isLockConflict(error) ? null : describeError(error));
    else for (const [, own] of of_accounts) await applyGroup(deps, own, behind, now);
  }
}

async function applyParts(
  deps: BankDeps,
  answers: readonly BankAnswer[],
  now: Date,
): Promise<void> {
  for (const part of await split(deps, answers)) {
    await deps.database.transaction((tx) => {
      limitLockWait(tx, LOCK_WAIT_MAX_MS);
      return applyAnswers(tx, deps, part, now);
    });
  }
}

/** In their order, by number and by the size of the offramps' details. */
async function split(
  { database }: BankDeps,
  answers: readonly BankAnswer[],
): Promise<BankAnswer[][]> {
  const links = AccountMap.of(
    await findOfframpLinks(database, offrampsOf(answers)),
    (offramp) => offramp,
  );
  const bytesOf = ({ account_id, end_to_end_id }: BankAnswer) =>
    links.get(account_id, offrampIdOf(end_to_end_id) ?? "")?.bytes ?? 0;
  return splitByBytes(answers, bytesOf).flatMap((part) =>
    Array.from({ length: Math.ceil(part.length / CHUNK) }, (_, at) =>
      part.slice(at * CHUNK, (at + 1) * CHUNK),
    ),
  );
}

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

function offrampsOf(answers: readonly BankAnswer[]): RecordKey[] {
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
