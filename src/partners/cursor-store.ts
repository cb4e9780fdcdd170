import type { Session } from "../platform/db/database.ts";

/** How far we have read a partner's messages; null before the first time. */
export async function findCursor(session: Session, name: string): Promise<string | null> {
  const [row] = await session.query<{ cursor: string }>(
    "select cursor from partner_cursors where name = $1",
    [name],
  );
  return row?.cursor ?? null;
}

/** Readers may overlap: a message is recorded once, however often it is read. */
export async function updateCursor(
  session: Session,
  name: string,
  cursor: string,
  now: Date,
): Promise<void> {
  await session.query(
    `insert into partner_cursors (name, cursor, read_at) values ($1, $2, $3)
     on conflict (name) do update set cursor = excluded.cursor, read_at = excluded.read_at`,
    [name, cursor, now],
  );
}
