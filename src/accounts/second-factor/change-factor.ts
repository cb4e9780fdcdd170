import type { Transaction } from "../../platform/db/database.ts";
import { notFound, Refusal } from "../../platform/errors.ts";
import { realTime } from "../../platform/tasks/real-time.ts";
import { queueMail } from "../mail/queue-mail.ts";
import { type Attempt, withinLimits } from "../sign-in/attempt-limits.ts";
import { checkProof } from "../sign-in/confirm-identity.ts";
import { type MemberSession, recordSignInChange, restartSession } from "../sign-in/sessions.ts";
import type { SignInDeps } from "../sign-in/sign-in.ts";
import { lockPersonById } from "../store.ts";
import { replaceRecoveryCodes } from "./recovery-codes.ts";
import { deleteRecoveryCodes, deleteTotp, existsFactor, findTotp } from "./store.ts";
import { type FactorProof, factorRefused, isShortCode, verifyFactor } from "./verify-factor.ts";

export type Proofs = Omit<Attempt, "email"> & { password: string; factor: FactorProof };

/**
 * Removes the authenticator app; needs the password and a second factor. All other sessions end.
 * The recovery codes go with the last factor.
 */
export function removeApp(
  deps: SignInDeps,
  session: MemberSession,
  input: Proofs,
): Promise<{ token: string } | Refusal> {
  const { config, index_key, clock } = deps;
  const { person_id, account_id, email } = session;
  return withBoth(deps, session, input, async (tx) => {
    if (!(await findTotp(tx, person_id))) throw Refusal.of([notFound("second_factor")]);
    const now = clock.now();
    deleteTotp(tx, person_id);
    const has_other = await existsFactor(tx, person_id);
    if (!has_other) deleteRecoveryCodes(tx, person_id);
    recordSignInChange(tx, "second_factor.remove", session, now);
    const kind = has_other ? "app_removed" : "factor_removed";
    queueMail(tx, index_key, { account_id, kind, email }, now);
    const times = { now: realTime(clock), factor_at: realTime(clock) };
    return { token: await restartSession(tx, { config, index_key }, session, times) };
  });
}

/** New recovery codes instead of those before; needs the password and a second factor. */
export function renewRecoveryCodes(
  deps: SignInDeps,
  session: MemberSession,
  input: Proofs,
): Promise<{ recovery_codes: string[] } | Refusal> {
  return withBoth(deps, session, input, async (tx) => {
    recordSignInChange(tx, "recovery_codes.create", session, deps.clock.now());
    return { recovery_codes: replaceRecoveryCodes(tx, deps.index_key, session.person_id) };
  });
}

/** Runs a change if the password and the factor are correct; the proof is used up with it. */
export function withBoth<Outcome>(
  deps: SignInDeps,
  session: MemberSession,
  { password, factor, ...attempt }: Proofs,
  change: (tx: Transaction) => Promise<Outcome>,
): Promise<Outcome | Refusal> {
  const { database, index_key, clock, limits } = deps;
  const { person_id, email } = session;
  const has_short_code = isShortCode(factor);
  return withinLimits(limits, index_key, { ...attempt, email, has_short_code }, async () => {
    const refusal = await checkProof(deps, session, { password }, attempt.now);
    return database.transaction(async (tx) => {
      // Whoever changes factors at the same time waits: one of them removes the last one.
      await lockPersonById(tx, person_id);
      const is_correct =
        refusal === null &&
        (await verifyFactor(tx, deps, session, "change", factor, attempt.now)) !== null;
      if (is_correct) return change(tx);
      recordSignInChange(tx, "session.refuse", session, clock.now());
      return refusal ?? factorRefused(factor);
    });
  });
}
