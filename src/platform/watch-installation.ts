import type { Clock } from "./clock.ts";
import type { Database } from "./db/database.ts";
import type { Keyring } from "./encryption/keyring.ts";

const LOOK_EVERY_MS = 500;

/**
 * What other processes change for the whole installation reaches this one: the sandbox's clock,
 * and that somebody was erased, whose key this process may still have in memory. Returns how to
 * stop. While the database is away nothing is learned; whoever needs it says so.
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
