import type { Session } from "../platform/db/database.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import { nameOfUser } from "./model.ts";
import { findUser, openUsers, type UserKey } from "./store.ts";

/** The user's name for a person who has to judge something; the id once the user is erased. */
export async function findUserName(
  session: Session,
  keyring: Keyring,
  key: UserKey,
): Promise<string> {
  const row = await findUser(session, key);
  const [user] = row ? await openUsers(session, keyring, [row]) : [];
  return user ? nameOfUser(user) : key.user_id;
}
