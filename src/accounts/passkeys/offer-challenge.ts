import type {
  AuthenticatorTransport,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from "@simplewebauthn/server";
import { Refusal } from "../../platform/errors.ts";
import { realTime } from "../../platform/tasks/real-time.ts";
import { tooManyAttempts } from "../sign-in/attempt-limits.ts";
import type { MemberSession } from "../sign-in/sessions.ts";
import type { SignInDeps } from "../sign-in/sign-in.ts";
import { CHALLENGE_MS, type ChallengeUse, createChallenge } from "./challenges.ts";
import { type PasskeySite, passkeySite } from "./model.ts";
import { userHandleOf } from "./seal-passkey.ts";
import { listPasskeys, type PasskeyRow } from "./store.ts";

const SITE_NAME = "Sliproad";
/** ES256, EdDSA and RS256: what authenticators have. */
export const ALGORITHMS = [-7, -8, -257];

/**
 * What the browser needs to ask for a passkey. Without a person it names none: the authenticator
 * lets its owner choose, and nobody learns who is a member.
 */
export async function offerChallenge(
  deps: SignInDeps,
  use: ChallengeUse,
  input: { person_id: string | null; address: string },
): Promise<PublicKeyCredentialRequestOptionsJSON> {
  const { site, challenge } = await newChallenge(deps, use, input.address);
  const rows = input.person_id === null ? [] : await listPasskeys(deps.database, input.person_id);
  const { generateAuthenticationOptions } = await import("@simplewebauthn/server");
  return generateAuthenticationOptions({
    rpID: site.rp_id,
    challenge,
    timeout: CHALLENGE_MS,
    userVerification: "required",
    allowCredentials: rows.map(credentialOf),
  });
}

/** What the browser needs to create a passkey, one for each of the person's authenticators. */
export async function offerRegistration(
  deps: SignInDeps,
  session: MemberSession,
  address: string,
): Promise<PublicKeyCredentialCreationOptionsJSON> {
  const { person_id, email } = session;
  const use = { purpose: "register", holder: session.id } as const;
  const { site, challenge } = await newChallenge(deps, use, address);
  const rows = await listPasskeys(deps.database, person_id);
  const { generateRegistrationOptions } = await import("@simplewebauthn/server");
  return generateRegistrationOptions({
    rpID: site.rp_id,
    rpName: SITE_NAME,
    userID: Uint8Array.from(userHandleOf(deps.index_key, person_id)),
    userName: email,
    userDisplayName: email,
    challenge,
    timeout: CHALLENGE_MS,
    attestationType: "none",
    excludeCredentials: rows.map(credentialOf),
    authenticatorSelection: { residentKey: "required", userVerification: "required" },
    supportedAlgorithmIDs: ALGORITHMS,
  });
}

async function newChallenge(
  { database, index_key, clock, limits, public_url }: SignInDeps,
  use: ChallengeUse,
  address: string,
): Promise<{ site: PasskeySite; challenge: Uint8Array<ArrayBuffer> }> {
  const site = passkeySite(public_url());
  if (!site) throw new Refusal("route_not_found");
  const taken = await limits.challenges_by_address.take(address);
  if (!taken.allowed) throw tooManyAttempts(taken);
  const challenge = await database.transaction(async (tx) =>
    createChallenge(tx, index_key, use, realTime(clock)),
  );
  return { site, challenge: Uint8Array.from(challenge) };
}

function credentialOf({ credential_id, transports }: PasskeyRow) {
  return {
    id: credential_id.toString("base64url"),
    transports: transports as AuthenticatorTransport[],
  };
}
