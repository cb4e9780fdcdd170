import type { Session, Transaction } from "../platform/db/database.ts";
import { columnsOf } from "../platform/db/rows.ts";
import { PAGE_BYTES_MAX } from "../platform/http/list.ts";
import { FIRST_ID, LAST_ID } from "../platform/ids.ts";
import type { EventRow } from "./store.ts";

type EventCursor = { block_number: bigint; position: bigint };

const EVENT_COLUMNS = `e.account_id, e.id, e.name, e.record_id, e.sequence, e.from_status,
  e.to_status, e.facts, e.subject_id, e.change_id, e.role, e.app_id, e.counterpart_account_id,
  e.created_at`;

/** How far the events of an account have been put in order. */
export async function findEventCursor(session: Session, account_id: string): Promise<EventCursor> {
  const [row] = await session.query<EventCursor>(
    "select block_number, position from event_cursors where account_id = $1",
    [account_id],
  );
  return row ?? { block_number: 0n, position: 0n };
}

const ORDERED = [
  ...["account_id", "id", "name", "record_id", "sequence", "change_id", "role", "app_id"],
  ...["counterpart_account_id", "created_at"],
] as const;

/** What decides who is notified of an event, and in which order. */
export type OrderedEvent = Pick<EventRow, (typeof ORDERED)[number]>;

/**
 * The events of the next block of the sealed log that have no position yet, without what nobody
 * needs to hand them over; null when there is no block.
 */
export async function findNextBlock(
  session: Session,
  account_id: string,
  after: bigint,
): Promise<{ number: bigint; events: OrderedEvent[] } | null> {
  const [block] = await session.query<{ number: bigint; entry_ids: string[] }>(
    `select number, entry_ids from seal_blocks
     where account_id = $1 and log = 'events' and number = $2`,
    [account_id, after + 1n],
  );
  if (!block) return null;
  // Looked up one by one: in a join the planner would read all positions of the account.
  const events = await session.query<OrderedEvent>(
    `select ${ORDERED.join(", ")} from events e where e.account_id = $1 and e.id = any($2::uuid[])
       and (select p.event_id from event_positions p
         where p.account_id = $1 and p.event_id = e.id limit 1) is null
     order by e.id`,
    [account_id, block.entry_ids],
  );
  return { number: block.number, events };
}

/** False when another writer moved the cursor; otherwise locks it until the transaction ends. */
export async function updateEventCursor(
  tx: Session,
  account_id: string,
  from: EventCursor,
  to: EventCursor,
): Promise<boolean> {
  const rows = await tx.query(
    `insert into event_cursors (account_id, block_number, position) values ($1, $4, $5)
     on conflict (account_id) do update
       set block_number = excluded.block_number, position = excluded.position
       where event_cursors.block_number = $2 and event_cursors.position = $3
     returning account_id`,
    [account_id, from.block_number, from.position, to.block_number, to.position],
  );
  return rows.length > 0;
}

export function insertEventPositions(
  tx: Transaction,
  account_id: string,
  after: bigint,
  events: readonly Pick<EventRow, "id" | "name">[],
): void {
  tx.write(
    `insert into event_positions (account_id, position, event_id, name)
     select $1, $2::bigint + number, event_id, name
     from unnest($3::uuid[], $4::text[]) with ordinality as t (event_id, name, number)`,
    [account_id, after, ...columnsOf(events, "id", "name")],
  );
}

/** An event as its account reads it; the body is sealed, and null after its retention ended. */
export type StoredEvent = EventRow & { body: Buffer | null };

const POSITION_MAX = 2n ** 63n - 1n;

/** Oldest first, by position: an event committed late gets a later position. */
export async function listEvents(
  session: Session,
  account_id: string,
  page: {
    after_position: bigint;
    limit: number;
    from_id: string;
    below_id: string;
    name?: string | undefined;
  },
): Promise<StoredEvent[]> {
  const { after_position, limit, from_id, below_id } = page;
  // Without these ends, a page would read all events before its first or after its last one.
  const [before_first, last] = await Promise.all([
    from_id === FIRST_ID ? 0n : findPositionBefore(session, account_id, from_id),
    below_id === LAST_ID ? POSITION_MAX : findLastPosition(session, account_id, below_id),
  ]);
  const after = before_first > after_position ? before_first : after_position;
  const values = [account_id, after, last, limit, from_id, below_id, PAGE_BYTES_MAX];
  return session.query<StoredEvent>(
    `select ${EVENT_COLUMNS}, e.body from (
       select e.*, p.position, coalesce(sum(octet_length(e.body)) over (order by p.position
         rows between unbounded preceding and 1 preceding), 0) as bytes_before
       from event_positions p
       join events e on e.account_id = p.account_id and e.id = p.event_id
       where p.account_id = $1 and p.position > $2 and p.position <= $3
         and e.id >= $5 and e.id < $6 ${page.name ? "and p.name = $8" : ""}
       order by p.position limit $4
     ) as e where e.bytes_before <= $7 order by e.position`,
    page.name ? [...values, page.name] : values,
  );
}

/**
 * The position of an event; undefined while it has none, or if it is another account's. What is so
 * old that its position went with its body, and perhaps the event itself into an archive, counts as
 * before all that are listed.
 */
export async function findEventPosition(
  session: Session,
  account_id: string,
  event_id: string,
): Promise<bigint | undefined> {
  const [row] = await session.query<{ position: bigint }>(
    `select coalesce(p.position, 0) as position from (select $2::uuid as id) as wanted
     left join event_positions p on p.account_id = $1 and p.event_id = wanted.id
     where p.position is not null or ${TRIMMED} >= wanted.id`,
    [account_id, event_id],
  );
  return row?.position;
}

// In all statements $1 is the account. Up to this event, bodies were deleted.
const TRIMMED = "(select trimmed_id from event_cursors where account_id = $1)";

/**
 * A position before all events with this id or a later one. Ids follow the time and positions
 * follow the commits, so the first by id is not always the first by position.
 */
async function findPositionBefore(
  session: Session,
  account_id: string,
  from_id: string,
): Promise<bigint> {
  const [row] = await session.query<{ position: bigint | null }>(
    `select coalesce(min(first.position) - 1,
       (select max(position) from event_positions where account_id = $1), 0) as position
     from (
       select p.position from events e
       join event_positions p on p.account_id = e.account_id and p.event_id = e.id
       where e.account_id = $1 and e.id >= greatest($2, ${TRIMMED}) order by e.id limit 1000
     ) as first`,
    [account_id, from_id],
  );
  return row!.position ?? 0n;
}

/** The last position of the events before this id. */
async function findLastPosition(
  session: Session,
  account_id: string,
  below_id: string,
): Promise<bigint> {
  const [row] = await session.query<{ position: bigint | null }>(
    `select max(last.position) as position from (
       select p.position from events e
       join event_positions p on p.account_id = e.account_id and p.event_id = e.id
       where e.account_id = $1 and e.id < $2 and e.id >= coalesce(${TRIMMED}, $3)
       order by e.id desc limit 1000
     ) as last`,
    [account_id, below_id, FIRST_ID],
  );
  return row!.position ?? 0n;
}

export async function findEvent(
  session: Session,
  account_id: string,
  id: string,
): Promise<StoredEvent | undefined> {
  const [row] = await session.query<StoredEvent>(
    `select ${EVENT_COLUMNS}, e.body from events e where e.account_id = $1 and e.id = $2`,
    [account_id, id],
  );
  return row;
}

/** Events of an account in a time range, by id, for a replay. */
export function listEventsBetween(
  session: Session,
  account_id: string,
  range: { after_id: string; below_id: string; limit: number },
): Promise<EventRow[]> {
  return session.query<EventRow>(
    `select ${EVENT_COLUMNS} from events e
     where e.account_id = $1 and e.id > $2 and e.id < $3 order by e.id limit $4`,
    [account_id, range.after_id, range.below_id, range.limit],
  );
}

/**
 * Empties the bodies of the next events created before this id; true when there are more. Digests
 * are kept. A mark stores the progress, so that old events are not scanned again.
 */
export async function updateBodiesTrimmed(
  session: Session,
  account_id: string,
  below_id: string,
  limit: number,
): Promise<boolean> {
  const [row] = await session.query<{ count: number }>(
    `with next as (
       select e.id from events e join event_cursors c on c.account_id = e.account_id
       where e.account_id = $1 and e.id < $2 and (c.trimmed_id is null or e.id > c.trimmed_id)
       order by e.id limit $3
     ), trimmed as (
       update events set body = null where account_id = $1 and id in (select id from next)
     ), marked as (
       update event_cursors set trimmed_id = (select id from next order by id desc limit 1)
       where account_id = $1 and exists (select from next)
     )
     select count(*)::integer as count from next`,
    [account_id, below_id, limit],
  );
  return row!.count === limit;
}

/**
 * Deletes the positions of the next events after this id whose bodies are deleted; returns the last
 * one's id, null at the end. Those of a block that is being handed over stay: they tell which of
 * its events were.
 */
export async function deleteTrimmedPositions(
  session: Session,
  account_id: string,
  after_id: string,
  limit: number,
): Promise<string | null> {
  const [row] = await session.query<{ last_id: string | null }>(
    `with next as (
       select p.event_id from event_positions p
       where p.account_id = $1 and p.event_id > $2 and p.event_id <= ${TRIMMED}
         and not exists (
           select from event_cursors c join seal_blocks b
             on b.account_id = c.account_id and b.log = 'events' and b.number = c.block_number + 1
           where c.account_id = $1 and b.entry_ids @> array[p.event_id])
       order by p.event_id limit $3
     ), deleted as (
       delete from event_positions
       where account_id = $1 and event_id in (select event_id from next)
     )
     select (select event_id from next order by event_id desc limit 1) as last_id`,
    [account_id, after_id, limit],
  );
  return row!.last_id;
}
