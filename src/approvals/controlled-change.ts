import type { By } from "../accounts/model.ts";
import { findOperator, listMembers, lockMembers } from "../accounts/store.ts";
import type { Database, Session, Transaction } from "../platform/db/database.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import { Refusal } from "../platform/errors.ts";
import type { TaskHandler } from "../platform/tasks/run-set.ts";
import { checkProposals } from "./check-proposals.ts";
import {
  CONFIRMATIONS_NEEDED,
  type Content,
  type Description,
  lapsesAt,
  type Proposal,
  type Voters,
} from "./model.ts";
import { checkDescription, describedContent } from "./propose.ts";
import { newProposal, recordProposals } from "./record-proposals.ts";
import { compareContent, type End, runProposalTask } from "./tasks.ts";
import { isUnopposed } from "./votes/unopposed.ts";
import { canVote } from "./votes/voters.ts";

/**
 * A change of an account's members, limits or settings. Once two people can vote on it, it becomes
 * a proposal; until then it applies at once. If an account has two members of whom one can vote,
 * one of the operator's members is the other: else that one could invite themselves again.
 */
export type ControlledChange<Input> = {
  /** The kind of its proposals. */
  kind: string;
  /** Why two members are needed; for members, roles, limits and approval amounts there is one. */
  why?: string;
  /** Without personal data. */
  summaryOf: (input: Input) => string;
  /** Refuses a change that is not possible. */
  describe: (session: Session, account_id: string, input: Input) => Promise<Description>;
  /** Whether nothing is allowed afterwards that was not before. */
  isTighter?: (session: Session, input: Input) => Promise<boolean>;
  /** Checks everything again, and writes nothing if it refuses. */
  apply: (tx: Transaction, account_id: string, input: Input, by: By, now: Date) => Promise<unknown>;
};

type Stored<Input> = { change: Input; reason: string };
type ControlledDeps = { database: Database; keyring: Keyring };

type Asked<Input> = {
  account_id: string;
  input: Input;
  /** The operator's own decisions about an account need one of the operator's members. */
  is_operators: boolean;
  by: By;
};

/** The proposal; null when the change was applied at once. */
export async function changeOrPropose<Input>(
  tx: Transaction,
  { keyring }: Pick<ControlledDeps, "keyring">,
  change: ControlledChange<Input>,
  { account_id, input, is_operators, by }: Asked<Input>,
  now: Date,
): Promise<Proposal | null> {
  // One after another: requests at the same time would each find that nobody else can vote.
  await lockMembers(tx, account_id);
  const description = await change.describe(tx, account_id, input);
  const is_free = is_operators && (await isOperatorsAlone(tx, change, input, by));
  const voters = is_free ? null : await findVoters(tx, account_id, is_operators);
  if (voters === null) {
    await assertAlone(tx, account_id, by);
    await change.apply(tx, account_id, input, by, now);
    checkProposals(tx, [{ account_id, id: account_id }], now);
    return null;
  }
  const { kind, why = WHY } = change;
  const stored: Stored<Input> = { change: input, reason: by.reason };
  const content = { input: stored, ...describedContent(withReason(description, by.reason), why) };
  checkDescription(kind, content);
  const proposed = {
    ...{ account_id, kind, record_id: account_id, amount_usd: null, voters },
    summary: change.summaryOf(input),
  };
  // Proposing is not voting here: the member confirms it like any other, but not as the last.
  const proposed_by_person = /^member:(.+)$/.exec(by.actor)?.[1] ?? null;
  const proposal = { ...newProposal(proposed, by.actor, null, now), proposed_by_person };
  const key = await keyring.openAccount(tx, account_id);
  const added = { proposal, proposer: null, content, subject_id: null, key };
  recordProposals(tx, [added], now);
  return proposal;
}

/**
 * The operator protects itself with the limits of an account: where only one of its own members can
 * vote, the account would have to agree to lower ones. As in the operator's own account it takes
 * the command line then.
 */
async function isOperatorsAlone<Input>(
  tx: Session,
  { isTighter }: ControlledChange<Input>,
  input: Input,
  { actor }: By,
): Promise<boolean> {
  if (actor !== "command line" || !isTighter) return false;
  const operator = (await findOperator(tx))!;
  return !(await canVote(tx, operator.id, "members")) && isTighter(tx, input);
}

/** Who votes on a change; null while nobody can, or the account has one member. */
export async function findVoters(
  tx: Session,
  account_id: string,
  is_operators: boolean,
): Promise<Voters | null> {
  const is_own = (await findOperator(tx))?.id === account_id;
  const is_foreign = is_operators && !is_own;
  if (!is_foreign && (await canVote(tx, account_id, "members"))) return "members";
  const has_two = (await listMembers(tx, account_id)).length >= CONFIRMATIONS_NEEDED;
  const may_ask = is_foreign || (has_two && !is_own);
  return may_ask && (await canVote(tx, account_id, "with_operator")) ? "with_operator" : null;
}

/**
 * The only voter among the operator's members has nobody to ask. Their sign-in alone must not be
 * enough to let others in: it also takes access to the server.
 */
async function assertAlone(tx: Transaction, account_id: string, { actor }: By): Promise<void> {
  if (!actor.startsWith("member:")) return;
  const members = await listMembers(tx, account_id);
  if (members.length >= CONFIRMATIONS_NEEDED) throw new Refusal("invalid_transition", NO_SECOND);
}

const NO_SECOND =
  "This needs a second member who can vote, and the account has none. Add one on the command " +
  "line: sliproad members create --role approver.";

const WHY = "Members, roles, limits and approval amounts change only with two members.";

/** Runs the confirmed changes of one kind. */
export function controlledChangeTask<Input>(
  deps: ControlledDeps,
  change: ControlledChange<Input>,
): TaskHandler {
  const findChanged = async (tx: Transaction, account_id: string, content: Content) => {
    const { change: input, reason } = content.input as Stored<Input>;
    const description = await change.describe(tx, account_id, input);
    return compareContent(withReason(description, reason), content);
  };
  return runProposalTask(deps, change.kind, {
    isUnopposed: async (tx, proposal, content, now) =>
      now >= lapsesAt(proposal) && isUnopposed(tx, proposal, content),
    run: (tx, { account_id, id }, content, now) =>
      orRefused("failed", async () => {
        const changed = await findChanged(tx, account_id, content);
        if (changed) return changed;
        const { change: input, reason } = content.input as Stored<Input>;
        await change.apply(tx, account_id, input, { actor: `proposal:${id}`, reason }, now);
        return { status: "done", outcome: null } satisfies End;
      }),
    check: (tx, { account_id }, content) =>
      orRefused("void", () => findChanged(tx, account_id, content)),
  });
}

/** A change that is not possible any more ends the proposal. */
async function orRefused<Result>(
  status: "failed" | "void",
  work: () => Promise<Result>,
): Promise<Result | End> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { status, outcome: error.sentence };
  }
}

function withReason(description: Description, reason: string): Description {
  return { ...description, details: [...description.details, ["Reason", reason]] };
}
