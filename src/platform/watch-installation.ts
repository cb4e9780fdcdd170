import type { Clock } from "./clock.ts";
import type { Database } from "./db/database.ts";
import type { Keyring } from "./encryption/keyring.ts";
import { macsOf } from "./sealing/row-mac.ts";

const LOOK_EVERY_MS = 500;

/**
 * Picks up what other processes change for the whole installation: the sandbox's clock, new keys of
 * MACs, and erased people, whose keys this process may still have in memory. Returns a function
 * that stops it. While the database is unavailable nothing is picked up; code that depends on it
 * checks that itself.
 */
export function watchInstallation(
  { database, clock, keyring }: { database: Database; clock: Clock; keyring: Keyring },
  every_ms = LOOK_EVERY_MS,
): () => Promise<void> {
  let seen: { erasures: bigint; mac_keys: bigint } | undefined;
  let looking: Promise<void> | undefined;
  const look = async () => {
    await clock.refresh();
    const [row] = await database.query<{ erasures: bigint; mac_keys: bigint }>(
      "select erasures, (select count(*) from mac_keys) as mac_keys from installation",
    );
    if (seen && seen.erasures !== row!.erasures) keyring.forgetSubjects();
    // A rotation may have ended between the start and the first look.
    if (seen?.mac_keys !== row!.mac_keys) await macsOf(database).refresh();
    seen = row;
  };
  const timer = setInterval(() => {
    looking ??= look()
      .catch(() => {})
      .finally(() => {
        looking = undefined;
      });
  }, every_ms);
  return async () => {
    clearInterval(timer);
    await looking;
  };
}
