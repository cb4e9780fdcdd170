import type { Refusal } from "../../platform/errors.ts";
import { openEmail } from "../person-email.ts";
import { type Attempt, withinLimits } from "../sign-in/attempt-limits.ts";
import type { SessionOrigin } from "../sign-in/session-origin.ts";
import { recordSignInChange, sessionMs } from "../sign-in/sessions.ts";
import {
  recordFailure,
  replaceSession,
  type SignedIn,
  type SignInDeps,
} from "../sign-in/sign-in.ts";
import { findPersonById, listMemberships, lockPersonById } from "../store.ts";
import { readCredential } from "./read-credential.ts";
import { findPasskeyByCredential } from "./store.ts";
import { passkeyRefused, verifyPasskey } from "./verify-passkey.ts";

type PasskeySignIn = Omit<Attempt, "email"> & {
  credential: string;
  /** The browser that asked for the challenge. */
  holder: string;
  origin: SessionOrigin;
  previous_token: string | undefined;
};

/**
 * Starts a session with a passkey alone: it verified its owner, so it is two factors at once. All
 * refusals are the same; the person is found by the credential, which nobody can guess.
 */
export async function signInWithPasskey(
  deps: SignInDeps,
  input: PasskeySignIn,
): Promise<(SignedIn & { email: string }) | Refusal> {
  const { config, database, index_key, clock, limits } = deps;
  const credential_id = readCredential(input.credential)?.credential_id;
  const person = credential_id && (await findOwner(deps, credential_id));
  // Attempts with an unknown passkey are counted by it: there is no e-mail.
  const email = person?.email ?? `unknown passkey ${credential_id?.toString("base64url")}`;
  const attempt = { ...input, email };
  return withinLimits(limits, index_key, attempt, () =>
    database.transaction(async (tx) => {
      // A password that is being set ends this session, or the passkey does not work alone.
      if (person) await lockPersonById(tx, person.id);
      const [membership] = person ? await listMemberships(tx, person.id, 1) : [];
      const { credential, holder, origin, now, previous_token } = input;
      const use = { purpose: "sign_in", holder } as const;
      const owner = person && membership && { ...membership, ...person, person_id: person.id };
      const given = { credential, use };
      const verdict = owner ? await verifyPasskey(tx, deps, owner, given, now) : "refused";
      if (!owner || verdict !== "accepted") {
        await recordFailure(tx, person?.id, membership, clock.now(), { step: "passkey" });
        return passkeyRefused(verdict === "accepted" ? "refused" : verdict);
      }
      const { account_id, person_id } = owner;
      const lifetime_ms = sessionMs(config);
      const session = { account_id, person_id, origin, lifetime_ms, factor_at: now };
      const token = replaceSession(tx, index_key, session, { previous_token, now });
      const detail = { second_factor: "passkey", password: "not asked" };
      recordSignInChange(tx, "session.create", owner, clock.now(), detail);
      return { token, lifetime_ms, awaits_factor: false, email };
    }),
  );
}

async function findOwner({ database, index_key }: SignInDeps, credential_id: Buffer) {
  const passkey = await findPasskeyByCredential(database, credential_id);
  const person = passkey && (await findPersonById(database, passkey.person_id));
  if (!person) return undefined;
  return { id: person.id, email: openEmail(index_key, person.id, person.email) };
}
