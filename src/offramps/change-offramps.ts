import { recordAudits } from "../accounts/audit.ts";
import type { AuditAction } from "../accounts/audit-actions.ts";
import { actorOf } from "../accounts/model.ts";
import { AccountMap } from "../platform/account-map.ts";
import type { Command, UseCase, Verdict } from "../platform/commands/use-case.ts";
import type { Transaction } from "../platform/db/database.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import { notFound, type Problem, Refusal } from "../platform/errors.ts";
import { type Checked, problemsOf } from "../platform/problems.ts";
import { assertOfframps } from "./assert-offramps.ts";
import { type ChangedOfframp, recordChanges } from "./record-changes.ts";
import type { OfframpRenderer } from "./render.ts";
import { type KeyedOfframp, lockOfframps, type OfframpRow, openOfframps } from "./store.ts";

/** A request that changes one offramp. */
export type OfframpChange<Requested> = {
  user_id: string | null;
  quote_id: string | null;
  offramp_id: string;
  requested: Requested;
  /** Why, for the audit log; absent or empty if none was given. */
  reason?: string;
  problems: readonly Problem[];
};

/** What one kind of change decides and writes besides the offramp itself. */
export type OfframpRule<Requested, Extra> = {
  name: string;
  /** The name of the act in the audit log; absent where the rule itself writes it. */
  act?: AuditAction;
  /** Reads what the decision needs, before the offramps are locked. */
  load: (tx: Transaction, commands: readonly Command<OfframpChange<Requested>>[]) => Promise<Extra>;
  /** Reads what must be locked after the offramps. */
  loadMore?: (tx: Transaction, extra: Extra, offramps: readonly OfframpRow[]) => Promise<Extra>;
  decide: (
    entry: KeyedOfframp,
    command: Command<OfframpChange<Requested>>,
    extra: Extra,
    now: Date,
  ) => Checked<ChangedOfframp>;
  record: (tx: Transaction, changes: readonly ChangedOfframp[], extra: Extra, now: Date) => void;
  /** The response, where it is not the offramp itself. */
  render?: (change: ChangedOfframp) => string;
};

export type LoadedOfframps<Extra> = { offramps: AccountMap<KeyedOfframp>; extra: Extra };

/** The steps that every change of one offramp shares: find, lock, decide, write, respond. */
export function changeOfframps<Requested, Extra>(
  keyring: Keyring,
  renderer: OfframpRenderer,
  rule: OfframpRule<Requested, Extra>,
): UseCase<OfframpChange<Requested>, LoadedOfframps<Extra>, ChangedOfframp> {
  return {
    name: rule.name,
    rows: () => 2,
    load: async (tx, commands) => {
      const first = await rule.load(tx, commands);
      const keys = commands.map(({ account_id, input }) => ({ account_id, id: input.offramp_id }));
      const rows = await lockOfframps(tx, keys);
      const extra = rule.loadMore ? await rule.loadMore(tx, first, rows) : first;
      const offramps = await openOfframps(tx, keyring, rows);
      await assertOfframps(tx, offramps);
      return { offramps: AccountMap.of(offramps, ({ offramp }) => offramp), extra };
    },
    decide: (loaded, command, now) => decideOne(rule, loaded, command, now),
    record: (tx, { extra }, accepted, now) => {
      const changes = accepted.map((entry) => entry.output);
      recordChanges(tx, renderer, changes, now);
      rule.record(tx, changes, extra, now);
      const { act } = rule;
      if (act === undefined) return;
      const acts = accepted.map(({ command, output: { offramp } }) => ({
        account_id: offramp.account_id,
        actor: actorOf(command),
        action: act,
        record: `offramp:${offramp.id}`,
        reason: command.input.reason ?? "",
      }));
      recordAudits(tx, acts, now);
    },
    render: rule.render ?? (({ offramp }) => renderer.offramp(offramp)),
  };
}

function decideOne<Requested, Extra>(
  rule: OfframpRule<Requested, Extra>,
  { offramps, extra }: LoadedOfframps<Extra>,
  command: Command<OfframpChange<Requested>>,
  now: Date,
): Verdict<ChangedOfframp> {
  const { account_id, input } = command;
  const entry = offramps.get(account_id, input.offramp_id);
  const is_named = (wanted: string | null, own?: string) => wanted === null || wanted === own;
  if (
    !entry ||
    !is_named(input.user_id, entry.offramp.user_id) ||
    !is_named(input.quote_id, entry.offramp.quote_id)
  ) {
    return { refusal: Refusal.of([...input.problems, notFound("offramp_id")]) };
  }
  const decided = rule.decide(entry, command, extra, now);
  const problems = [...input.problems, ...problemsOf(decided)];
  if (problems.length > 0 || "problems" in decided) return { refusal: Refusal.of(problems) };
  const change = decided.value;
  // A later command of the same set must see this change.
  offramps.set(account_id, input.offramp_id, change);
  return { output: change, subject: { subject_id: change.offramp.user_id, key: change.key } };
}
