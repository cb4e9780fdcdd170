import type { Transaction } from "../../platform/db/database.ts";
import { Refusal } from "../../platform/errors.ts";
import { realTime } from "../../platform/tasks/real-time.ts";
import { queueMail } from "../mail/queue-mail.ts";
import { type Attempt, withinLimits } from "../sign-in/attempt-limits.ts";
import { checkProof } from "../sign-in/confirm-identity.ts";
import { WRONG_CODE } from "../sign-in/finish-sign-in.ts";
import { type MemberSession, recordSignInChange, restartSession } from "../sign-in/sessions.ts";
import type { SignInDeps } from "../sign-in/sign-in.ts";
import { replaceRecoveryCodes } from "./recovery-codes.ts";
import { removeFactors } from "./remove-factors.ts";
import { verifyFactor } from "./verify-factor.ts";

type Proofs = Omit<Attempt, "email"> & { password: string; code: string };

/** Removes the second factor; needs it and the password. All other sessions end. */
export function removeOwnFactor(
  deps: SignInDeps,
  session: MemberSession,
  input: Proofs,
): Promise<{ token: string } | Refusal> {
  const { config, index_key, clock } = deps;
  const { person_id, account_id, email } = session;
  return withBoth(deps, session, input, (tx) => {
    const now = clock.now();
    removeFactors(tx, person_id);
    recordSignInChange(tx, "second_factor.remove", session, now);
    queueMail(tx, index_key, { account_id, kind: "factor_removed", email }, now);
    return { token: restartSession(tx, { config, index_key }, session, realTime(clock)) };
  });
}

/** New recovery codes instead of those before; needs the password and the second factor. */
export function renewRecoveryCodes(
  deps: SignInDeps,
  session: MemberSession,
  input: Proofs,
): Promise<{ recovery_codes: string[] } | Refusal> {
  return withBoth(deps, session, input, (tx) => {
    recordSignInChange(tx, "recovery_codes.create", session, deps.clock.now());
    return { recovery_codes: replaceRecoveryCodes(tx, deps.index_key, session.person_id) };
  });
}

/** Runs a change if the password and the code are correct; the code is used up with it. */
function withBoth<Outcome>(
  deps: SignInDeps,
  session: MemberSession,
  { password, code, ...attempt }: Proofs,
  change: (tx: Transaction) => Outcome,
): Promise<Outcome | Refusal> {
  const { database, index_key, clock, limits } = deps;
  const { person_id, email } = session;
  return withinLimits(limits, index_key, { ...attempt, email }, async () => {
    const refusal = await checkProof(deps, session, { password }, attempt.now);
    return database.transaction(async (tx) => {
      const is_correct =
        refusal === null &&
        (await verifyFactor(tx, index_key, person_id, code, attempt.now)) !== null;
      if (is_correct) return change(tx);
      recordSignInChange(tx, "session.refuse", session, clock.now());
      return refusal ?? new Refusal("unauthorized", WRONG_CODE);
    });
  });
}
