import { MINUTE_MS } from "../../platform/durations.ts";
import { Refusal } from "../../platform/errors.ts";
import { makeCredential } from "../../platform/named-credentials.ts";
import {
  type FactorProof,
  factorRefused,
  isShortCode,
  verifyFactor,
} from "../second-factor/verify-factor.ts";
import { findPersonById } from "../store.ts";
import { type Attempt, withinLimits } from "./attempt-limits.ts";
import { verifyPassword } from "./passwords.ts";
import { updateSessionToken } from "./session-store.ts";
import { hashToken, type MemberSession, recordSignInChange } from "./sessions.ts";
import type { SignInDeps } from "./sign-in.ts";

/** For how long a confirmation is valid. */
const CONFIRMED_MS = 10 * MINUTE_MS;

/** What the person gives again: the password, or a second factor. */
type Proof = { password: string } | FactorProof;

export function isConfirmed({ confirmed_at }: MemberSession, now: Date): boolean {
  return now.getTime() - confirmed_at.getTime() < CONFIRMED_MS;
}

/**
 * Whether what changes the second factors may go on: a person who has one gave it in the last
 * minutes. The password alone, or a session that somebody took over, adds none.
 */
export function isFactorConfirmed(
  { has_factor, factor_at }: Pick<MemberSession, "has_factor" | "factor_at">,
  now: Date,
): boolean {
  if (!has_factor) return true;
  return factor_at !== null && now.getTime() - factor_at.getTime() < CONFIRMED_MS;
}

export function factorNotConfirmed(): Refusal {
  return new Refusal(
    "unauthorized",
    "Confirm with the second factor that you have, then try again.",
  );
}

/** Confirms that the person is still at the device. The session gets a new token. */
export async function confirmIdentity(
  deps: SignInDeps,
  session: MemberSession,
  input: Omit<Attempt, "email"> & { proof: Proof },
): Promise<{ token: string } | Refusal> {
  const { database, index_key, clock, limits } = deps;
  const { person_id, email } = session;
  const { proof } = input;
  const has_short_code = !("password" in proof) && isShortCode(proof);
  return withinLimits(limits, index_key, { ...input, email, has_short_code }, async () => {
    const refusal = await checkProof(deps, session, proof, input.now);
    const token = makeCredential(index_key, session.account_id);
    return database.transaction(async (tx) => {
      const action = refusal ? "session.refuse" : "session.confirm";
      recordSignInChange(tx, action, { ...session, person_id }, clock.now());
      if (refusal) return refusal;
      const factor_at = "password" in proof ? session.factor_at : input.now;
      const confirmed = { confirmed_at: input.now, factor_at };
      const changes = { token_hash: hashToken(index_key, token), ...confirmed };
      const is_held = await updateSessionToken(tx, hashToken(index_key, session.token), changes);
      if (!is_held) throw new Refusal("unauthorized", "This session has ended. Sign in again.");
      return { token };
    });
  });
}

/** Null for a correct password, or a second factor that is used up by this. */
export async function checkProof(
  deps: SignInDeps,
  session: MemberSession,
  proof: Proof,
  now: Date,
): Promise<Refusal | null> {
  const { database } = deps;
  if (!("password" in proof)) {
    const factor = await database.transaction((tx) =>
      verifyFactor(tx, deps, session, "confirm", proof, now),
    );
    return factor === null ? factorRefused(proof) : null;
  }
  const person = await findPersonById(database, session.person_id);
  const password_hash = person?.password_hash ?? null;
  const is_correct = await verifyPassword(password_hash, proof.password, session.account_id);
  return is_correct ? null : new Refusal("unauthorized", "The password is not correct.");
}
