import type { Database } from "../platform/db/database.ts";
import { findCursor, updateCursor } from "./cursor-store.ts";

/** Limits one run: the next one reads the rest. */
const PAGES_MAX = 1_000;

/**
 * Reads a partner's messages from the cursor, page by page, and moves the cursor after each page
 * was handled: an interrupted page is read again, so handling must be idempotent.
 */
export async function readOn<Item>(
  database: Database,
  cursor_name: string,
  list: (cursor: string | null) => Promise<{ items: Item[]; cursor: string | null }>,
  take: (items: Item[]) => Promise<void>,
  now: Date,
): Promise<void> {
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const before = await findCursor(database, cursor_name);
    const { items, cursor } = await list(before);
    if (items.length > 0) await take(items);
    if (cursor === null || cursor === before) return;
    await updateCursor(database, cursor_name, cursor, now);
  }
}
