import type { AuthenticationResponseJSON } from "@simplewebauthn/server";
import type { Transaction } from "../../platform/db/database.ts";
import { Refusal } from "../../platform/errors.ts";
import type { ModuleCore } from "../../platform/module.ts";
import { queueMail } from "../mail/queue-mail.ts";
import { recordSignInChange } from "../sign-in/sessions.ts";
import { type ChallengeUse, claimChallenge } from "./challenges.ts";
import { isCountAccepted, passkeySite } from "./model.ts";
import { type GivenCredential, readCredential } from "./read-credential.ts";
import { openPublicKey, userHandleOf } from "./seal-passkey.ts";
import { lockPasskeyByCredential, type PasskeyRow, updatePasskeyUsed } from "./store.ts";

export type PasskeyDeps = Pick<ModuleCore, "index_key" | "clock" | "public_url">;

type Owner = { account_id: string; person_id: string; email: string };

/** `not_alone`: accepted, but only after the password. */
type PasskeyVerdict = "accepted" | "refused" | "not_alone";

const PASSKEY_TEXTS = {
  refused: "This passkey was not accepted. Try again, or choose another way to sign in.",
  not_alone:
    "Your password is new. Sign in with it and this passkey once: then the passkey works alone " +
    "again.",
} as const satisfies Record<Exclude<PasskeyVerdict, "accepted">, string>;

export function passkeyRefused(verdict: keyof typeof PASSKEY_TEXTS): Refusal {
  return new Refusal("unauthorized", PASSKEY_TEXTS[verdict]);
}

/**
 * Whether a passkey of this person signed the challenge, at this site, after it verified the person
 * (fingerprint, face or PIN). The challenge is used up in any case.
 */
export async function verifyPasskey(
  tx: Transaction,
  deps: PasskeyDeps,
  owner: Owner,
  given: { credential: string; use: ChallengeUse },
  now: Date,
): Promise<PasskeyVerdict> {
  const { index_key, clock } = deps;
  const { person_id } = owner;
  const { use } = given;
  const read = readCredential(given.credential);
  const is_fresh = read && (await claimChallenge(tx, index_key, use, read.challenge, now));
  if (!is_fresh) return "refused";
  const row = await lockPasskeyByCredential(tx, person_id, read.credential_id);
  if (!row || !isHandleOf(index_key, person_id, use, read)) return "refused";
  const sign_count = await verifySignature(deps, row, read);
  if (sign_count === null) return "refused";
  if (!isCountAccepted(row.sign_count, sign_count)) {
    reportCopy(tx, deps, owner, row, sign_count);
    return "refused";
  }
  const works_alone = row.works_alone || use.purpose === "second_factor";
  updatePasskeyUsed(tx, row, { sign_count, last_used_at: clock.now(), works_alone });
  return use.purpose === "sign_in" && !works_alone ? "not_alone" : "accepted";
}

/** Without an e-mail only the authenticator says who signs in; it has to say the same as we. */
function isHandleOf(
  index_key: Buffer,
  person_id: string,
  { purpose }: ChallengeUse,
  { user_handle }: GivenCredential,
): boolean {
  if (user_handle === null) return purpose !== "sign_in";
  return user_handle === userHandleOf(index_key, person_id).toString("base64url");
}

/** The counter of the authenticator; null if the answer is not valid. */
async function verifySignature(
  { index_key, public_url }: PasskeyDeps,
  row: PasskeyRow,
  { challenge, json }: GivenCredential,
): Promise<bigint | null> {
  const site = passkeySite(public_url());
  const publicKey = openPublicKey(index_key, row);
  if (!site || !publicKey) return null;
  const id = row.credential_id.toString("base64url");
  try {
    const { verifyAuthenticationResponse } = await import("@simplewebauthn/server");
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: json as AuthenticationResponseJSON,
      expectedChallenge: challenge,
      expectedOrigin: site.origin,
      expectedRPID: site.rp_id,
      requireUserVerification: true,
      // The counter is compared afterwards: only one that is signed tells of a copy.
      credential: { id, publicKey, counter: 0 },
    });
    return verified ? BigInt(authenticationInfo.newCounter) : null;
  } catch {
    // The library throws for every kind of answer that is not valid.
    return null;
  }
}

function reportCopy(
  tx: Transaction,
  { index_key, clock }: PasskeyDeps,
  { account_id, person_id, email }: Owner,
  row: PasskeyRow,
  sign_count: bigint,
): void {
  const now = clock.now();
  recordSignInChange(tx, "passkey.refuse", { account_id, person_id }, now, {
    passkey_id: row.id,
    reason: "counter_not_increased",
    counter_before: Number(row.sign_count),
    counter: Number(sign_count),
  });
  queueMail(tx, index_key, { account_id, kind: "passkey_copied", email }, now);
}
