import type { Session, Transaction } from "../../platform/db/database.ts";
import { FIRST_ID } from "../../platform/ids.ts";
import type { ArchivedEvent, PageLimits } from "./model.ts";

// In all statements $1 is the account. Bodies up to this event were deleted or archived.
const TRIMMED = "(select trimmed_id from event_cursors where account_id = $1)";

type EventRow = Omit<ArchivedEvent, "created_at" | "body"> & {
  created_at: Date;
  body: Buffer | null;
};

/** The next events created before this id whose bodies were not archived yet. */
export async function listOldEvents(
  session: Session,
  account_id: string,
  page: PageLimits & { below_id: string },
): Promise<ArchivedEvent[]> {
  const rows = await session.query<EventRow>(
    `select id, name, record_id, sequence, to_status, subject_id, created_at, body from (
       select *, coalesce(sum(octet_length(body)) over (order by id
         rows between unbounded preceding and 1 preceding), 0) as bytes_before
       from (
         select id, name, record_id, sequence, to_status, subject_id, created_at, body
         from events where account_id = $1 and id < $2 and id > coalesce(${TRIMMED}, $5)
           and exists (select from event_cursors where account_id = $1)
         order by id limit $3
       ) as e
     ) as e where bytes_before <= $4 order by id`,
    [account_id, page.below_id, page.rows_max, page.bytes_max, FIRST_ID],
  );
  return rows.map((row) => ({
    ...row,
    created_at: row.created_at.toISOString(),
    body: row.body?.toString("base64") ?? null,
  }));
}

/**
 * Empties the bodies of these events, and no others: one that was committed late keeps its body.
 * False if somebody else did it meanwhile.
 */
export async function updateBodiesArchived(
  tx: Transaction,
  account_id: string,
  events: readonly ArchivedEvent[],
): Promise<boolean> {
  const last_id = events.at(-1)!.id;
  // Locks the cursor: the service moves it in the statement that deletes bodies.
  const moved = await tx.query(
    `update event_cursors set trimmed_id = $3
     where account_id = $1 and (trimmed_id is null or trimmed_id < $2) returning account_id`,
    [account_id, events[0]!.id, last_id],
  );
  const emptied = await tx.query(
    "update events set body = null where account_id = $1 and id = any($2::uuid[]) returning id",
    [account_id, events.map(({ id }) => id)],
  );
  return moved.length === 1 && emptied.length === events.length;
}
