import { updatePasskeysAlone } from "../../src/accounts/passkeys/store.ts";
import { updatePassword } from "../../src/accounts/sign-in/password-store.ts";
import { lockPersonById } from "../../src/accounts/store.ts";
import type { Database } from "../../src/platform/db/database.ts";
import { waitFor } from "../harness/wait-for.ts";

/**
 * Does something after a new password was written and before it is committed; what waits for it
 * goes on afterwards. As when somebody sets a password by a link, all sessions end with it.
 */
export async function whilePasswordIsSet<Result>(
  database: Database,
  person_id: string,
  act: () => Promise<Result>,
): Promise<Result> {
  let outcome: Promise<Result> | undefined;
  await database.transaction(async (tx) => {
    await lockPersonById(tx, person_id);
    updatePassword(tx, person_id, "new");
    let is_answered = false;
    outcome = act();
    outcome.finally(() => {
      is_answered = true;
    });
    await waitFor(async () => is_answered || (await isPersonAwaited(database)) || null);
    await tx.query("delete from sessions where person_id = $1", [person_id]);
    updatePasskeysAlone(tx, person_id, false);
  });
  return outcome!;
}

/** Whether a request waits for somebody who has locked a person. */
export async function isPersonAwaited(database: Database): Promise<boolean> {
  const rows = await database.query(
    `select 1 from pg_stat_activity where datname = current_database()
       and wait_event_type = 'Lock' and query like '%people%'`,
  );
  return rows.length > 0;
}
