import { recordAudit } from "../access/audit.ts";
import { actorOf } from "../access/model.ts";
import { postEntries } from "../ledger/post.ts";
import { fiatDepositReceived, fiatReturnStarted } from "../ledger/postings.ts";
import type { Command, UseCase, Verdict } from "../platform/commands/use-case.ts";
import type { Transaction } from "../platform/db/database.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import { notFound, type Problem, Refusal } from "../platform/errors.ts";
import { enqueueTasks, taskNow } from "../platform/tasks/tasks.ts";
import { type DepositFacts, lockDeposits, openDeposits, updateDeposits } from "./deposit-store.ts";
import { DEPOSIT_REASONS, type FiatDeposit, fundingProblem, openAmount } from "./model.ts";
import { changeDeposit } from "./move-deposits.ts";
import { renderDeposit } from "./render.ts";
import { findOnramps, findOwners, type OnrampRow } from "./store.ts";
import { MOVE_DEPOSIT_TASK } from "./task-kinds.ts";

/** What the operator may do with money that came in. */
export type DepositAction = "match" | "accept_difference" | "return" | "dismiss";

export type DepositWish = {
  deposit_id: string;
  /** Null: the onramp that the deposit names itself. */
  onramp_id: string | null;
  problems: readonly Problem[];
};

/** A deposit after a decision, with whether the books had it before. */
type Settled = FiatDeposit & { was_posted: boolean };

export type LoadedDeposits = {
  deposits: Map<string, FiatDeposit>;
  onramps: Map<string, OnrampRow>;
};

/** Decides over one deposit; what other accounts and the bank have to do follows as a task. */
export function settleDeposits(
  keyring: Keyring,
  action: DepositAction,
): UseCase<DepositWish, LoadedDeposits, Settled> {
  return {
    name: `${action.replaceAll("_", "-")}-deposits`,
    rows: () => 4,
    load: (tx, commands) => loadDeposits(tx, keyring, commands),
    decide: (loaded, commands, now) =>
      new Map(commands.map((command) => [command.id, decideOne(action, loaded, command, now)])),
    record: (tx, _loaded, accepted, now) => {
      const deposits = accepted.map((entry) => entry.output);
      updateDeposits(tx, deposits);
      postEntries(tx, deposits.flatMap(entriesOf), now);
      enqueueTasks(
        tx,
        deposits
          .filter((deposit) => deposit.status !== "dismissed")
          .map((deposit) => taskNow(MOVE_DEPOSIT_TASK, deposit, now)),
      );
      for (const { command, output } of accepted) {
        const { account_id, id } = output;
        const actor = actorOf(command);
        const detail = { onramp_id: output.onramp_id };
        const record = `deposit:${id}`;
        const entry = { account_id, actor, action: `deposit.${action}`, record, reason: "" };
        recordAudit(tx, { ...entry, detail }, now);
      }
    },
    render: renderDeposit,
  };
}

async function loadDeposits(
  tx: Transaction,
  keyring: Keyring,
  commands: readonly Command<DepositWish>[],
): Promise<LoadedDeposits> {
  const deposits = new Map<string, FiatDeposit>();
  for (const [account_id, own] of Map.groupBy(commands, (command) => command.account_id)) {
    const ids = own.map(({ input }) => input.deposit_id);
    const rows = await lockDeposits(tx, account_id, ids);
    for (const row of await openDeposits(tx, keyring, rows)) deposits.set(keyOf(row), row);
  }
  const named = [
    ...commands.map(({ input }) => input.onramp_id),
    ...[...deposits.values()].map((deposit) => deposit.onramp_id),
  ].filter((id) => id !== null);
  const owners = await findOwners(tx, named);
  const rows = await findOnramps(
    tx,
    owners.map(({ account_id, onramp_id }) => ({ account_id, id: onramp_id })),
  );
  return { deposits, onramps: new Map(rows.map((row) => [row.id, row])) };
}

/** The deposit that a command is about. */
export function findLoaded(
  { deposits }: LoadedDeposits,
  { account_id, input }: Command<DepositWish>,
): FiatDeposit | undefined {
  return deposits.get(keyOf({ account_id, id: input.deposit_id }));
}

function decideOne(
  action: DepositAction,
  loaded: LoadedDeposits,
  command: Command<DepositWish>,
  now: Date,
): Verdict<Settled> {
  const { input } = command;
  const deposit = findLoaded(loaded, command);
  if (!deposit) return { refusal: Refusal.of([...input.problems, notFound("deposit_id")]) };
  const onramp_id = input.onramp_id ?? deposit.onramp_id;
  const onramp = onramp_id === null ? undefined : loaded.onramps.get(onramp_id);
  const decided = RULES[action](deposit, onramp, input);
  const problems = [...input.problems, ...(Array.isArray(decided) ? decided : [])];
  if (problems.length > 0) return { refusal: Refusal.of(problems) };
  const changes = decided as Partial<DepositFacts>;
  const is_believed = action !== "dismiss";
  const changed = changeDeposit(
    deposit,
    { ...changes, is_posted: deposit.is_posted || is_believed },
    now,
  );
  const output = { ...changed, was_posted: deposit.is_posted };
  // A later command of the same set must see this change.
  loaded.deposits.set(keyOf(deposit), output);
  return { output, subject: null };
}

type Rule = (
  deposit: FiatDeposit,
  onramp: OnrampRow | undefined,
  input: DepositWish,
) => Partial<DepositFacts> | Problem[];

const RULES: Record<DepositAction, Rule> = {
  match: matching("match"),
  accept_difference: matching("accept_difference"),
  return: (deposit, onramp) => {
    if (deposit.status === "matched") {
      if (onramp?.status === "sending_fiat" && onramp.delivery === "waiting") {
        return { status: "releasing" };
      }
      return refuse("Its onramp has sent the coins, or is about to; it cannot be returned.");
    }
    if (deposit.status !== "unmatched") return refuse(`It is ${deposit.status}; wait for its end.`);
    return { status: "returning", reason: null, returns: deposit.returns + 1 };
  },
  dismiss: (deposit) => {
    const is_open = deposit.status === "unmatched" && deposit.is_conflict && !deposit.is_posted;
    if (is_open) return { status: "dismissed" };
    return refuse("Only a conflict that nobody has acted on can be dismissed; return the deposit.");
  },
};

function matching(matched_by: "match" | "accept_difference"): Rule {
  return (deposit, onramp, input) => {
    if (deposit.status !== "unmatched") return refuse(`It is ${deposit.status} already.`);
    const field = "deposit.onramp_id";
    if (!onramp) {
      if (input.problems.some((problem) => problem.field === field)) return [];
      if (input.onramp_id !== null) return [notFound(field)];
      const message = "Send onramp_id: the deposit names no onramp itself.";
      return [{ field, code: "parameter_missing", message }];
    }
    const reason = fundingProblem(onramp, deposit, matched_by);
    if (reason === null) {
      const { account_id, id } = onramp;
      return { status: "matching", matched_by, onramp_account_id: account_id, onramp_id: id };
    }
    const is_amount = reason === "short" || reason === "over";
    const advice = is_amount ? " Use accept_difference, or return it." : " Return it.";
    const code = reason === "wrong_currency" ? "currency_mismatch" : "invalid_transition";
    return [{ field, code, message: DEPOSIT_REASONS[reason] + advice }];
  };
}

function refuse(message: string): Problem[] {
  return [{ field: "deposit_id", code: "invalid_transition", message }];
}

/** A conflict is believed from now on; and what goes back to its payer leaves suspense. */
function entriesOf(deposit: Settled) {
  const money = { ...deposit, amount: openAmount(deposit) };
  return [
    ...(deposit.is_posted && !deposit.was_posted ? [fiatDepositReceived(deposit)] : []),
    ...(deposit.status === "returning" ? [fiatReturnStarted(money)] : []),
  ];
}

function keyOf({ account_id, id }: { account_id: string; id: string }): string {
  return `${account_id} ${id}`;
}
