/** Who is signed in, as the document says it. */
export type Session = {
  mode: "sandbox" | "live";
  csrf: string;
  /** The time of the service when the document was made. */
  now: string;
  email: string;
  person_id: string;
  role: string;
  role_name: string;
  /** They can give a code: of an app, or one for recovery. */
  has_factor: boolean;
  /** They have one, and it works at this address. */
  has_passkey: boolean;
  account: { id: string; name: string; is_operator: boolean };
  accounts: { id: string; name: string }[];
  permissions: string[];
};

export const session: Session = readSession(document);

export function may(permission: string): boolean {
  return session.permissions.includes(permission);
}

/** A confirmation gives the session a new token: the next document has it. */
export async function renewCsrf(): Promise<void> {
  const answer = await fetch(location.href, { headers: { accept: "text/html" } });
  const next = new DOMParser().parseFromString(await answer.text(), "text/html");
  session.csrf = readSession(next).csrf;
}

function readSession(from: Document): Session {
  return JSON.parse(from.getElementById("session")?.textContent ?? "{}");
}
