import type { Transaction } from "../../platform/db/database.ts";
import { Refusal } from "../../platform/errors.ts";
import type { ModuleCore } from "../../platform/module.ts";
import { realTime } from "../../platform/tasks/real-time.ts";
import { queueMail } from "../mail/queue-mail.ts";
import { updatePasskeysAlone } from "../passkeys/store.ts";
import { openEmail } from "../person-email.ts";
import { listMemberships, lockPersonById } from "../store.ts";
import { checkPassword } from "./check-password.ts";
import { endConsents } from "./end-consents.ts";
import { hashLinkToken } from "./password-links.ts";
import {
  claimPasswordLink,
  deletePasswordLinks,
  findPasswordLink,
  type LinkKind,
  updatePassword,
} from "./password-store.ts";
import { hashPassword } from "./passwords.ts";
import { deleteOtherSessions } from "./session-store.ts";
import { isToken, recordSignInChange } from "./sessions.ts";
import { findPasswordTurn } from "./sign-in.ts";

type PasswordDeps = Pick<ModuleCore, "database" | "index_key" | "clock">;

type OpenLink = { person_id: string; kind: LinkKind; email: string };

/** The person a link was sent to; null once it was used or has expired. */
export async function findOpenLink(deps: PasswordDeps, token: string): Promise<OpenLink | null> {
  if (!isToken(token)) return null;
  const { database, index_key, clock } = deps;
  const found = await findPasswordLink(database, hashLinkToken(index_key, token), realTime(clock));
  if (!found) return null;
  const { person_id, kind } = found;
  return { person_id, kind, email: openEmail(index_key, person_id, found.email) };
}

/** Of these the oldest that this service wrote is notified of a new password. */
const MEMBERSHIPS_MAX = 100;

/**
 * Sets the password of the person who was sent the link, and ends their sessions and other links.
 * A second factor stays: the link alone does not sign in.
 */
export async function setPassword(
  deps: PasswordDeps,
  input: { token: string; link: OpenLink; password: string },
): Promise<void> {
  const { database, index_key, clock } = deps;
  const { token, link, password } = input;
  const problems = await checkPassword(password, link.email);
  if (problems.length > 0) throw Refusal.of(problems);
  const turn = await findPasswordTurn(database, link.person_id);
  const password_hash = await hashPassword(password, turn);
  await database.transaction(async (tx) => {
    // A sign-in with the old password either finds the new one, or its session is ended here.
    await lockPersonById(tx, link.person_id);
    const claimed = await claimPasswordLink(tx, hashLinkToken(index_key, token), realTime(clock));
    if (!claimed) throw linkEnded();
    const action = link.kind === "invitation" ? "password.set" : "password.reset";
    await recordNewPassword(tx, deps, { ...link, password_hash, action });
  });
}

/**
 * Writes the password of a locked person; whoever knew the old one, or held another session or a
 * link, is out. So is whoever added a passkey of their own: none signs in alone before it was used
 * after the new password.
 */
export async function recordNewPassword(
  tx: Transaction,
  { index_key, clock }: PasswordDeps,
  change: {
    person_id: string;
    email: string;
    password_hash: string;
    action: `password.${"set" | "reset" | "change"}`;
  },
  kept_token_hash: Buffer = Buffer.alloc(0),
): Promise<void> {
  const { person_id, email, password_hash, action } = change;
  const now = clock.now();
  updatePassword(tx, person_id, password_hash);
  deletePasswordLinks(tx, person_id);
  await deleteOtherSessions(tx, person_id, kept_token_hash);
  updatePasskeysAlone(tx, person_id, false);
  // Not only one: if somebody changed its row, the person must be notified all the same.
  const [membership] = await listMemberships(tx, person_id, MEMBERSHIPS_MAX);
  // Whoever was sent a link may not be the one who let applications in: they ask again.
  if (action !== "password.change") await endConsents(tx, person_id, membership?.account_id, now);
  if (!membership) return;
  const { account_id } = membership;
  recordSignInChange(tx, action, { account_id, person_id }, now);
  if (action !== "password.set") {
    queueMail(tx, index_key, { account_id, kind: "password_changed", email }, now);
  }
}

function linkEnded(): Refusal {
  return new Refusal(
    "record_not_found",
    "This link was used already or has expired. Request another one.",
  );
}
