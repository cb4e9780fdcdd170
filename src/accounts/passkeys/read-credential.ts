/** The credential that a browser sent, as far as it was read: nothing in it is verified yet. */
export type GivenCredential = {
  credential_id: Buffer;
  challenge: string;
  /** What the authenticator stored as the person; absent from many answers. */
  user_handle: string | null;
  /** For the library that verifies it. */
  json: unknown;
};

/** The largest id that the standard permits. */
const CREDENTIAL_ID_BYTES_MAX = 1_023;
const BASE64URL = /^[A-Za-z0-9_-]+$/;

/** Null for a text that is not the JSON form of a credential. */
export function readCredential(text: string): GivenCredential | null {
  const json = parse(text);
  const { id, response } = fieldsOf(json);
  const { clientDataJSON, userHandle } = fieldsOf(response);
  if (typeof id !== "string" || !BASE64URL.test(id)) return null;
  const credential_id = Buffer.from(id, "base64url");
  if (credential_id.length > CREDENTIAL_ID_BYTES_MAX) return null;
  if (typeof clientDataJSON !== "string") return null;
  const { challenge } = fieldsOf(parse(Buffer.from(clientDataJSON, "base64url").toString()));
  if (typeof challenge !== "string") return null;
  const user_handle = typeof userHandle === "string" ? userHandle : null;
  return { credential_id, challenge, user_handle, json };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
