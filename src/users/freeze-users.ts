import { actorOf } from "../accounts/model.ts";
import { recordOperatorAct } from "../accounts/operator-acts.ts";
import type { UseCase, Verdict } from "../platform/commands/use-case.ts";
import { notFound, type Problem, Refusal } from "../platform/errors.ts";
import { enqueueTasks } from "../platform/tasks/tasks.ts";
import { lockFrozen } from "./any-account-store.ts";
import { updateFrozen } from "./store.ts";
import { REASSESS_USER_TASK } from "./task-kinds.ts";

type Freeze = { user_id: string; reason: string; problems: readonly Problem[] };
type Found = { account_id: string; frozen_at: Date | null };
type Frozen = { id: string; account_id: string; frozen_at: Date | null; reason: string };

function decideOne(
  action: "freeze" | "unfreeze",
  found: Map<string, Found>,
  { user_id, reason, problems }: Freeze,
  now: Date,
): Verdict<Frozen> {
  const user = found.get(user_id);
  if (!user) return { refusal: Refusal.of([...problems, notFound("user_id")]) };
  if (problems.length > 0) return { refusal: Refusal.of(problems) };
  // Freezing again keeps the time of the first.
  const frozen_at = action === "freeze" ? (user.frozen_at ?? now) : null;
  found.set(user_id, { ...user, frozen_at });
  const output = { id: user_id, account_id: user.account_id, frozen_at, reason };
  return { output, subject: null };
}

/**
 * Freezes users, or ends it; the command is of the user's account, the operator acts. While frozen
 * nothing leaves by any door; deposits are still credited. The operator's audit log keeps the
 * reason.
 */
export function freezeUsers(
  action: "freeze" | "unfreeze",
): UseCase<Freeze, Map<string, Found>, Frozen> {
  return {
    name: `${action}-users`,
    rows: () => 2,
    load: async (tx, commands) => {
      const found = new Map<string, Found>();
      const owner_of = new Map(
        commands.map(({ account_id, input }) => [input.user_id, account_id]),
      );
      for (const [id, account_id] of [...owner_of].sort()) {
        const user = await lockFrozen(tx, { account_id, id });
        if (user) found.set(id, user);
      }
      return found;
    },
    decide: (found, { input }, now) => decideOne(action, found, input, now),
    record: (tx, _found, accepted, now) => {
      for (const { command, output } of accepted) {
        const { id, account_id, frozen_at, reason } = output;
        updateFrozen(tx, { account_id, user_id: id }, frozen_at);
        const entry = {
          account_id,
          actor: actorOf(command),
          action: `user.${action}` as const,
          reason,
        };
        const operator_id = command.actor_account_id ?? account_id;
        recordOperatorAct(tx, operator_id, { ...entry, record: `user:${id}` }, now);
        // What waited for the end of the freeze goes on now, not within the hour.
        if (action === "unfreeze") enqueueTasks(tx, REASSESS_USER_TASK, [{ account_id, id }], now);
      }
    },
    render: ({ id, frozen_at }) =>
      JSON.stringify({ user: { id, frozen_at: frozen_at?.toISOString() ?? null } }),
  };
}
