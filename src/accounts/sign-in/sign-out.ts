import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import { deleteSession } from "../store.ts";
import { hashToken, type MemberSession, recordSession } from "./sessions.ts";

/** Ends this session; the person's sessions in other browsers continue. */
export function signOut(
  deps: { database: Database; index_key: Buffer; clock: Clock },
  session: MemberSession,
): Promise<void> {
  return deps.database.transaction(async (tx) => {
    deleteSession(tx, hashToken(deps.index_key, session.token));
    recordSession(tx, "session.delete", session, deps.clock.now());
  });
}
