import type { Database } from "../platform/db/database.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import { assertFound, type Problem } from "../platform/errors.ts";
import { findUser, type UserKey } from "../users/store.ts";

/** The key of a user of this account; refuses when there is none. */
export async function openOwner(
  { database, keyring }: { database: Database; keyring: Keyring },
  key: UserKey,
  problems: readonly Problem[],
): Promise<Buffer> {
  const user = await findUser(database, key);
  assertFound(user, "user_id", problems);
  const keys = await keyring.openUserKeys(database, [key]);
  return keys.get(key.account_id, key.user_id)!;
}
