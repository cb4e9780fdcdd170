import { Refusal } from "../../platform/errors.ts";
import {
  type FactorProof,
  factorRefused,
  isShortCode,
  verifyFactor,
} from "../second-factor/verify-factor.ts";
import { lockPersonById } from "../store.ts";
import { type Attempt, withinLimits } from "./attempt-limits.ts";
import { claimSession } from "./session-store.ts";
import {
  hashToken,
  type MemberSession,
  recordSignInChange,
  sessionMs,
  startSession,
} from "./sessions.ts";
import type { SignedIn, SignInDeps } from "./sign-in.ts";

type FactorInput = Omit<Attempt, "email"> & { proof: FactorProof };

/** The second step: replaces the session that awaits the factor by one that is signed in. */
export function finishSignIn(
  deps: SignInDeps,
  pending: MemberSession,
  input: FactorInput,
): Promise<SignedIn | Refusal> {
  const { config, database, index_key, clock, limits } = deps;
  const { account_id, person_id, email, origin } = pending;
  const { proof } = input;
  const attempt = { ...input, email, has_short_code: isShortCode(proof) };
  return withinLimits(limits, index_key, attempt, () =>
    database.transaction(async (tx) => {
      // Whoever ends all sessions at the same time also ends the one that starts here.
      await lockPersonById(tx, person_id);
      const factor = await verifyFactor(tx, deps, pending, "second_factor", proof, input.now);
      const now = clock.now();
      if (factor === null) {
        recordSignInChange(tx, "session.refuse", pending, now, { step: "second factor" });
        return factorRefused(proof);
      }
      // Two requests with the same session: the second one finds it used.
      if (!(await claimSession(tx, hashToken(index_key, pending.token)))) {
        throw new Refusal("unauthorized", "This sign-in has ended. Start again.");
      }
      const lifetime_ms = sessionMs(config);
      const session = { account_id, person_id, origin, lifetime_ms, factor_at: input.now };
      const token = startSession(tx, index_key, session, input.now);
      recordSignInChange(tx, "session.create", pending, now, { second_factor: factor });
      return { token, lifetime_ms, awaits_factor: false };
    }),
  );
}
