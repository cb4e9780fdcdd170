import type { Session } from "../platform/db/database.ts";
import { findRow } from "../platform/db/rows.ts";
import { vouchedTable } from "../platform/sealing/vouched-rows.ts";

type CursorRow = { name: string; cursor: string; read_at: Date };

export const PARTNER_CURSORS = vouchedTable("partner_cursors", ["name"], ["cursor", "read_at"]);

/**
 * How far we have read a partner's messages; null before the first time. Null too if somebody
 * changed it: everything is read again, and nothing is missed.
 */
export async function findCursor(session: Session, name: string): Promise<string | null> {
  const row = await findRow<CursorRow>(session, "partner_cursors", { name });
  const [known] = row ? PARTNER_CURSORS.vouchedOnly(session, [row]) : [];
  return known?.cursor ?? null;
}

/** Readers may overlap: a message is recorded once, however often it is read. */
export async function updateCursor(
  session: Session,
  name: string,
  cursor: string,
  now: Date,
): Promise<void> {
  const { mac } = PARTNER_CURSORS.withMacs(session, [{ name, cursor, read_at: now }])[0]!;
  await session.query(
    `insert into partner_cursors (name, cursor, read_at, mac) values ($1, $2, $3, $4)
     on conflict (name) do update set cursor = excluded.cursor, read_at = excluded.read_at,
       mac = excluded.mac`,
    [name, cursor, now, mac],
  );
}
