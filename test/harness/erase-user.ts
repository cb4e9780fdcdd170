import type { Core } from "../../src/app/open-core.ts";
import { recordErasure } from "../../src/retention/record-erasure.ts";
import { lockUsers } from "../../src/users/store.ts";

/** Erases a person at once, as if nothing had to be kept. False when there is no such person. */
export function eraseUser(
  { database, keyring, clock }: Pick<Core, "database" | "keyring" | "clock">,
  key: { account_id: string; user_id: string },
): Promise<boolean> {
  return database.transaction(async (tx) => {
    if ((await lockUsers(tx, [key])).length === 0) return false;
    const by = { actor: "command line", reason: "asked to" } as const;
    recordErasure(tx, keyring, key, by, clock.now());
    return true;
  });
}
