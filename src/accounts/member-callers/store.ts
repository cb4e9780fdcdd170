import type { Session } from "../../platform/db/database.ts";
import type { Role } from "../model.ts";

/** Where a session was when its request was accepted. */
export type SessionState = { id: string; account_id: string; person_id: string; role: Role };

/**
 * Which of these sessions have not ended, and are still in that account with that role. Whoever
 * ends them, or changes the role, waits until what was permitted here is committed: afterwards
 * nothing is written any more. The members are locked first, as by whoever removes one.
 */
export function listActiveSessions(
  session: Session,
  states: readonly SessionState[],
  now: Date,
): Promise<SessionState[]> {
  return session.query<SessionState>(
    `select id, account_id, person_id, role
     from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[])
       as wanted (id, account_id, person_id, role)
     join sessions using (id, account_id, person_id)
     join members using (account_id, person_id, role)
     where sessions.state = 'active' and sessions.expires_at > $5
     for share of members for key share of sessions`,
    [
      states.map(({ id }) => id),
      states.map(({ account_id }) => account_id),
      states.map(({ person_id }) => person_id),
      states.map(({ role }) => role),
      now,
    ],
  );
}
