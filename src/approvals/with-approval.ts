import { findKeyCreators } from "../accounts/api-key-store.ts";
import {
  type Accepted,
  type Command,
  type UseCase,
  type Verdict,
  weighEqually,
} from "../platform/commands/use-case.ts";
import type { Session, Transaction } from "../platform/db/database.ts";
import type { AccountKeys, Keyring } from "../platform/encryption/keyring.ts";
import { Refusal } from "../platform/errors.ts";
import {
  type Amount,
  APPROVAL_REASONS,
  type ApprovalSums,
  type Counted,
  loadSums,
  lockSums,
  type SumRules,
} from "./approval-sums.ts";
import type { Description, Voters } from "./model.ts";
import { countPending } from "./pending-store.ts";
import { describedContent, propose } from "./propose.ts";
import { recordProposals } from "./record-proposals.ts";
import { renderProposal } from "./render.ts";
import type { NewProposal } from "./store.ts";

/** The settings shared by all use cases; `app/` creates them and passes them to the modules. */
export type ApprovalRules = SumRules & {
  keyring: Keyring;
  /** For the blind indexes of destinations. */
  index_key: Buffer;
  /** How long a new refund address or payment detail receives money only with approval. */
  cooling_off_ms: number;
  public_url: () => string;
};

/** Reads what members have to see; null when the command names no record and is refused anyway. */
export type Describe<Input, Loaded> = (
  session: Session,
  loaded: Loaded,
  command: Command<Input>,
) => Promise<Description | null>;

/** What a use case says about its commands. `loaded` is the result of its own `load`. */
type ApprovalOptions<Input, Loaded> = ApprovalRules & {
  /** The amount a command moves; null when unknown, which counts as above the limit. */
  amountOf: (loaded: Loaded, command: Command<Input>) => Amount | null;
  /** What leaves for it at a rate of before, which may be worth more now; then that counts. */
  leavingOf?: (loaded: Loaded, command: Command<Input>) => Amount | null;
  recordIdOf: (command: Command<Input>) => string;
  /**
   * The records whose amounts it counts as in the sum of 24 hours, each once; by default the
   * command itself. Empty: only the single amount matters.
   */
  countsAs?: (loaded: Loaded, command: Command<Input>) => readonly string[];
  /** One sentence, without personal data, that describes the effect to a member. */
  summaryOf: (loaded: Loaded, command: Command<Input>) => string;
  /** The same as the one of its `proposalTask`, which compares before it runs. */
  describe: Describe<Input, Loaded>;
  /** Why it needs two members whatever the amount, as a sentence; null when it does not. */
  alwaysNeeds?: (loaded: Loaded, command: Command<Input>, now: Date) => string | null;
  /** Needs two members whatever the amount, one of them the operator's; why, as a sentence. */
  needsOperator?: (loaded: Loaded, command: Command<Input>) => string | null;
  /** The input to store, when it must include what the members saw. */
  inputOf?: (loaded: Loaded, command: Command<Input>) => Input;
};

/** The data used to decide on a command that becomes a proposal. */
type LoadedAlone<Loaded> = {
  loaded: Loaded;
  description: Description | null;
  why: string | null;
  voters: Voters;
};
type LoadedWithApproval<Loaded> = {
  /** For the commands that run at once. */
  inner: Loaded;
  sums: ApprovalSums;
  counted: ReadonlyMap<string, Counted>;
  /** For each command that may become a proposal, by its id. */
  alone: ReadonlyMap<string, LoadedAlone<Loaded>>;
  /** How many proposals of their accounts wait. */
  pending: ReadonlyMap<string, number>;
  account_keys: AccountKeys;
  key_creators: ReadonlyMap<string, string>;
};
type Outcome<Output> = { done: Output } | { proposed: NewProposal };

/** Each may be loaded once more, alone, and described. */
const PER_SET = 10;

/**
 * Adds two-person approval to a use case: what it accepts is done at once up to the approval
 * amount, for a single command and for the account's last 24 hours, and becomes a proposal above
 * it, which two members confirm on /dashboard/approvals. Then a task runs the use case itself with
 * the same input, unless what the members saw has changed.
 *
 *     const inner = refundThings(keyring);
 *     const submit = executor.register(
 *       withApproval(inner, {
 *         ...deps.approvals,
 *         amountOf: (loaded, { account_id, input }) =>
 *           loaded.things.get(account_id, input.thing_id) ?? null,
 *         recordIdOf: ({ input }) => input.thing_id,
 *         summaryOf: () => "Return a thing to its sender.",
 *         describe: describeThing,
 *       }),
 *     );
 *
 * and among the handlers of the worker: `proposalTask(deps, inner, describeThing)`. The use case's
 * name is the kind of its proposals (see `kinds.ts`) and must not change while some are pending.
 * Its input must be plain data
 * (texts, numbers, BigInts, lists, objects). Its audit entries take `actorOf(command)`. The
 * answer is the use case's own or `ProposalAnswer`: document both with `orProposal(schema)`.
 */
export function withApproval<Input, Loaded, Output>(
  use_case: UseCase<Input, Loaded, Output>,
  options: ApprovalOptions<Input, Loaded>,
): UseCase<Input, LoadedWithApproval<Loaded>, Outcome<Output>> {
  return {
    name: use_case.name,
    rows: (input) => use_case.rows(input) + 3,
    weigh: (_tx, commands) => weighEqually(commands, PER_SET),
    load: (tx, commands) => loadWithApproval(use_case, options, tx, commands),
    decide: (loaded, command, now) => decideOne(use_case, options, loaded, command, now),
    record: async (tx, { inner, sums }, accepted, now) => {
      const done = accepted.flatMap((entry): Accepted<Input, Output>[] =>
        "done" in entry.output ? [{ ...entry, output: entry.output.done }] : [],
      );
      if (done.length > 0) await use_case.record(tx, inner, done, now);
      sums.record(tx, now);
      const proposed = accepted.flatMap(({ output }) =>
        "proposed" in output ? [output.proposed] : [],
      );
      if (proposed.length > 0) recordProposals(tx, proposed, now);
    },
    render: (output) =>
      "done" in output
        ? use_case.render(output.done)
        : renderProposal(output.proposed, options.public_url()),
  };
}

/**
 * Loads a command that may become a proposal once more, alone: it takes nothing yet, so it must
 * not reduce what is available to other commands or proposals.
 */
async function loadWithApproval<Input, Loaded, Output>(
  use_case: UseCase<Input, Loaded, Output>,
  options: ApprovalOptions<Input, Loaded>,
  tx: Transaction,
  commands: readonly Command<Input>[],
): Promise<LoadedWithApproval<Loaded>> {
  const [controls, inner] = await Promise.all([
    lockSums(tx, options, commands),
    use_case.load(tx, commands),
  ]);
  const counted = new Map(
    commands.map((command) => [command.id, countedOf(options, inner, command)]),
  );
  const needs = new Map(
    commands.map((command) => [command.id, neededFor(options, inner, command)]),
  );
  const is_any_needed = [...needs.values()].some((needed) => needed !== null);
  const sums = await loadSums(tx, options, controls, [...counted.values()], is_any_needed);
  // In the worst case all commands are accepted: what is above the limit then may be proposed.
  const worst = sums.copy();
  const alone = new Map<string, LoadedAlone<Loaded>>();
  for (const command of commands) {
    const needed = needs.get(command.id) ?? null;
    const request = counted.get(command.id)!;
    if (needed === null && worst.reasonFor(request) === null) {
      worst.take(request);
      continue;
    }
    const { why, voters } = needed ?? { why: null, voters: votersOf(command) };
    const loaded = await use_case.load(tx, [command]);
    const description = await options.describe(tx, loaded, command);
    alone.set(command.id, { loaded, description, why, voters });
  }
  const proposing = commands.filter(({ id }) => alone.has(id));
  const account_ids = [...new Set(proposing.map(({ account_id }) => account_id))];
  const [pending, account_keys, key_creators] = await Promise.all([
    countPending(tx, account_ids, PENDING_MAX),
    options.keyring.openAccounts(tx, proposing),
    findKeyCreators(
      tx,
      proposing.map(({ credential_id }) => credential_id),
    ),
  ]);
  return { inner, sums, counted, alone, pending, account_keys, key_creators };
}

function countedOf<Input, Loaded>(
  { amountOf, leavingOf, countsAs }: ApprovalOptions<Input, Loaded>,
  loaded: Loaded,
  command: Command<Input>,
): Counted {
  const { account_id, id } = command;
  const counts_as = countsAs ? countsAs(loaded, command) : [id];
  const leaving = leavingOf?.(loaded, command) ?? null;
  return { account_id, amount: amountOf(loaded, command), leaving, counts_as };
}

/** What the operator does in another account needs one of the operator's members. */
function votersOf({ account_id, actor_account_id = account_id }: Command<unknown>): Voters {
  return actor_account_id === account_id ? "members" : "with_operator";
}

/** Why it needs approval whatever its amount. */
function neededFor<Input, Loaded>(
  { alwaysNeeds, needsOperator, now }: ApprovalOptions<Input, Loaded>,
  loaded: Loaded,
  command: Command<Input>,
): { why: string; voters: Voters } | null {
  const operator = needsOperator?.(loaded, command) ?? null;
  if (operator !== null) return { why: operator, voters: "with_operator" };
  const always = alwaysNeeds?.(loaded, command, now()) ?? null;
  return always === null ? null : { why: always, voters: votersOf(command) };
}

function decideOne<Input, Loaded, Output>(
  use_case: UseCase<Input, Loaded, Output>,
  options: ApprovalOptions<Input, Loaded>,
  loaded: LoadedWithApproval<Loaded>,
  command: Command<Input>,
  now: Date,
): Verdict<Outcome<Output>> {
  const { inner, sums, counted, alone } = loaded;
  const request = counted.get(command.id)!;
  const own = alone.get(command.id);
  const reason = sums.reasonFor(request);
  const why = own?.why ?? (reason && APPROVAL_REASONS[reason]);
  if (own && why) return decideToPropose(use_case, options, loaded, own, { command, why, now });
  // Read again: earlier commands of this set may have used up what this one would have gone by.
  if (neededFor(options, inner, command) !== null) {
    throw new Error("needs approval only after others of its set: each command runs alone");
  }
  const verdict = use_case.decide(inner, command, now);
  if ("refusal" in verdict) return verdict;
  sums.take(request);
  return { ...verdict, output: { done: verdict.output } };
}

/** Whoever votes sees who proposed all that waits; the operator's members of all accounts. */
const PENDING_MAX = 10_000;
const TOO_MANY =
  `The account has ${PENDING_MAX} proposals that wait: confirm or reject some of them, or wait ` +
  "until they lapse.";

/** Proposes only what the use case would accept. */
function decideToPropose<Input, Loaded, Output>(
  use_case: UseCase<Input, Loaded, Output>,
  options: ApprovalOptions<Input, Loaded>,
  { sums, counted, pending, account_keys, key_creators }: LoadedWithApproval<Loaded>,
  { loaded, description, voters }: LoadedAlone<Loaded>,
  { command, why, now }: { command: Command<Input>; why: string; now: Date },
): Verdict<Outcome<Output>> {
  const operator_approval = voters === "with_operator";
  const asked = { ...command, approval: "asked" as const, operator_approval };
  const verdict = use_case.decide(loaded, asked, now);
  if ("refusal" in verdict) return verdict;
  if ((pending.get(command.account_id) ?? 0) >= PENDING_MAX) {
    return { refusal: new Refusal("limit_exceeded", TOO_MANY) };
  }
  if (!description) throw new Error(`nothing describes what ${use_case.name} proposes`);
  const { subject } = verdict;
  const amount_usd = sums.amountOf(counted.get(command.id)!);
  const proposed = propose(
    command,
    {
      kind: use_case.name,
      record_id: options.recordIdOf(command),
      amount_usd,
      summary: options.summaryOf(loaded, command),
      voters,
    },
    {
      content: {
        input: options.inputOf?.(loaded, command) ?? command.input,
        ...describedContent(description, why),
      },
      subject_id: subject?.subject_id ?? null,
      key: subject?.key ?? account_keys.get(command.account_id)!,
    },
    key_creators,
    now,
  );
  return { output: { proposed }, subject };
}
