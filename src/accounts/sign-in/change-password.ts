import { Refusal } from "../../platform/errors.ts";
import { lockPersonById } from "../store.ts";
import { type Attempt, withinLimits } from "./attempt-limits.ts";
import { checkPassword } from "./check-password.ts";
import { checkProof } from "./confirm-identity.ts";
import { hashPassword } from "./passwords.ts";
import { hashToken, type MemberSession, recordSignInChange, restartSession } from "./sessions.ts";
import { recordNewPassword } from "./set-password.ts";
import type { SignInDeps } from "./sign-in.ts";

type PasswordChange = Omit<Attempt, "email"> & { current: string; password: string };

/** Needs the current password. All other sessions end; this one goes on with a new token. */
export async function changePassword(
  deps: SignInDeps,
  session: MemberSession,
  input: PasswordChange,
): Promise<{ token: string } | Refusal> {
  const { config, database, index_key, clock, limits } = deps;
  const { person_id, email } = session;
  const problems = await checkPassword(input.password, email);
  if (problems.length > 0) return Refusal.of(problems);
  return withinLimits(limits, index_key, { ...input, email }, async () => {
    const refusal = await checkProof(deps, session, { password: input.current }, input.now);
    if (refusal) {
      await database.transaction(async (tx) =>
        recordSignInChange(tx, "session.refuse", session, clock.now()),
      );
      return new Refusal("unauthorized", "The current password is not correct.");
    }
    const password_hash = await hashPassword(input.password, session.account_id);
    return database.transaction(async (tx) => {
      await lockPersonById(tx, person_id);
      const times = { now: input.now, factor_at: session.factor_at };
      const token = await restartSession(tx, { config, index_key }, session, times);
      const change = { person_id, email, password_hash, action: "password.change" } as const;
      await recordNewPassword(tx, deps, change, hashToken(index_key, token));
      return { token };
    });
  });
}
