import type { Clock } from "../platform/clock.ts";
import type { Database } from "../platform/db/database.ts";
import { findCursor, updateCursor } from "./cursor-store.ts";

/** Limits one run: the next one reads the rest, or the same again where the cursor was kept. */
const PAGES_MAX = 1_000;

/**
 * Reads a partner's messages from the cursor, page by page, and moves the cursor after each page
 * was handled: an interrupted page is read again, so handling must be idempotent. `take` may handle
 * a page in part and say so: later pages are read, and this one and they are read again next time.
 */
export async function readOn<Item>(
  database: Database,
  cursor_name: string,
  list: (cursor: string | null) => Promise<{ items: Item[]; cursor: string | null }>,
  take: (items: Item[], now: Date, keepCursor: () => void) => Promise<void>,
  clock: Pick<Clock, "now">,
): Promise<void> {
  let is_kept = false;
  const keepCursor = () => {
    is_kept = true;
  };
  let reached: string | null = null;
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const before: string | null = is_kept ? reached : await findCursor(database, cursor_name);
    const { items, cursor } = await list(before);
    // A long run must not record what happened after its beginning with the time of its beginning.
    const now = clock.now();
    if (items.length > 0) await take(items, now, keepCursor);
    if (cursor === null || cursor === before) return;
    reached = cursor;
    if (!is_kept) await updateCursor(database, cursor_name, cursor, now);
  }
}
