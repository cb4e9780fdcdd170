import type { Clock } from "../../../platform/clock.ts";
import type { Database } from "../../../platform/db/database.ts";
import { HOUR_MS } from "../../../platform/durations.ts";
import { realTime } from "../../../platform/tasks/real-time.ts";
import { ChainUnavailable } from "../port.ts";
import { Disagreement } from "./check-transfers.ts";
import { listUnproven } from "./finding-store.ts";
import type { Watcher } from "./model.ts";
import { readBlocks } from "./read-blocks.ts";
import { insertProven } from "./watch-store.ts";

/** Of one run. */
const ROWS_MAX = 20;
const FROM_THE_START_AFTER_MS = HOUR_MS;

/**
 * Reads the blocks of stored transfers that are not proven once more: an earlier version wrote them
 * without a MAC, somebody changed them, or the operator has named their key since. What the nodes
 * have takes the place of the row and is credited; the rest stays as it is.
 */
export async function proveAgain(
  deps: { database: Database; clock: Clock },
  watcher: Watcher,
  scanned_block: bigint,
): Promise<void> {
  const { unproven, chain } = watcher;
  const now_ms = realTime(deps.clock).getTime();
  if (now_ms >= unproven.again_at_ms) {
    Object.assign(unproven, { after: 0n, again_at_ms: now_ms + FROM_THE_START_AFTER_MS });
  }
  const wanted = { after: unproven.after, until_block: scanned_block };
  const rows = await listUnproven(deps.database, chain.name, wanted, ROWS_MAX);
  for (const block_number of new Set(rows.map((row) => Number(row.block_number)))) {
    const read = await readBlocks(deps, watcher, {
      ...{ after: block_number - 1, until: block_number },
    }).catch(orNothing);
    if (read) await insertProven(deps.database, chain.name, read);
  }
  unproven.after = rows.at(-1)?.number ?? unproven.after;
}

/** A block that a node cannot read now is tried again later; it must not stop the others. */
function orNothing(error: unknown): null {
  if (error instanceof ChainUnavailable || error instanceof Disagreement) return null;
  throw error;
}
