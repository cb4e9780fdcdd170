import type { Session } from "../../platform/db/database.ts";
import { columnsOf, setOf } from "../../platform/db/rows.ts";
import type { Role } from "../model.ts";

/** Where a session was when its request was accepted. */
export type SessionState = { id: string; account_id: string; person_id: string; role: Role };

/**
 * Which of these sessions have not ended, and are still in that account with that role. Whoever
 * ends them, or changes the role, waits until what was permitted here is committed: afterwards
 * nothing is written any more. The members are locked first, as by whoever removes one. Not so the
 * operator's, where a transaction is of one account, and that is another one: they are read.
 */
export async function listActiveSessions(
  session: Session,
  states: readonly SessionState[],
  now: Date,
  tenant_id?: string,
): Promise<SessionState[]> {
  const is_foreign = states.some(({ account_id }) => account_id !== (tenant_id ?? account_id));
  const locking = session.by_account && is_foreign ? "" : "for share of members";
  const roles = setOf(session, "wanted", "account_id uuid, person_id uuid, role text", states);
  const wanted = ["id", "account_id", "person_id"] as const;
  // Sent together, and answered in this order.
  const [members, sessions] = await Promise.all([
    session.query<Omit<SessionState, "id">>(
      `select account_id, person_id, role
       from ${roles.from} join members using (account_id, person_id, role)
       order by account_id, person_id ${locking}`,
      roles.values,
    ),
    session.query<Omit<SessionState, "role">>(
      `select id, account_id, person_id
       from unnest($1::uuid[], $2::uuid[], $3::uuid[]) as wanted (${wanted.join(", ")})
       join sessions using (${wanted.join(", ")})
       where sessions.state = 'active' and sessions.expires_at > $4
       for key share of sessions`,
      [...columnsOf(states, ...wanted), now],
    ),
  ]);
  const roleKey = (of: Omit<SessionState, "id">) => `${of.account_id} ${of.person_id} ${of.role}`;
  const active = new Set(sessions.map(({ id }) => id));
  const held = new Set(members.map(roleKey));
  return states.filter((state) => active.has(state.id) && held.has(roleKey(state)));
}
