import { recordAudit } from "../accounts/audit.ts";
import { actorOf } from "../accounts/model.ts";
import type { Accepted, Command, UseCase, Verdict } from "../platform/commands/use-case.ts";
import type { Session, Transaction } from "../platform/db/database.ts";
import type { AccountKeys, Keyring } from "../platform/encryption/keyring.ts";
import { newId } from "../platform/ids.ts";
import { minorToText } from "../platform/money.ts";
import type { Content, Detail, Proposal } from "./model.ts";
import { renderProposal } from "./render.ts";
import { insertProposals, insertVotes, type NewProposal } from "./store.ts";

/** Minor units of a currency or a token. */
export type Amount = { amount: bigint; currency: string };

/** An amount in cents of usd, rounded up; null when no rate is at hand. */
export type ToUsd = (amount: Amount) => bigint | null;

/** What is the same for all use cases; `app/` creates it and passes it to the modules. */
export type ApprovalRules = {
  /** Cents: what is above it needs two members. Undefined: nothing does for its amount. */
  limit_usd: bigint | undefined;
  /** Reads the rates, in the transaction that decides. */
  usdValue: (session: Session) => Promise<ToUsd>;
  keyring: Keyring;
};

/** What one use case says of its commands. `loaded` is what its own `load` has read. */
export type ApprovalOptions<Input, Loaded> = ApprovalRules & {
  /** How much a command moves; null when that is not known, which counts as above the limit. */
  amountOf: (loaded: Loaded, command: Command<Input>) => Amount | null;
  recordIdOf: (command: Command<Input>) => string;
  /** One sentence, without personal data, that tells a member what would happen. */
  summaryOf: (loaded: Loaded, command: Command<Input>) => string;
  /** What members must see to judge it; may be personal, it is kept encrypted. */
  detailsOf?: (loaded: Loaded, command: Command<Input>) => Detail[];
  /** Needs two members whatever the amount. */
  alwaysNeeds?: (loaded: Loaded, command: Command<Input>) => boolean;
  /** The input to keep, where it must also say what the members have looked at. */
  inputOf?: (loaded: Loaded, command: Command<Input>) => Input;
};

/** Of a command that becomes a proposal: what it is decided on, apart from all others. */
type Apart<Loaded> = { loaded: Loaded; amount_usd: bigint | null };
type Watched<Loaded> = {
  inner: Loaded;
  apart: ReadonlyMap<string, Apart<Loaded>>;
  account_keys: AccountKeys;
};
type Outcome<Output> = { done: Output } | { proposed: NewProposal };

/**
 * Adds two-person approval to a use case: what it accepts is done at once up to the approval
 * amount, and becomes a proposal above it, which two members confirm on /dashboard/proposals. Then
 * a task runs the use case itself with the same input; what has changed meanwhile is decided again.
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
): UseCase<Input, Watched<Loaded>, Outcome<Output>> {
  return {
    name: use_case.name,
    rows: (input) => use_case.rows(input) + 3,
    load: (tx, commands) => loadApart(use_case, options, tx, commands),
    decide: (watched, commands, now) => {
      const verdicts = new Map<string, Verdict<Outcome<Output>>>();
      const at_once = commands.filter(({ id }) => !watched.apart.has(id));
      const decided = at_once.length > 0 ? use_case.decide(watched.inner, at_once, now) : [];
      for (const [id, verdict] of decided) {
        const output =
          "refusal" in verdict ? verdict : { ...verdict, output: { done: verdict.output } };
        verdicts.set(id, output);
      }
      for (const command of commands) {
        const apart = watched.apart.get(command.id);
        if (!apart) continue;
        const asked = { ...command, approval: "asked" as const };
        const verdict = use_case.decide(apart.loaded, [asked], now).get(command.id)!;
        verdicts.set(
          command.id,
          "refusal" in verdict
            ? verdict
            : propose(use_case.name, options, watched, { ...apart, command, verdict, now }),
        );
      }
      return verdicts;
    },
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
 * What needs two members is read once more for itself alone: what it would take is not taken yet,
 * so neither its neighbours in the set nor other proposals may miss it.
 */
async function loadApart<Input, Loaded, Output>(
  use_case: UseCase<Input, Loaded, Output>,
  options: ApprovalOptions<Input, Loaded>,
  tx: Transaction,
  commands: readonly Command<Input>[],
): Promise<Watched<Loaded>> {
  const { limit_usd, alwaysNeeds, amountOf, keyring } = options;
  const inner = await use_case.load(tx, commands);
  const asked = commands.filter(
    (command) => limit_usd !== undefined || alwaysNeeds?.(inner, command),
  );
  const toUsd: ToUsd = asked.length > 0 ? await options.usdValue(tx) : () => null;
  const apart = new Map<string, Apart<Loaded>>();
  for (const command of asked) {
    const amount = amountOf(inner, command);
    const amount_usd = amount && toUsd(amount);
    const is_within = limit_usd === undefined || (amount_usd !== null && amount_usd <= limit_usd);
    if (is_within && !alwaysNeeds?.(inner, command)) continue;
    apart.set(command.id, { loaded: await use_case.load(tx, [command]), amount_usd });
  }
  const owners = commands.filter(({ id }) => apart.has(id)).map(({ account_id }) => account_id);
  return { inner, apart, account_keys: await keyring.openAccounts(tx, owners) };
}

function propose<Input, Loaded, Output>(
  kind: string,
  options: ApprovalOptions<Input, Loaded>,
  { account_keys }: Watched<Loaded>,
  decided: Apart<Loaded> & {
    command: Command<Input>;
    verdict: Exclude<Verdict<Output>, { refusal: unknown }>;
    now: Date;
  },
): Verdict<Outcome<Output>> {
  const { loaded, amount_usd, command, verdict, now } = decided;
  const { account_id, actor } = command;
  const person_id = actor?.startsWith("member:") ? actor.slice("member:".length) : null;
  const proposal: Proposal = {
    account_id,
    id: newId(now),
    kind,
    record_id: options.recordIdOf(command),
    amount_usd,
    summary: options.summaryOf(loaded, command),
    proposed_by: actorOf(command),
    proposed_by_person: person_id,
    status: "pending",
    outcome: null,
    confirmations: person_id === null ? 0 : 1,
    created_at: now,
    updated_at: now,
  };
  const content: Content = {
    input: options.inputOf?.(loaded, command) ?? command.input,
    details: options.detailsOf?.(loaded, command) ?? [],
  };
  const { subject } = verdict;
  const key = subject?.key ?? account_keys.get(account_id)!;
  const proposed = { proposal, content, subject_id: subject?.subject_id ?? null, key };
  return { output: { proposed }, subject };
}

function recordProposals(tx: Transaction, added: readonly NewProposal[], now: Date): void {
  insertProposals(tx, added);
  const proposals = added.map((entry) => entry.proposal);
  // Whoever proposes agrees.
  insertVotes(
    tx,
    proposals.flatMap(({ account_id, id, proposed_by_person }) =>
      proposed_by_person === null
        ? []
        : [
            {
              account_id,
              proposal_id: id,
              person_id: proposed_by_person,
              verdict: "confirm" as const,
              created_at: now,
            },
          ],
    ),
  );
  for (const { account_id, id, kind, record_id, amount_usd, proposed_by } of proposals) {
    recordAudit(
      tx,
      {
        account_id,
        actor: proposed_by,
        action: "proposal.create",
        record: `proposal:${id}`,
        reason: "",
        detail: {
          kind,
          record_id,
          amount_usd: amount_usd === null ? null : minorToText(amount_usd, 2),
        },
      },
      now,
    );
  }
}
