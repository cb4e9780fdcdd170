import { session } from "../session.ts";

/** Whether this person has passkeys here, and this browser can ask for one. */
export const CAN_USE_PASSKEY =
  session.has_passkey &&
  typeof PublicKeyCredential === "function" &&
  "parseRequestOptionsFromJSON" in PublicKeyCredential;

/** What a passkey of the person signed, as the form for confirmations takes it. */
export async function askForPasskey(): Promise<string> {
  const answer = await fetch("/confirm/challenge", {
    method: "POST",
    headers: { accept: "application/json" },
    body: new URLSearchParams({ csrf: session.csrf }),
  });
  if (!answer.ok) throw new Error("no challenge");
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(await answer.json());
  const credential = (await navigator.credentials.get({ publicKey })) as PublicKeyCredential;
  return JSON.stringify(credential.toJSON());
}
