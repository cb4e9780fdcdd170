import type { Session } from "../../platform/db/database.ts";

type OutboxRow = { id: string; content: Buffer; sent_at: Date; expires_at: Date };

/** Another attempt replaces what the first one wrote. */
export async function upsertOutbox(session: Session, row: OutboxRow): Promise<void> {
  await session.query(
    `insert into sandbox_outbox (id, content, sent_at, expires_at) values ($1, $2, $3, $4)
     on conflict (id) do update set content = excluded.content, sent_at = excluded.sent_at,
       expires_at = excluded.expires_at`,
    [row.id, row.content, row.sent_at, row.expires_at],
  );
}

export function listOutbox(session: Session, now: Date, limit: number): Promise<OutboxRow[]> {
  return session.query<OutboxRow>(
    "select * from sandbox_outbox where expires_at > $1 order by id desc limit $2",
    [now, limit],
  );
}

export async function deleteExpiredOutbox(session: Session, now: Date): Promise<void> {
  await session.query("delete from sandbox_outbox where expires_at <= $1", [now]);
}
