import { recordAudit } from "../../accounts/audit.ts";
import { actorOf } from "../../accounts/model.ts";
import { checkProposals } from "../../approvals/check-proposals.ts";
import type { NewEntry } from "../../ledger/model.ts";
import { postEntries } from "../../ledger/post-entries.ts";
import type { Clock } from "../../platform/clock.ts";
import { noteOriginsElsewhere } from "../../platform/commands/origins.ts";
import type { Accepted, Command, UseCase, Verdict } from "../../platform/commands/use-case.ts";
import type { Transaction } from "../../platform/db/database.ts";
import type { Keyring } from "../../platform/encryption/keyring.ts";
import { notFound, type Problem, Refusal } from "../../platform/errors.ts";
import { enqueueTasks } from "../../platform/tasks/tasks.ts";
import type { CurrentPrices } from "../../prices/price-book.ts";
import { assertOfframps } from "../assert-offramps.ts";
import { type GiveUpFacts, lockForGiveUp, withPayouts } from "../give-up.ts";
import type { Offramp } from "../model.ts";
import { lapseLater } from "../payouts/apply-bank-answers.ts";
import type { Payout } from "../payouts/model.ts";
import { lockCurrentPayouts, updatePayouts } from "../payouts/store.ts";
import type { Quote } from "../quotes/model.ts";
import { updateProgress } from "../quotes/store.ts";
import { advanceOfframp, type ChangedOfframp, recordChanges } from "../record-changes.ts";
import type { OfframpRenderer } from "../render.ts";
import { type KeyedOfframp, lockOfframps, openOfframps } from "../store.ts";
import { RETURN_EXCEPTION_TASK } from "../task-kinds.ts";
import { type Holder, loadHolders, returnHolds } from "./held-exceptions.ts";
import type { BankException, Resolution } from "./model.ts";
import { renderException } from "./render.ts";
import { RULES } from "./resolution-rules.ts";
import { findGivenBack, lockBankExceptions, updateBankExceptions } from "./store.ts";

export type ResolveRequest = {
  exception_id: string;
  resolution: Resolution | null;
  /** Null: the payout that the bank's answer names. */
  offramp_id: string | null;
  reason: string;
  problems: readonly Problem[];
};

export type ResolveDeps = {
  keyring: Keyring;
  renderer: OfframpRenderer;
  reroute_ms: number;
  prices: CurrentPrices;
  clock: Clock;
};

/** As earlier commands of the set have left them. */
export type LoadedExceptions = {
  exceptions: Map<string, BankException>;
  offramps: Map<string, KeyedOfframp>;
  /** The current attempt of each offramp. */
  payouts: Map<string, Payout>;
  /** What giving money back depends on. */
  facts: GiveUpFacts;
  /** What came back of each offramp after it was refunded, and was given back. */
  late: Map<string, bigint>;
  holders: ReadonlyMap<string, Holder>;
};

export type Settled = {
  /** Where the decision is applied by a later step (`decide-in-steps.ts`). */
  asked?: { operator_id: string; id: string };
  exception: BankException;
  entries: NewEntry[];
  change: ChangedOfframp | null;
  payout: Payout | null;
  quote: Quote | null;
};

/** The operator decides what an answer of the bank that fits no payout means. */
export function resolveExceptions(
  deps: ResolveDeps,
): UseCase<ResolveRequest, LoadedExceptions, Settled> {
  return {
    name: "resolve-bank-exceptions",
    rows: () => 4,
    load: (tx, commands) => loadExceptions(tx, deps, commands),
    decide: (loaded, command, now) => decideOne(deps, loaded, command, now),
    record: (tx, _loaded, accepted, now) => {
      recordEffects(tx, deps, accepted, now);
      for (const { command, output } of accepted) {
        recordDecided(tx, command, output.exception.assigned_offramp_id, now);
      }
    },
    render: ({ exception }) => renderException(exception),
  };
}

async function loadExceptions(
  tx: Transaction,
  { keyring, prices, clock }: ResolveDeps,
  commands: readonly Command<ResolveRequest>[],
): Promise<LoadedExceptions> {
  const ids = commands.map(({ input }) => input.exception_id);
  const exceptions = new Map((await lockBankExceptions(tx, ids)).map((row) => [row.id, row]));
  const holders = await loadHolders(tx, [...exceptions.values()]);
  const keys = commands.flatMap(({ input }) => {
    const exception = exceptions.get(input.exception_id);
    const id = exception && targetOf(exception, input);
    return id ? [{ account_id: exception.account_id, id }] : [];
  });
  const locked = await lockForGiveUp(tx, prices, keys, clock.now());
  if (keys.length === 0) {
    const none = { offramps: new Map(), payouts: new Map(), late: new Map() };
    return { exceptions, holders, ...none, facts: locked };
  }
  const rows = await lockOfframps(tx, keys);
  const opened = await openOfframps(tx, keyring, rows);
  await assertOfframps(tx, opened);
  const payouts = await lockCurrentPayouts(
    tx,
    opened.map(({ offramp }) => offramp),
  );
  return {
    exceptions,
    holders,
    facts: await withPayouts(tx, locked, rows),
    late: await findGivenBack(tx, rows),
    offramps: new Map(opened.map((entry) => [entry.offramp.id, entry])),
    payouts: new Map(payouts.map((payout) => [payout.offramp_id, payout])),
  };
}

/** The payout that is to be assigned; null if none is named. */
export function targetOf(exception: BankException, input: ResolveRequest): string | null {
  return input.resolution === "assign" ? (input.offramp_id ?? exception.offramp_id) : null;
}

function decideOne(
  { reroute_ms }: ResolveDeps,
  loaded: LoadedExceptions,
  command: Command<ResolveRequest>,
  now: Date,
): Verdict<Settled> {
  const { input } = command;
  const { exceptions, offramps, payouts } = loaded;
  const exception = exceptions.get(input.exception_id);
  if (!exception) return { refusal: Refusal.of([...input.problems, notFound("exception_id")]) };
  const named = new Set(input.problems.map(({ field }) => field));
  const more = requestProblems(exception, input).filter(({ field }) => !named.has(field));
  const problems = [...input.problems, ...more];
  if (problems.length > 0) return { refusal: Refusal.of(problems) };
  const offramp_id = targetOf(exception, input);
  const entry = offramp_id === null ? undefined : offramps.get(offramp_id);
  const payout = offramp_id === null ? undefined : payouts.get(offramp_id);
  const is_found = entry && payout && entry.offramp.account_id === exception.account_id;
  const target = is_found ? targetIn(loaded, entry.offramp, payout) : undefined;
  const { prices } = loaded.facts;
  const decided = RULES[input.resolution!]({ exception, target, prices, reroute_ms, now });
  if ("problems" in decided) return { refusal: Refusal.of(decided.problems) };
  const holder = loaded.holders.get(exception.id)!;
  const held = input.resolution === "return" ? returnHolds(holder, command) : [];
  if (held.length > 0) return { refusal: Refusal.of(held) };
  const changed: BankException = {
    ...exception,
    ...decided.exception,
    resolution: input.resolution,
    reason: input.reason,
    assigned_offramp_id: offramp_id,
    assigned_attempt: payout?.attempt ?? null,
    updated_at: now,
  };
  const { came_back } = decided;
  const change: ChangedOfframp | null =
    entry && decided.offramp
      ? { ...advanceOfframp(entry, decided.offramp, now), ...(came_back ? { came_back } : {}) }
      : null;
  const settled =
    payout && decided.payout ? { ...payout, ...decided.payout, updated_at: now } : null;
  // A later command of the same set must see these changes.
  exceptions.set(exception.id, changed);
  if (change) offramps.set(change.offramp.id, change);
  if (settled) payouts.set(settled.offramp_id, settled);
  const { entries, quote = null } = decided;
  if (quote && target) {
    loaded.facts.quotes.set(quote.account_id, quote.id, quote);
    loaded.late.set(target.offramp.id, target.late + exception.held);
  }
  const output = { exception: changed, entries, change, payout: settled, quote };
  return { output, subject: null };
}

function targetIn({ facts, late }: LoadedExceptions, offramp: Offramp, payout: Payout) {
  const { account_id, id, quote_id } = offramp;
  return {
    offramp,
    payout,
    attempts: facts.payouts.get(id) ?? [],
    quote: facts.quotes.get(account_id, quote_id)!,
    late: late.get(id) ?? 0n,
  };
}

function requestProblems(exception: BankException, input: ResolveRequest): Problem[] {
  if (exception.status !== "open") {
    const state = exception.status === "returning" ? "being returned" : "resolved";
    const message = `The exception is already ${state}.`;
    return [{ field: "exception_id", code: "invalid_transition", message }];
  }
  if (input.resolution === "assign" && targetOf(exception, input) === null) {
    const message = "Send offramp_id: the bank's answer names no payout.";
    return [{ field: "offramp_id", code: "parameter_missing", message }];
  }
  if (input.resolution !== null && input.resolution !== "assign" && input.offramp_id !== null) {
    const message = "Send offramp_id with the resolution assign only.";
    return [{ field: "offramp_id", code: "record_invalid", message }];
  }
  return [];
}

/** In the account of the exception. */
export function recordEffects(
  tx: Transaction,
  { renderer }: ResolveDeps,
  accepted: readonly Accepted<ResolveRequest, Settled>[],
  now: Date,
): void {
  const outputs = accepted.map(({ output }) => output);
  noteOriginsElsewhere(
    tx,
    accepted.map(({ command, output }) => ({ command, account_id: output.exception.account_id })),
  );
  updateBankExceptions(
    tx,
    outputs.map(({ exception }) => exception),
  );
  const payouts = outputs.flatMap(({ payout }) => payout ?? []);
  // The last one counts: it includes the earlier changes.
  updatePayouts(tx, [...new Map(payouts.map((payout) => [payout.offramp_id, payout])).values()]);
  const changes = outputs.flatMap(({ change }) => change ?? []);
  recordChanges(tx, renderer, changes, now);
  lapseLater(tx, changes, now);
  for (const { quote } of outputs) if (quote) updateProgress(tx, quote);
  postEntries(
    tx,
    outputs.flatMap(({ entries }) => entries),
    now,
  );
  const returning = outputs.filter(({ exception }) => exception.status === "returning");
  const exceptions = returning.map(({ exception }) => exception);
  enqueueTasks(tx, RETURN_EXCEPTION_TASK, exceptions, now);
  for (const { command, output } of accepted) {
    const { account_id, id, assigned_offramp_id: offramp_id } = output.exception;
    if (offramp_id === null) continue;
    const detail = { bank_exception_id: id };
    const entry = { ...actOf(command), account_id, record: `offramp:${offramp_id}`, detail };
    recordAudit(tx, entry, now);
  }
}

/** In the operator's account: the audit entry, and other proposals about the exception. */
export function recordDecided(
  tx: Transaction,
  command: Command<ResolveRequest>,
  offramp_id: string | null,
  now: Date,
): void {
  const { account_id, input } = command;
  checkProposals(tx, [{ account_id, id: input.exception_id }], now);
  const record = `bank_exception:${input.exception_id}`;
  recordAudit(tx, { ...actOf(command), account_id, record, detail: { offramp_id } }, now);
}

function actOf(command: Command<ResolveRequest>) {
  const { resolution, reason } = command.input;
  return { actor: actorOf(command), action: `bank_exception.${resolution!}` as const, reason };
}
