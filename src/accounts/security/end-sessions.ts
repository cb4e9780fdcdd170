import { notFound, Refusal } from "../../platform/errors.ts";
import { isId } from "../../platform/ids.ts";
import type { ModuleCore } from "../../platform/module.ts";
import { deleteOtherSessions, deleteSessionById } from "../sign-in/session-store.ts";
import { hashToken, type MemberSession, recordSignInChange } from "../sign-in/sessions.ts";
import { lockPersonById } from "../store.ts";

/** Ends one of the person's sessions, or all but the one they use. */
export function endSessions(
  { database, index_key, clock }: Pick<ModuleCore, "database" | "index_key" | "clock">,
  session: MemberSession,
  which: { id: string } | "others",
): Promise<void> {
  const { person_id, token } = session;
  return database.transaction(async (tx) => {
    if (which === "others") {
      // A sign-in that is about to end has another session: it is waited for.
      await lockPersonById(tx, person_id);
      const ended = await deleteOtherSessions(tx, person_id, hashToken(index_key, token));
      recordSignInChange(tx, "session.end_others", session, clock.now(), { ended });
      return;
    }
    const { id } = which;
    const ended = isId(id) ? await deleteSessionById(tx, person_id, id) : 0;
    if (ended === 0) throw Refusal.of([notFound("session_id")]);
    recordSignInChange(tx, "session.end", session, clock.now(), { session_id: id });
  });
}
