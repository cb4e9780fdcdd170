import { actorOf } from "../accounts/model.ts";
import { recordForOperator } from "../accounts/operator-acts.ts";
import type { PaymentDetail } from "../payment-details/model.ts";
import { lockPaymentDetails, toPaymentDetails } from "../payment-details/store.ts";
import type { AccountMap } from "../platform/account-map.ts";
import type { UseCase, Verdict } from "../platform/commands/use-case.ts";
import type { Transaction } from "../platform/db/database.ts";
import type { Keyring, SubjectKeys } from "../platform/encryption/keyring.ts";
import { notFound, type Problem, Refusal } from "../platform/errors.ts";
import { findKycs } from "../users/kyc-store.ts";
import type { Kyc } from "../users/model.ts";
import { lockUsers, type UserKey, updateHeld } from "../users/store.ts";
import { DECIDED, type MatchDecision, type MatchFacts, type ScreeningMatch } from "./model.ts";
import { renderMatch, type ShownMatch } from "./render.ts";
import { settleRecords } from "./settle-records.ts";
import { findMatch, listMatchFacts, listWaitingUsers, toMatches, updateDecided } from "./store.ts";

type MatchDecisionInput = {
  match_id: string;
  reason: string;
  problems: readonly Problem[];
};

type LoadedMatch = {
  match: ShownMatch;
  facts: MatchFacts[];
  detail: PaymentDetail[];
  keys: SubjectKeys;
  kycs: AccountMap<Kyc>;
  waiting: UserKey[];
};
type Loaded = Map<string, LoadedMatch>;

/**
 * Decides that a person is, or is not, the entry of a list. The decision holds until the person or
 * the entry changes. The command is of the person's account, the operator acts: it is recorded in
 * the operator's audit log, and the account must not learn of it.
 */
export function decideMatches(
  keyring: Keyring,
  decision: MatchDecision,
): UseCase<MatchDecisionInput, Loaded, ShownMatch> {
  return {
    name: `${decision}-screening-matches`,
    rows: () => 4,
    load: async (tx, commands) => {
      const found: Loaded = new Map();
      for (const id of [...new Set(commands.map(({ input }) => input.match_id))].sort()) {
        const loaded = await lockMatch(tx, keyring, id);
        if (loaded) found.set(id, loaded);
      }
      return found;
    },
    decide: (found, command, now): Verdict<ShownMatch> => {
      const { match_id, reason, problems } = command.input;
      const loaded = found.get(match_id);
      if (!loaded) return { refusal: Refusal.of([...problems, notFound("screening_match_id")]) };
      if (problems.length > 0) return { refusal: Refusal.of(problems) };
      const { match } = loaded;
      if (match.status === DECIDED[decision] || match.status === "closed") {
        const message = `This match is ${match.status}.`;
        const problem = {
          field: "screening_match_id",
          code: "invalid_transition",
          message,
        } as const;
        return { refusal: Refusal.of([problem]) };
      }
      const updated_at = new Date(Math.max(now.getTime(), match.updated_at.getTime() + 1));
      const output: ShownMatch = {
        ...match,
        status: DECIDED[decision],
        details: { ...match.details, reason },
        ...{ decided_by: actorOf(command), decided_at: now, updated_at },
      };
      found.set(match_id, { ...loaded, match: output });
      // A later command of the same set may be about the same person.
      for (const other of found.values()) other.facts = withDecision(other.facts, output);
      return { output, subject: null };
    },
    record: (tx, found, accepted, now) => {
      const settled = new Set<string>();
      for (const { command, output } of accepted) {
        const { facts, detail, keys, kycs, waiting } = found.get(output.id)!;
        updateDecided(tx, output, keys.get(output.account_id, output.user_id)!);
        const judged = Map.groupBy(facts, ({ record_id }) => record_id);
        const { account_id, user_id, record_kind, record_id } = output;
        const is_first = !settled.has(record_id);
        settled.add(record_id);
        const users = is_first && record_kind === "user" ? [{ account_id, id: user_id }] : [];
        const details = is_first ? detail : [];
        const held = settleRecords(tx, { users, kycs, waiting, details, keys, judged }, now);
        for (const user of held) updateHeld(tx, user);
        recordForOperator(
          tx,
          account_id,
          {
            account_id: command.actor_account_id ?? command.account_id,
            actor: actorOf(command),
            action: `screening_match.${decision}`,
            record: `screening_match:${output.id}`,
            reason: command.input.reason,
            detail: {
              subject: `${record_kind}:${record_id}`,
              list: output.list,
              entry: output.entry_id,
            },
          },
          now,
        );
      }
    },
    render: renderMatch,
  };
}

async function lockMatch(
  tx: Transaction,
  keyring: Keyring,
  id: string,
): Promise<LoadedMatch | undefined> {
  // Read first, only to learn which user to lock.
  const seen = await findMatch(tx, id);
  if (!seen) return undefined;
  const { account_id, user_id, record_kind, record_id } = seen;
  const user = { account_id, user_id };
  if ((await lockUsers(tx, [user])).length === 0) return undefined;
  const rows =
    record_kind === "payment_detail"
      ? await lockPaymentDetails(tx, [{ account_id, id: record_id }])
      : [];
  const [row, facts, kycs, keys, waiting] = await Promise.all([
    findMatch(tx, id),
    listMatchFacts(tx, [user]),
    findKycs(tx, [user]),
    keyring.openUserKeys(tx, [user]),
    listWaitingUsers(tx, [user]),
  ]);
  const [match] = toMatches(row ? [row] : [], keys);
  const undecided = rows.filter(({ status }) => status !== "deactivated" && status !== "failed");
  return match && { match, facts, detail: toPaymentDetails(undecided, keys), keys, kycs, waiting };
}

function withDecision(facts: readonly MatchFacts[], { id, status }: ScreeningMatch): MatchFacts[] {
  return facts.map((fact) => (fact.id === id ? { ...fact, status } : fact));
}
