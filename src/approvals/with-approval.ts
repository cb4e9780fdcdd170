import { findKeyCreators } from "../accounts/api-key-store.ts";
import { actorOf } from "../accounts/model.ts";
import type { Accepted, Command, UseCase, Verdict } from "../platform/commands/use-case.ts";
import type { Session, Transaction } from "../platform/db/database.ts";
import type { AccountKeys, Keyring } from "../platform/encryption/keyring.ts";
import type { Content, Detail, Proposal, Voters } from "./model.ts";
import { newProposal, recordProposals } from "./record-proposals.ts";
import { renderProposal } from "./render.ts";
import type { NewProposal, Proposer } from "./store.ts";

/** Minor units of a currency or a token. */
type Amount = { amount: bigint; currency: string };

/** An amount in cents of usd, rounded up; null when no rate is available. */
export type ToUsd = (amount: Amount) => bigint | null;

/** The settings shared by all use cases; `app/` creates them and passes them to the modules. */
export type ApprovalRules = {
  /** Cents: a larger amount needs two members. Undefined: no amount does. */
  limit_usd: bigint | undefined;
  /** Reads the rates in the transaction that decides. */
  usdValue: (session: Session) => Promise<ToUsd>;
  keyring: Keyring;
};

/** What a use case says about its commands. `loaded` is the result of its own `load`. */
type ApprovalOptions<Input, Loaded> = ApprovalRules & {
  /** The amount a command moves; null when unknown, which counts as above the limit. */
  amountOf: (loaded: Loaded, command: Command<Input>) => Amount | null;
  recordIdOf: (command: Command<Input>) => string;
  /** One sentence, without personal data, that describes the effect to a member. */
  summaryOf: (loaded: Loaded, command: Command<Input>) => string;
  /** What members must see to judge it; may be personal data, so it is stored encrypted. */
  detailsOf?: (loaded: Loaded, command: Command<Input>) => Detail[];
  /** Needs two members whatever the amount. */
  alwaysNeeds?: (loaded: Loaded, command: Command<Input>) => boolean;
  /** Needs two members whatever the amount, one of them the operator's. */
  needsOperator?: (loaded: Loaded, command: Command<Input>) => boolean;
  /** The input to store, when it must include what the members saw. */
  inputOf?: (loaded: Loaded, command: Command<Input>) => Input;
};

/** The data used to decide on a command that becomes a proposal. */
type LoadedAlone<Loaded> = { loaded: Loaded; amount_usd: bigint | null; voters: Voters };
type LoadedWithApproval<Loaded> = {
  /** For the commands that run at once. */
  inner: Loaded;
  /** For each command that becomes a proposal, by its id. */
  to_propose: ReadonlyMap<string, LoadedAlone<Loaded>>;
  account_keys: AccountKeys;
  /** Who created the API keys that proposed something. */
  key_creators: ReadonlyMap<string, string>;
};
type Outcome<Output> = { done: Output } | { proposed: NewProposal };

/**
 * Adds two-person approval to a use case: what it accepts is done at once up to the approval
 * amount, and becomes a proposal above it, which two members confirm on /dashboard/proposals. Then
 * a task runs the use case itself with the same input; changes since then are checked again.
 *
 *     const inner = refundThings(keyring);
 *     const submit = executor.register(
 *       withApproval(inner, {
 *         ...deps.approvals,
 *         amountOf: (loaded, { account_id, input }) =>
 *           loaded.things.get(account_id, input.thing_id) ?? null,
 *         recordIdOf: ({ input }) => input.thing_id,
 *         summaryOf: () => "Return a thing to its sender.",
 *       }),
 *     );
 *
 * and among the handlers of the worker: `proposalTask(deps, inner)`. The use case's name is the
 * kind of its proposals and must not change while some are pending. Its input must be plain data
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
    load: (tx, commands) => loadWithApproval(use_case, options, tx, commands),
    decide: (loaded, commands, now) =>
      new Map([
        ...decideAtOnce(use_case, loaded, commands, now),
        ...decideToPropose(use_case, options, loaded, commands, now),
      ]),
    record: (tx, { inner }, accepted, now) => {
      const done = accepted.flatMap((entry): Accepted<Input, Output>[] =>
        "done" in entry.output ? [{ ...entry, output: entry.output.done }] : [],
      );
      if (done.length > 0) use_case.record(tx, inner, done, now);
      const proposed = accepted.flatMap(({ output }) =>
        "proposed" in output ? [output.proposed] : [],
      );
      if (proposed.length > 0) recordProposals(tx, proposed, now);
    },
    render: (output) =>
      "done" in output ? use_case.render(output.done) : renderProposal(output.proposed.proposal),
  };
}

/**
 * Loads a command that becomes a proposal once more, alone: it takes nothing yet, so it must not
 * reduce what is available to other commands or proposals.
 */
async function loadWithApproval<Input, Loaded, Output>(
  use_case: UseCase<Input, Loaded, Output>,
  options: ApprovalOptions<Input, Loaded>,
  tx: Transaction,
  commands: readonly Command<Input>[],
): Promise<LoadedWithApproval<Loaded>> {
  const { limit_usd, alwaysNeeds, needsOperator, amountOf, keyring } = options;
  const inner = await use_case.load(tx, commands);
  const isNeeded = (command: Command<Input>) =>
    alwaysNeeds?.(inner, command) || needsOperator?.(inner, command);
  const checked = commands.filter((command) => limit_usd !== undefined || isNeeded(command));
  const toUsd: ToUsd = checked.length > 0 ? await options.usdValue(tx) : () => null;
  const to_propose = new Map<string, LoadedAlone<Loaded>>();
  for (const command of checked) {
    const amount = amountOf(inner, command);
    const amount_usd = amount && toUsd(amount);
    const is_within = limit_usd === undefined || (amount_usd !== null && amount_usd <= limit_usd);
    if (is_within && !isNeeded(command)) continue;
    const voters = needsOperator?.(inner, command) ? "with_operator" : "members";
    to_propose.set(command.id, { loaded: await use_case.load(tx, [command]), amount_usd, voters });
  }
  const proposing = commands.filter(({ id }) => to_propose.has(id));
  const [account_keys, key_creators] = await Promise.all([
    keyring.openAccounts(
      tx,
      proposing.map(({ account_id }) => account_id),
    ),
    findKeyCreators(
      tx,
      proposing.map(({ credential_id }) => credential_id),
    ),
  ]);
  return { inner, to_propose, account_keys, key_creators };
}

type Verdicts<Output> = Map<string, Verdict<Outcome<Output>>>;

function decideAtOnce<Input, Loaded, Output>(
  use_case: UseCase<Input, Loaded, Output>,
  { inner, to_propose }: LoadedWithApproval<Loaded>,
  commands: readonly Command<Input>[],
  now: Date,
): Verdicts<Output> {
  const at_once = commands.filter(({ id }) => !to_propose.has(id));
  const verdicts: Verdicts<Output> = new Map();
  if (at_once.length === 0) return verdicts;
  for (const [id, verdict] of use_case.decide(inner, at_once, now)) {
    const outcome =
      "refusal" in verdict ? verdict : { ...verdict, output: { done: verdict.output } };
    verdicts.set(id, outcome);
  }
  return verdicts;
}

/** Proposes only what the use case would accept. */
function decideToPropose<Input, Loaded, Output>(
  use_case: UseCase<Input, Loaded, Output>,
  options: ApprovalOptions<Input, Loaded>,
  { to_propose, account_keys, key_creators }: LoadedWithApproval<Loaded>,
  commands: readonly Command<Input>[],
  now: Date,
): Verdicts<Output> {
  const verdicts: Verdicts<Output> = new Map();
  for (const command of commands) {
    const alone = to_propose.get(command.id);
    if (!alone) continue;
    const operator_approval = alone.voters === "with_operator";
    const asked = { ...command, approval: "asked" as const, operator_approval };
    const verdict = use_case.decide(alone.loaded, [asked], now).get(command.id)!;
    if ("refusal" in verdict) {
      verdicts.set(command.id, verdict);
      continue;
    }
    const { subject } = verdict;
    const proposal = proposalOf(use_case.name, options, alone, command, now);
    const proposed: NewProposal = {
      proposal: {
        ...proposal,
        proposed_by_person:
          proposal.proposed_by_person ?? key_creators.get(command.credential_id) ?? null,
      },
      proposer: proposerOf(command),
      content: contentOf(options, alone.loaded, command),
      subject_id: subject?.subject_id ?? null,
      key: subject?.key ?? account_keys.get(command.account_id)!,
    };
    verdicts.set(command.id, { output: { proposed }, subject });
  }
  return verdicts;
}

function proposalOf<Input, Loaded>(
  kind: string,
  options: ApprovalOptions<Input, Loaded>,
  { loaded, amount_usd, voters }: LoadedAlone<Loaded>,
  command: Command<Input>,
  now: Date,
): Proposal {
  const proposed = {
    account_id: command.account_id,
    kind,
    record_id: options.recordIdOf(command),
    amount_usd,
    summary: options.summaryOf(loaded, command),
    voters,
  };
  return newProposal(proposed, actorOf(command), proposerOf(command), now);
}

/** The member who sent the command, if any: proposing counts as a confirmation. */
function proposerOf({ account_id, actor }: Command<unknown>): Proposer | null {
  if (!actor?.startsWith("member:")) return null;
  return { account_id, person_id: actor.slice("member:".length) };
}

function contentOf<Input, Loaded>(
  options: ApprovalOptions<Input, Loaded>,
  loaded: Loaded,
  command: Command<Input>,
): Content {
  return {
    input: options.inputOf?.(loaded, command) ?? command.input,
    details: options.detailsOf?.(loaded, command) ?? [],
  };
}
