import type { Session } from "../platform/db/database.ts";
import { type Check, eachPage } from "./checks.ts";
import { existsArchivedEvent } from "./sealed-tables.ts";

/** A table for which every change is an event. */
export type EventedTable<Row> = {
  table: string;
  /** The table of removed records, with the number of their last event. */
  removed_table?: string;
  name: string;
  event: string;
  moves: Readonly<Record<string, readonly string[]>>;
  /**
   * The state of a record without events; null if its creation is an event, such as `initiated`.
   */
  before_events: string | null;
  /** Whether old events may be in archived files only, from the first on. */
  is_archived?: boolean;
  /** The digest that the last event recorded. */
  digest: (row: Row) => Buffer;
  /** Selects the records of all accounts. */
  select: string;
};

type EventedRow = { id: string; status: string; sequence: number };

type CheckRows<Row> = (
  session: Session,
  account_id: string,
  rows: readonly Row[],
) => Promise<string | null>;

/** Compares the records of a table with their events; `checkMore` gets each page afterwards. */
export function verifyEvented<Row extends EventedRow>(
  evented: EventedTable<Row>,
  checkMore: CheckRows<Row>,
): Check {
  const query = `select * from (${evented.select}) as record
    where account_id = $1 and id > $2 order by id limit $3`;
  return async (session, account_id) =>
    (await findStrayEvent(session, account_id, evented)) ??
    (await eachPage<Row>(session, account_id, query, (rows) =>
      checkRows(evented, checkMore, session, account_id, rows),
    ));
}

/** The same for some records, which events name. */
export function verifyEventedById<Row extends EventedRow>(
  evented: EventedTable<Row>,
  checkMore: CheckRows<Row>,
): (session: Session, account_id: string, ids: readonly string[]) => Promise<string | null> {
  const query = `select * from (${evented.select}) as record
    where account_id = $1 and id = any($2::uuid[]) order by id`;
  return async (session, account_id, ids) => {
    const stray = await findStrayEvent(session, account_id, evented, ids);
    if (stray) return stray;
    const rows = await session.query<Row>(query, [account_id, ids]);
    return checkRows(evented, checkMore, session, account_id, rows);
  };
}

async function checkRows<Row extends EventedRow>(
  evented: EventedTable<Row>,
  checkMore: CheckRows<Row>,
  session: Session,
  account_id: string,
  rows: readonly Row[],
): Promise<string | null> {
  const ids = rows.map((row) => row.id);
  const events = await listVerifiedEvents(session, account_id, ids);
  const events_of = Map.groupBy(events, (event) => event.record_id);
  const has_archived =
    evented.is_archived === true && (await existsArchivedEvent(session, account_id));
  for (const row of rows) {
    const fault = checkEvents(evented, row, events_of.get(row.id) ?? [], has_archived);
    if (fault) return `${evented.name} ${row.id} of account ${account_id}: ${fault}`;
  }
  return checkMore(session, account_id, rows);
}

type EventRow = {
  record_id: string;
  sequence: number;
  from_status: string | null;
  to_status: string;
  facts: Buffer;
};

// Record by record: the planner would compare all events of the account with all records.
const EVENTS_OF_RECORDS = `unnest($3::uuid[]) as wanted (id) cross join lateral (
  select * from events where record_id = wanted.id and account_id = $1 offset 0) as e`;

/** An event of a record that does not exist; with ids, only of these records. */
async function findStrayEvent<Row>(
  session: Session,
  account_id: string,
  { table, removed_table, name, event }: EventedTable<Row>,
  ids?: readonly string[],
): Promise<string | null> {
  const [row] = await session.query<{ id: string; record_id: string }>(
    `select e.id, e.record_id from ${ids ? EVENTS_OF_RECORDS : "events e"}
     where e.account_id = $1 and e.name = $2 and not exists (
       select from ${table} r where r.account_id = $1 and r.id = e.record_id)
       ${
         removed_table
           ? `and not exists (select from ${removed_table} r
         where r.account_id = $1 and r.id = e.record_id and e.sequence <= r.sequence)`
           : ""
       }
     order by e.id limit 1`,
    [account_id, event, ...(ids ? [ids] : [])],
  );
  if (!row) return null;
  return `event ${row.id} of account ${account_id}: there is no ${name} ${row.record_id}`;
}

function listVerifiedEvents(
  session: Session,
  account_id: string,
  ids: readonly string[],
): Promise<EventRow[]> {
  return session.query<EventRow>(
    `select record_id, sequence, from_status, to_status, facts from events
     where account_id = $1 and record_id = any($2::uuid[]) order by record_id, sequence`,
    [account_id, ids],
  );
}

/**
 * One event per change; each starts from the state in which the previous one ended, and the last
 * one matches the record. That archived ones are all before these is checked with their files.
 */
function checkEvents<Row extends { status: string; sequence: number }>(
  { moves, before_events, digest }: EventedTable<Row>,
  record: Row,
  events: readonly EventRow[],
  has_archived: boolean,
): string | null {
  const first = events[0];
  const archived = has_archived ? Math.max(0, (first?.sequence ?? 1) - 1) : 0;
  let status = archived > 0 ? first!.from_status : before_events;
  for (const [index, event] of events.entries()) {
    const name = `its event ${event.sequence}`;
    const place = archived + index + 1;
    if (event.sequence !== place) return `${name} is in the place of event ${place}`;
    if (event.from_status !== status) {
      return `${name} starts at ${event.from_status}, but the previous one ended at ${status}`;
    }
    if (!isLegal(moves, event)) {
      return `${name} goes from ${event.from_status} to ${event.to_status}`;
    }
    status = event.to_status;
  }
  const count = archived + events.length;
  if (count !== record.sequence) {
    return `it counts ${record.sequence} changes, but has ${count} events`;
  }
  if (status !== record.status) return `it is ${record.status}, but its last event says ${status}`;
  if (before_events !== null && events.length === 0) return null;
  if (!events.at(-1)?.facts.equals(digest(record))) {
    return "it does not match its last event";
  }
  return null;
}

/** A change without a transition, such as a new document, keeps the state. */
export function isLegal(
  moves: Readonly<Record<string, readonly string[]>>,
  { from_status: from, to_status: to }: Pick<EventRow, "from_status" | "to_status">,
): boolean {
  if (from === null) return to === "initiated";
  if (from === to) return true;
  return moves[from]?.includes(to) ?? false;
}
