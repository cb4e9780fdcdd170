import { recordAudit } from "../../accounts/audit.ts";
import { actorOf } from "../../accounts/model.ts";
import { checkProposals } from "../../approvals/check-proposals.ts";
import { isToken } from "../../catalogue/chains.ts";
import {
  fiatDepositReceived,
  fiatDepositWithdrawn,
  fiatReturnStarted,
} from "../../ledger/onramp-postings.ts";
import { postEntries } from "../../ledger/post-entries.ts";
import type { AccountMap } from "../../platform/account-map.ts";
import type { Command, UseCase, Verdict } from "../../platform/commands/use-case.ts";
import type { Transaction } from "../../platform/db/database.ts";
import type { Keyring, SubjectKeys } from "../../platform/encryption/keyring.ts";
import { notFound, type Problem, Refusal } from "../../platform/errors.ts";
import { enqueueTasks } from "../../platform/tasks/tasks.ts";
import { findKycs } from "../../users/kyc-store.ts";
import type { Kyc } from "../../users/model.ts";
import {
  DEPOSIT_REASONS,
  type FiatDeposit,
  fundingProblem,
  isReturnable,
  openAmount,
} from "../model.ts";
import { renderDeposit } from "../render.ts";
import { findOnramps, findOwners, type OnrampRow } from "../store.ts";
import { MOVE_DEPOSIT_TASK } from "../task-kinds.ts";
import { isAnyInChecks, matchHolds, returnHolds } from "./deposit-holds.ts";
import { changeDeposit } from "./move-deposits.ts";
import {
  type DepositFacts,
  type FiatDepositRow,
  lockLines,
  openDeposits,
  updateDeposits,
} from "./store.ts";

/** What the operator may do with a received deposit. */
export type DepositAction = "match" | "accept_difference" | "return" | "dismiss";

export type DepositRequest = {
  deposit_id: string;
  /** Null: the onramp that the deposit's code names. */
  onramp_id: string | null;
  /** Why, for the audit log; empty if none was given. */
  reason: string;
  problems: readonly Problem[];
};

type Posted = FiatDeposit & { was_posted: boolean };
/**
 * A deposit after a decision, with whether it was posted to the ledger before, and the lines that
 * the bank reported under the same reference: one credit is decided on once.
 */
type Settled = Posted & { dismissed_with: Posted[] };

export type LoadedDeposits = {
  /** As stored. */
  found: ReadonlyMap<string, FiatDeposit>;
  /** As earlier commands of the set have left them. */
  deposits: Map<string, FiatDeposit>;
  onramps: Map<string, OnrampRow>;
  /** Of the users whose onramps these are. */
  kycs: AccountMap<Kyc>;
  keys: SubjectKeys;
};

/** Decides on one deposit; the work of other accounts and of the bank follows as a task. */
export function settleDeposits(
  keyring: Keyring,
  action: DepositAction,
): UseCase<DepositRequest, LoadedDeposits, Settled> {
  return {
    name: `${action.replaceAll("_", "-")}-deposits`,
    rows: () => 4,
    load: (tx, commands) => loadDeposits(tx, keyring, commands),
    decide: (loaded, command, now) => decideOne(action, loaded, command, now),
    record: (tx, _loaded, accepted, now) => {
      const deposits = accepted.flatMap(({ output }) => [output, ...output.dismissed_with]);
      updateDeposits(tx, deposits);
      checkProposals(tx, deposits, now);
      postEntries(tx, deposits.flatMap(entriesOf), now);
      const moving = deposits.filter((deposit) => deposit.status !== "dismissed");
      enqueueTasks(tx, MOVE_DEPOSIT_TASK, moving, now);
      for (const { command, output } of accepted) {
        const { account_id, id } = output;
        const actor = actorOf(command);
        const dismissed = output.dismissed_with.map((rival) => rival.id).join(" ") || null;
        const detail = { onramp_id: output.onramp_id, dismissed };
        const { reason } = command.input;
        const record = `deposit:${id}`;
        const entry = { account_id, actor, action: `deposit.${action}` as const, record, reason };
        recordAudit(tx, { ...entry, detail }, now);
      }
    },
    render: renderDeposit,
  };
}

async function loadDeposits(
  tx: Transaction,
  keyring: Keyring,
  commands: readonly Command<DepositRequest>[],
): Promise<LoadedDeposits> {
  const lines: FiatDepositRow[] = [];
  for (const [account_id, own] of Map.groupBy(commands, (command) => command.account_id)) {
    const ids = own.map(({ input }) => input.deposit_id);
    // Two contradicting lines must not both be dismissed at the same time.
    lines.push(...(await lockLines(tx, account_id, ids)));
  }
  const opened = await openDeposits(tx, keyring, lines);
  const deposits = new Map(opened.map((deposit) => [keyOf(deposit), deposit]));
  const named = [
    ...commands.map(({ input }) => input.onramp_id),
    ...opened.map((deposit) => deposit.onramp_id),
  ].filter((id) => id !== null);
  const owners = await findOwners(tx, named);
  const [rows, keys] = await Promise.all([
    findOnramps(
      tx,
      owners.map(({ account_id, onramp_id }) => ({ account_id, id: onramp_id })),
    ),
    keyring.openSubjects(
      tx,
      opened.map(({ account_id, id }) => ({ account_id, subject_id: id })),
    ),
  ]);
  const onramps = new Map(rows.map((row) => [row.id, row]));
  const kycs = await findKycs(tx, rows);
  return { found: new Map(deposits), deposits, onramps, kycs, keys };
}

/** What the bank also reported under the reference of this line, with other values. */
function listRivals({ deposits }: LoadedDeposits, deposit: FiatDeposit): FiatDeposit[] {
  if (deposit.part > 0) return [];
  return [...deposits.values()].filter(
    (other) =>
      other.id !== deposit.id &&
      other.account_id === deposit.account_id &&
      other.bank_account === deposit.bank_account &&
      other.bank_reference === deposit.bank_reference &&
      other.part === 0 &&
      other.status !== "dismissed",
  );
}

/** The deposit of a command, as stored. */
export function findLoaded(
  { found }: LoadedDeposits,
  { account_id, input }: Command<DepositRequest>,
): FiatDeposit | undefined {
  return found.get(keyOf({ account_id, id: input.deposit_id }));
}

function decideOne(
  action: DepositAction,
  loaded: LoadedDeposits,
  command: Command<DepositRequest>,
  now: Date,
): Verdict<Settled> {
  const { account_id, input } = command;
  const deposit = loaded.deposits.get(keyOf({ account_id, id: input.deposit_id }));
  if (!deposit) return { refusal: Refusal.of([...input.problems, notFound("deposit_id")]) };
  const rivals = listRivals(loaded, deposit);
  const onramp = findTarget(loaded, deposit, input);
  const decided = RULES[action]({ deposit, onramp, input, rivals });
  const held = holdsOf(action, loaded, { deposit, onramp, command });
  const found = "problems" in decided ? decided.problems : held;
  const problems = [...input.problems, ...found];
  if (problems.length > 0 || "problems" in decided) return { refusal: Refusal.of(problems) };
  const { changes } = decided;
  const is_believed = action !== "dismiss";
  const changed = changeDeposit(
    deposit,
    { ...changes, is_posted: deposit.is_posted || is_believed },
    now,
  );
  const dismissed_with = (is_believed ? rivals : []).map((rival) => ({
    ...changeDeposit(rival, { status: "dismissed", reason: "conflict" }, now),
    was_posted: rival.is_posted,
  }));
  const output = { ...changed, was_posted: deposit.is_posted, dismissed_with };
  // A later command of the same set must see these changes.
  for (const settled of [output, ...dismissed_with]) loaded.deposits.set(keyOf(settled), settled);
  const key = loaded.keys.get(deposit.account_id, deposit.id);
  return { output, subject: key ? { subject_id: deposit.id, key } : null };
}

function holdsOf(
  action: DepositAction,
  loaded: LoadedDeposits,
  asked: { deposit: FiatDeposit; onramp: OnrampRow | undefined; command: Command<DepositRequest> },
): Problem[] {
  const { deposit, onramp, command } = asked;
  if (action === "return") return returnHolds(loaded, deposit, command);
  return action !== "dismiss" && onramp ? matchHolds(loaded, deposit, onramp) : [];
}

/** Whether the user whose onramp the deposit pays, or names, is being checked. */
export function isUserInChecks(loaded: LoadedDeposits, command: Command<DepositRequest>): boolean {
  const deposit = findLoaded(loaded, command);
  return deposit !== undefined && isAnyInChecks(loaded, deposit);
}

/** The onramp named in the request, else the one that the deposit's code names. */
export function findTarget(
  { onramps }: LoadedDeposits,
  deposit: FiatDeposit,
  { onramp_id }: DepositRequest,
): OnrampRow | undefined {
  const id = onramp_id ?? deposit.onramp_id;
  return id === null ? undefined : onramps.get(id);
}

type Decided = { changes: Partial<DepositFacts> } | { problems: Problem[] };

type Rule = (asked: {
  deposit: FiatDeposit;
  onramp: OnrampRow | undefined;
  input: DepositRequest;
  /** Lines of the same bank reference that are not dismissed. */
  rivals: readonly FiatDeposit[];
}) => Decided;

const RULES: Record<DepositAction, Rule> = {
  match: matching("match"),
  accept_difference: matching("accept_difference"),
  return: ({ deposit, onramp, rivals }) => {
    if (deposit.status === "matched") {
      if (onramp && isReturnable(onramp)) return { changes: { status: "releasing" } };
      return refuse(
        "The deposit cannot be returned: its onramp has delivered the tokens, or is about to.",
      );
    }
    if (deposit.status !== "unmatched") return refuse(`The deposit is already ${deposit.status}.`);
    const used = rivals.find(({ status }) => status !== "unmatched");
    if (used) return refuse(describeRival(used));
    if (deposit.reason === "not_creditable" && !deposit.is_posted) {
      return refuse("The amount is too large for the ledger: settle it by hand and dismiss it.");
    }
    return { changes: { status: "returning", reason: null, returns: deposit.returns + 1 } };
  },
  dismiss: ({ deposit, rivals }) => {
    const is_contradicted = rivals.some(({ is_posted }) => is_posted);
    const is_untouched =
      deposit.status === "unmatched" &&
      deposit.part === 0 &&
      deposit.matched_amount === null &&
      deposit.returns === 0;
    if (is_untouched && (!deposit.is_posted || is_contradicted)) {
      return { changes: { status: "dismissed" } };
    }
    return refuse(
      "Only an unused deposit that the bank reported twice with different details can be " +
        "dismissed; return this one instead.",
    );
  },
};

function matching(matched_by: "match" | "accept_difference"): Rule {
  return ({ deposit, onramp, input, rivals }) => {
    if (deposit.status !== "unmatched") return refuse(`The deposit is already ${deposit.status}.`);
    if (isToken(deposit.currency)) return refuse("Tokens cannot pay an onramp; return them.");
    const used = rivals.find(({ status }) => status !== "unmatched");
    if (used) return refuse(describeRival(used));
    const field = "deposit.onramp_id";
    if (!onramp) {
      if (input.problems.some((problem) => problem.field === field)) return { problems: [] };
      if (input.onramp_id !== null) return { problems: [notFound(field)] };
      const message = "Send onramp_id: the transfer text contains no onramp's code.";
      return { problems: [{ field, code: "parameter_missing", message }] };
    }
    const reason = fundingProblem(onramp, deposit, matched_by);
    if (reason === null) {
      const { account_id, id } = onramp;
      const named = { onramp_account_id: account_id, onramp_id: id };
      return { changes: { status: "matching", matched_by, ...named } };
    }
    const is_amount = reason === "short" || reason === "over";
    const advice = is_amount ? " Use accept_difference, or return it." : " Return it.";
    const code = reason === "wrong_currency" ? "currency_mismatch" : "invalid_transition";
    return { problems: [{ field, code, message: DEPOSIT_REASONS[reason] + advice }] };
  };
}

function describeRival({ status }: FiatDeposit): string {
  return (
    "The bank reported the same reference with other details, and that deposit is already " +
    `${status}: dismiss this one.`
  );
}

function refuse(message: string): Decided {
  return { problems: [{ field: "deposit_id", code: "invalid_transition", message }] };
}

/** A conflict is posted now; returned and dismissed deposits leave the ledger again. */
function entriesOf(deposit: Posted) {
  const money = { ...deposit, amount: openAmount(deposit) };
  return [
    ...(deposit.is_posted && !deposit.was_posted ? [fiatDepositReceived(deposit)] : []),
    ...(deposit.status === "returning" ? [fiatReturnStarted(money)] : []),
    ...(deposit.status === "dismissed" && deposit.was_posted ? [fiatDepositWithdrawn(money)] : []),
  ];
}

function keyOf({ account_id, id }: { account_id: string; id: string }): string {
  return `${account_id} ${id}`;
}
