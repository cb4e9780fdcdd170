import type { Clock } from "./clock.ts";
import type { Database } from "./db/database.ts";
import type { Keyring } from "./encryption/keyring.ts";

const LOOK_EVERY_MS = 500;

/**
 * Picks up what other processes change for the whole installation: the sandbox's clock, and erased
 * people, whose keys this process may still have in memory. Returns a function that stops it. While
 * the database is unavailable nothing is picked up; code that depends on it checks that itself.
 */
export function watchInstallation(
  { database, clock, keyring }: { database: Database; clock: Clock; keyring: Keyring },
  every_ms = LOOK_EVERY_MS,
): () => Promise<void> {
  let seen: bigint | undefined;
  let looking: Promise<void> | undefined;
  const look = async () => {
    await clock.refresh();
    const [row] = await database.query<{ erasures: bigint }>("select erasures from installation");
    if (seen !== undefined && seen !== row!.erasures) keyring.forgetSubjects();
    seen = row!.erasures;
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
