import type { ModuleCore } from "../../platform/module.ts";
import { deleteSession } from "./session-store.ts";
import { hashToken, type MemberSession, recordSignInChange } from "./sessions.ts";

/** Ends this session; the person's sessions in other browsers continue. */
export function signOut(
  deps: Pick<ModuleCore, "database" | "index_key" | "clock">,
  session: MemberSession,
): Promise<void> {
  return deps.database.transaction(async (tx) => {
    deleteSession(tx, hashToken(deps.index_key, session.token));
    recordSignInChange(tx, "session.delete", session, deps.clock.now());
  });
}
