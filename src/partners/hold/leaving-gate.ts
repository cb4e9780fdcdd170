import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import { warnOfPutBack } from "../../platform/sealing/put-back.ts";
import type { Block } from "../../platform/sealing/seal.ts";
import { realTime } from "../../platform/tasks/real-time.ts";
import type { Hold, Leaving } from "../leaving.ts";
import {
  existsBlock,
  findLeavingCount,
  insertHold,
  listOpenHolds,
  lockLeavingCount,
  updateLeavingCount,
} from "./hold-store.ts";
import type { RestoreFile } from "./restore-file.ts";

type GateDeps = {
  database: Database;
  clock: Clock;
  file: RestoreFile | null;
  /** Whether the audit log says that a person holds payouts: the row of a hold can be deleted. */
  isSaidHeld(): Promise<boolean>;
};

const SAID_ONLY = "The audit log says that payouts are on hold, but the hold is not there.";

export type LeavingGate = Leaving & {
  /** Holds payouts where the file knows more than the database; returns why, if it is new. */
  checkRestored(): Promise<string | null>;
  /** Notes outside of the database which block was sealed last. */
  noteSealed(block: Pick<Block, "account_id" | "log" | "number" | "hash">): Promise<void>;
};

/**
 * Lets money leave while no hold is open. What leaves is counted after it was stored and before it
 * leaves, first in the database, then in the file. So any copy of the database that does not have
 * it counts less than the file, and is noticed before anything leaves again. The file never counts
 * more than a database that is whole: a crash between the two makes no false alarm. The same holds
 * for the block that was sealed last: a database from which nothing had left is noticed too.
 */
export function createLeavingGate({ database, clock, file, isSaidHeld }: GateDeps): LeavingGate {
  const findHold = () => findOpenHold({ database, clock, isSaidHeld });

  const checkRestored = async (): Promise<string | null> => {
    if (!file) return null;
    // Before the database, which then has at least what the file says, unless it is an older one.
    const known = file.read();
    const count = await findLeavingCount(database);
    const misses_block = known?.anchor ? !(await existsBlock(database, known.anchor)) : false;
    if ((known?.count ?? 0n) === 0n && count === 0n && !misses_block) {
      if (known === null) file.write({ count: 0n, anchor: null });
      // The file exists from now on: a database that has this count misses it.
      await updateLeavingCount(database, 1n);
      return null;
    }
    if (known !== null && known.count <= count && !misses_block) return null;
    const reason =
      known === null
        ? `${file.path} is missing, so nobody can tell whether the database is an old copy.`
        : `The database is older than ${file.path}: it was restored, or lost its last changes.`;
    const hold = { kind: "restore", reason, file_count: known?.count ?? null } as const;
    const is_new = await insertHold(database, hold, realTime(clock));
    if (known === null) file.write({ count, anchor: null });
    if (misses_block) await forgetAnchor(file);
    return is_new ? reason : null;
  };

  /** The hold stands for it now; the next block is an anchor again. */
  const forgetAnchor = (restore_file: RestoreFile) =>
    database.transaction(async (tx) => {
      const count = await lockLeavingCount(tx);
      const known = restore_file.read();
      if (known?.anchor && (await existsBlock(tx, known.anchor))) return;
      restore_file.write({ count: known?.count ?? count, anchor: null });
    });

  const count = async (restore_file: RestoreFile): Promise<boolean> => {
    const is_counted = await database.transaction(async (tx) => {
      const before = await lockLeavingCount(tx);
      if ((await listOpenHolds(tx)).length > 0) return false;
      await updateLeavingCount(tx, before + 1n);
      return true;
    });
    if (!is_counted) return false;
    // Under the lock, so that of two processes the one with the higher count writes last.
    await database.transaction(async (tx) => {
      const counted = await lockLeavingCount(tx);
      restore_file.write({ count: counted, anchor: restore_file.read()?.anchor ?? null });
    });
    return true;
  };

  const noteSealed: LeavingGate["noteSealed"] = async (block) => {
    if (!file) return;
    // Else the file would follow an older database before anybody has noticed.
    await checkRestored();
    const { account_id, log, number, hash } = block;
    const anchor = { account_id, log, number: String(number), hash: hash.toString("hex") };
    await database.transaction(async (tx) => {
      await lockLeavingCount(tx);
      const known = file.read();
      if (known) file.write({ count: known.count, anchor });
    });
  };

  return {
    findHold,
    checkRestored,
    noteSealed,
    mayLeave: async () => {
      if (await findHold()) return false;
      if (!file) return true;
      await checkRestored();
      return count(file);
    },
  };
}

/** A release may be committed between the two reads, so a difference is looked at again. */
async function findOpenHold({
  database,
  clock,
  isSaidHeld,
}: Omit<GateDeps, "file">): Promise<Hold | null> {
  for (const is_alarm of [false, true]) {
    const [[hold], is_said] = await Promise.all([listOpenHolds(database), isSaidHeld()]);
    if (hold) return hold;
    if (!is_said) return null;
    if (is_alarm) warnOfPutBack(database, { table: "payout_holds", key: [] });
  }
  return { kind: "operator", reason: SAID_ONLY, held_at: clock.now() };
}
