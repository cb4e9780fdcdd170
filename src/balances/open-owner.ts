import type { Database } from "../platform/db/database.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import { notFound, type Problem, Refusal } from "../platform/errors.ts";
import { findUser, type UserKey } from "../users/store.ts";

/** The key of a user of this account; refuses when there is none. */
export async function openOwner(
  { database, keyring }: { database: Database; keyring: Keyring },
  key: UserKey,
  problems: readonly Problem[],
): Promise<Buffer> {
  const user = await findUser(database, key);
  if (!user) throw Refusal.of([...problems, notFound("user_id")]);
  if (problems.length > 0) throw Refusal.of(problems);
  const subject = { account_id: key.account_id, subject_id: key.user_id };
  const keys = await keyring.openSubjects(database, [subject]);
  return keys.get(key.account_id, key.user_id)!;
}
