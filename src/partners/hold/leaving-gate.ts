import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import { realTime } from "../../platform/tasks/real-time.ts";
import type { Hold, Leaving } from "../leaving.ts";
import {
  findLeavingCount,
  insertHold,
  listOpenHolds,
  lockLeavingCount,
  updateLeavingCount,
} from "./hold-store.ts";
import type { RestoreFile } from "./restore-file.ts";

type GateDeps = { database: Database; clock: Clock; file: RestoreFile | null };

export type LeavingGate = Leaving & {
  /** Holds payouts where the database counts less than the file; returns why, if it is new. */
  checkRestored(): Promise<string | null>;
};

/**
 * Lets money leave while no hold is open. What leaves is counted after it was stored and before it
 * leaves, first in the database, then in the file. So any copy of the database that does not have
 * it counts less than the file, and is noticed before anything leaves again. The file never counts
 * more than a database that is whole: a crash between the two makes no false alarm.
 */
export function createLeavingGate({ database, clock, file }: GateDeps): LeavingGate {
  const findHold = async (): Promise<Hold | null> => (await listOpenHolds(database))[0] ?? null;

  const checkRestored = async (): Promise<string | null> => {
    if (!file) return null;
    const [file_count, count] = [file.read(), await findLeavingCount(database)];
    if ((file_count ?? 0n) === 0n && count === 0n) {
      if (file_count === null) file.write(0n);
      // The file exists from now on: a database that has this count misses it.
      await updateLeavingCount(database, 1n);
      return null;
    }
    if (file_count !== null && file_count <= count) return null;
    const reason =
      file_count === null
        ? `${file.path} is missing, so nobody can tell whether the database is an old copy.`
        : `The database is older than ${file.path}: it was restored, or lost its last changes.`;
    const hold = { kind: "restore", reason, file_count } as const;
    const is_new = await insertHold(database, hold, realTime(clock));
    if (file_count === null) file.write(count);
    return is_new ? reason : null;
  };

  const count = async (restore_file: RestoreFile): Promise<boolean> => {
    const is_counted = await database.transaction(async (tx) => {
      const before = await lockLeavingCount(tx);
      if ((await listOpenHolds(tx)).length > 0) return false;
      await updateLeavingCount(tx, before + 1n);
      return true;
    });
    if (!is_counted) return false;
    // Under the lock, so that of two processes the one with the higher count writes last.
    await database.transaction(async (tx) => restore_file.write(await lockLeavingCount(tx)));
    return true;
  };

  return {
    findHold,
    checkRestored,
    mayLeave: async () => {
      if (await findHold()) return false;
      if (!file) return true;
      await checkRestored();
      return count(file);
    },
  };
}
