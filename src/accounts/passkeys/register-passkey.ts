import type { RegistrationResponseJSON } from "@simplewebauthn/server";
import { Refusal } from "../../platform/errors.ts";
import { newId } from "../../platform/ids.ts";
import { realTime } from "../../platform/tasks/real-time.ts";
import { queueMail } from "../mail/queue-mail.ts";
import { replaceRecoveryCodes } from "../second-factor/recovery-codes.ts";
import { existsFactor } from "../second-factor/store.ts";
import { factorNotConfirmed, isFactorConfirmed } from "../sign-in/confirm-identity.ts";
import { type MemberSession, recordSignInChange, restartSession } from "../sign-in/sessions.ts";
import type { SignInDeps } from "../sign-in/sign-in.ts";
import { lockPersonById } from "../store.ts";
import { claimChallenge } from "./challenges.ts";
import { checkPasskeyName, PASSKEYS_MAX, passkeySite } from "./model.ts";
import { ALGORITHMS } from "./offer-challenge.ts";
import { type GivenCredential, readCredential } from "./read-credential.ts";
import { sealPasskeyName, sealPublicKey } from "./seal-passkey.ts";
import { insertPasskey, listPasskeys } from "./store.ts";

type Registered = {
  token: string;
  /** Null when the person had a second factor, and its recovery codes, before. */
  recovery_codes: string[] | null;
};

type NewCredential = { public_key: Uint8Array; sign_count: bigint; transports: string[] };

const TRANSPORTS = ["ble", "cable", "hybrid", "internal", "nfc", "smart-card", "usb"];

/** Adds a passkey, which is a second factor too, and ends all other sessions. */
export function registerPasskey(
  deps: SignInDeps,
  session: MemberSession,
  input: { credential: string; name: string },
): Promise<Registered | Refusal> {
  const { config, database, index_key, clock } = deps;
  const { person_id, account_id, email } = session;
  const name = input.name.trim();
  return database.transaction(async (tx) => {
    const real_now = realTime(clock);
    const given = readCredential(input.credential);
    const use = { purpose: "register", holder: session.id } as const;
    if (!given || !(await claimChallenge(tx, index_key, use, given.challenge, real_now))) {
      return invalid("credential", "The passkey was not added in time. Try again.");
    }
    const problems = checkPasskeyName(name);
    if (problems.length > 0) return Refusal.of(problems);
    const created = await verifyRegistration(deps, given);
    if (created === null) {
      return invalid("credential", "This passkey was not accepted. Try another device or browser.");
    }
    await lockPersonById(tx, person_id);
    const had_factor = await existsFactor(tx, person_id);
    const before = { ...session, has_factor: had_factor };
    if (!isFactorConfirmed(before, real_now)) return factorNotConfirmed();
    if ((await listPasskeys(tx, person_id)).length >= PASSKEYS_MAX) {
      return invalid("credential", `You have ${PASSKEYS_MAX} passkeys. Remove one of them first.`);
    }
    const now = clock.now();
    const id = newId(now);
    const { credential_id } = given;
    const { public_key, ...facts } = created;
    const is_new = await insertPasskey(tx, {
      ...{ person_id, id, credential_id, ...facts },
      public_key: sealPublicKey(index_key, { person_id, credential_id }, public_key),
      name: sealPasskeyName(index_key, id, name),
      created_at: now,
      last_used_at: null,
      works_alone: true,
    });
    if (!is_new) return invalid("credential", "This passkey was added before.");
    const recovery_codes = had_factor ? null : replaceRecoveryCodes(tx, index_key, person_id);
    recordSignInChange(tx, "passkey.create", session, now, { passkey_id: id });
    queueMail(tx, index_key, { account_id, kind: "passkey_added", email }, now);
    const times = { now: real_now, factor_at: real_now };
    const token = await restartSession(tx, { config, index_key }, session, times);
    return { token, recovery_codes };
  });
}

/** Null for an answer that is not valid. */
async function verifyRegistration(
  { public_url }: SignInDeps,
  { challenge, json }: GivenCredential,
): Promise<NewCredential | null> {
  const site = passkeySite(public_url());
  const response = json as RegistrationResponseJSON;
  if (!site || !(await hasNoCertificates(response))) return null;
  try {
    const { verifyRegistrationResponse } = await import("@simplewebauthn/server");
    const { verified, registrationInfo } = await verifyRegistrationResponse({
      response,
      expectedChallenge: challenge,
      expectedOrigin: site.origin,
      expectedRPID: site.rp_id,
      requireUserVerification: true,
      supportedAlgorithmIDs: ALGORITHMS,
    });
    if (!verified || !registrationInfo) return null;
    const { id, publicKey, counter, transports } = registrationInfo.credential;
    // The id that is signed, not the one beside it.
    if (id !== response.id) return null;
    return {
      public_key: publicKey,
      sign_count: BigInt(counter),
      transports: TRANSPORTS.filter((one) => Array.isArray(transports) && isIn(transports, one)),
    };
  } catch {
    // The library throws for every kind of answer that is not valid.
    return null;
  }
}

/**
 * We ask for no attestation, so browsers send none, or one that the passkey signed itself. Others
 * contain certificates with URLs chosen by the sender, which the library would request.
 */
async function hasNoCertificates({ response }: RegistrationResponseJSON): Promise<boolean> {
  try {
    const { decodeAttestationObject } = await import("@simplewebauthn/server/helpers");
    const bytes = Uint8Array.from(Buffer.from(response.attestationObject, "base64url"));
    const decoded = decodeAttestationObject(bytes);
    const format = decoded.get("fmt");
    if (format === "none") return true;
    return format === "packed" && decoded.get("attStmt").get("x5c") === undefined;
  } catch {
    return false;
  }
}

function isIn(list: readonly unknown[], value: string): boolean {
  return list.includes(value);
}

function invalid(field: string, message: string): Refusal {
  return Refusal.of([{ field, code: "record_invalid", message }]);
}
