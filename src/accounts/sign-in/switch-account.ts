import { Refusal } from "../../platform/errors.ts";
import { isId } from "../../platform/ids.ts";
import type { ModuleCore } from "../../platform/module.ts";
import { realTime } from "../../platform/tasks/real-time.ts";
import { findMember } from "../audited/find-member.ts";
import { updateMemberJoined } from "../joined-store.ts";
import { updateSessionAccount } from "./session-store.ts";
import { hashToken, type MemberSession, recordSignInChange } from "./sessions.ts";

/**
 * Moves the session to another account of the same person; recorded in that account's audit log.
 */
export function switchAccount(
  deps: Pick<ModuleCore, "database" | "index_key" | "clock">,
  session: MemberSession,
  account_id: string,
): Promise<void> {
  return deps.database.transaction(async (tx) => {
    const { person_id, token } = session;
    const member = isId(account_id) && (await findMember(tx, account_id, person_id));
    if (!member) throw new Refusal("insufficient_scope", "You are not a member of that account.");
    updateSessionAccount(tx, hashToken(deps.index_key, token), account_id);
    updateMemberJoined(tx, { account_id, person_id }, realTime(deps.clock));
    recordSignInChange(tx, "session.switch_account", { account_id, person_id }, deps.clock.now());
  });
}
