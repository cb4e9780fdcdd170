import { notFound, Refusal } from "../../platform/errors.ts";
import { isId } from "../../platform/ids.ts";
import { realTime } from "../../platform/tasks/real-time.ts";
import { queueMail } from "../mail/queue-mail.ts";
import { type Proofs, withBoth } from "../second-factor/change-factor.ts";
import { deleteRecoveryCodes, existsFactor } from "../second-factor/store.ts";
import { type MemberSession, recordSignInChange, restartSession } from "../sign-in/sessions.ts";
import type { SignInDeps } from "../sign-in/sign-in.ts";
import { lockPersonById } from "../store.ts";
import { checkPasskeyName } from "./model.ts";
import { openPasskeyName, sealPasskeyName } from "./seal-passkey.ts";
import { deletePasskey, findPasskey, listPasskeys, updatePasskeyName } from "./store.ts";

export type ShownPasskey = {
  id: string;
  name: string;
  created_at: Date;
  last_used_at: Date | null;
  works_alone: boolean;
};

export async function loadPasskey(
  { database, index_key }: SignInDeps,
  { person_id, has_app }: MemberSession,
  id: string,
): Promise<{ passkey: ShownPasskey; is_last_factor: boolean }> {
  const rows = await listPasskeys(database, person_id);
  const row = rows.find((one) => one.id === id);
  if (!row) throw Refusal.of([notFound("passkey_id")]);
  const passkey = { ...row, name: openPasskeyName(index_key, row) };
  return { passkey, is_last_factor: rows.length === 1 && !has_app };
}

/** Needs no proof: the name is only for its owner. */
export async function renamePasskey(
  { database, index_key, clock }: SignInDeps,
  session: MemberSession,
  input: { id: string; name: string },
): Promise<Refusal | null> {
  const { id } = input;
  const { person_id } = session;
  const name = input.name.trim();
  const problems = checkPasskeyName(name);
  if (problems.length > 0) return Refusal.of(problems);
  return database.transaction(async (tx) => {
    await lockPersonById(tx, person_id);
    if (!isId(id) || !(await findPasskey(tx, person_id, id))) {
      throw Refusal.of([notFound("passkey_id")]);
    }
    updatePasskeyName(tx, { person_id, id }, sealPasskeyName(index_key, id, name));
    recordSignInChange(tx, "passkey.rename", session, clock.now(), { passkey_id: id });
    return null;
  });
}

/**
 * Needs the password and a second factor, which may be this passkey. All other sessions end. The
 * recovery codes go with the last factor.
 */
export function removePasskey(
  deps: SignInDeps,
  session: MemberSession,
  { id, ...proofs }: Proofs & { id: string },
): Promise<{ token: string } | Refusal> {
  const { config, index_key, clock } = deps;
  const { person_id, account_id, email } = session;
  return withBoth(deps, session, proofs, async (tx) => {
    if (!isId(id) || !(await deletePasskey(tx, { person_id, id }))) {
      throw Refusal.of([notFound("passkey_id")]);
    }
    const has_other = await existsFactor(tx, person_id);
    if (!has_other) deleteRecoveryCodes(tx, person_id);
    const now = clock.now();
    recordSignInChange(tx, "passkey.remove", session, now, { passkey_id: id });
    const kind = has_other ? "passkey_removed" : "factor_removed";
    queueMail(tx, index_key, { account_id, kind, email }, now);
    const times = { now: realTime(clock), factor_at: realTime(clock) };
    return { token: await restartSession(tx, { config, index_key }, session, times) };
  });
}
