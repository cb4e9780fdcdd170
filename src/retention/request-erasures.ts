import { actorOf } from "../accounts/model.ts";
import { type KycSession, listOpenSessions } from "../kyc/store.ts";
import { AccountMap } from "../platform/account-map.ts";
import {
  type Command,
  type UseCase,
  type Verdict,
  weighEqually,
} from "../platform/commands/use-case.ts";
import type { Transaction } from "../platform/db/database.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import { notFound, type Problem, Refusal } from "../platform/errors.ts";
import { lockUsers, type UserKey, usersOf } from "../users/store.ts";
import { loadFacts } from "./load-facts.ts";
import { isBusy, type Retention, type RetentionFacts, retentionOf } from "./model.ts";
import { type By, recordErasure, recordRequest, recordRestored } from "./record-erasure.ts";
import { renderRetention } from "./render.ts";

type Asked = { user_id: string; reason: string; problems: readonly Problem[] };

type Loaded = { users: AccountMap<RetentionFacts>; sessions: readonly KycSession[] };

type Change = "erase" | "request" | "restore" | null;
type Changed = { retention: Retention; change: Change };

export type RetentionDeps = { keyring: Keyring; retention_years: number };

/**
 * Erases users, or deactivates those of whom something must be kept and erases them later. Refused
 * while money is on its way or owed to the person: it could not be paid without knowing them.
 */
export function requestErasures(deps: RetentionDeps): UseCase<Asked, Loaded, Changed> {
  return useCaseOf("request-erasures", deps, (loaded, command, now) => {
    const { account_id, input } = command;
    const { user_id } = input;
    const facts = loaded.users.get(account_id, user_id)!;
    const retention = retentionOf(user_id, facts, deps.retention_years, now);
    if (retention.kept.length === 0) {
      loaded.users.delete(account_id, user_id);
      return { retention: erased(retention, now), change: "erase" };
    }
    if (facts.deactivated_at) return { retention, change: null };
    if (isBusy(facts)) return [busy()];
    const requested = { ...facts, deactivated_at: now };
    loaded.users.set(account_id, user_id, requested);
    const waiting = retentionOf(user_id, requested, deps.retention_years, now);
    return { retention: waiting, change: "request" };
  });
}

/** Withdraws the request: the users can pay again. */
export function restoreUsers(deps: RetentionDeps): UseCase<Asked, Loaded, Changed> {
  return useCaseOf("restore-users", deps, (loaded, { account_id, input: { user_id } }, now) => {
    const facts = { ...loaded.users.get(account_id, user_id)! };
    const change = facts.deactivated_at ? "restore" : null;
    facts.deactivated_at = null;
    loaded.users.set(account_id, user_id, facts);
    return { retention: retentionOf(user_id, facts, deps.retention_years, now), change };
  });
}

/** All payments of each user are read. */
const PER_SET = 10;

type Decide = (loaded: Loaded, command: Command<Asked>, now: Date) => Changed | Problem[];

function useCaseOf(
  name: string,
  deps: RetentionDeps,
  decideKnown: Decide,
): UseCase<Asked, Loaded, Changed> {
  return {
    name,
    rows: () => 4,
    weigh: (_tx, commands) => weighEqually(commands, PER_SET),
    load: (tx, commands) => load(tx, usersOf(commands)),
    decide: (loaded, command, now): Verdict<Changed> => {
      const { account_id, input } = command;
      if (!loaded.users.has(account_id, input.user_id)) {
        return { refusal: Refusal.of([...input.problems, notFound("user_id")]) };
      }
      if (input.problems.length > 0) return { refusal: Refusal.of(input.problems) };
      const decided = decideKnown(loaded, command, now);
      if (Array.isArray(decided)) return { refusal: Refusal.of(decided) };
      // Not stored under the person's key: it may be destroyed, and the answer names nobody.
      return { output: decided, subject: null };
    },
    record: (tx, { sessions }, accepted, now) => {
      for (const { command, output } of accepted) {
        const by = { actor: actorOf(command), reason: command.input.reason };
        const key = { account_id: command.account_id, user_id: output.retention.user_id };
        record(tx, deps.keyring, key, output, sessions, by, now);
      }
    },
    render: ({ retention }) => renderRetention(retention),
  };
}

async function load(tx: Transaction, keys: readonly UserKey[]): Promise<Loaded> {
  const users = new AccountMap<RetentionFacts>();
  for (const row of await lockUsers(tx, keys)) {
    users.set(row.account_id, row.id, await loadFacts(tx, row));
  }
  return { users, sessions: await listOpenSessions(tx, keys) };
}

function record(
  tx: Transaction,
  keyring: Keyring,
  key: UserKey,
  { change, retention }: Changed,
  open: readonly KycSession[],
  by: By,
  now: Date,
): void {
  if (change === "erase") recordErasure(tx, keyring, key, by, now);
  if (change === "restore") recordRestored(tx, key, by, now);
  if (change !== "request") return;
  const { account_id, user_id } = key;
  const sessions = open.filter((one) => one.account_id === account_id && one.user_id === user_id);
  recordRequest(tx, key, retention, sessions, by, now);
}

function erased(retention: Retention, now: Date): Retention {
  return { ...retention, status: "erased", requested_at: retention.requested_at ?? now };
}

function busy(): Problem {
  const message =
    "The user has payments in progress or a balance; complete or refund them first. See " +
    "GET /users/:user_id/retention.";
  return { field: "user_id", code: "invalid_transition", message };
}
