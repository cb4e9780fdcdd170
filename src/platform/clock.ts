import type { Database, Session } from "./db/database.ts";
import { DAY_MS } from "./durations.ts";

/**
 * The one business clock: the database's time plus, in sandbox, one stored offset. Each process
 * measures how far its own time is from the database's and corrects for it.
 */
export type Clock = {
  now(): Date;
  /** The difference between this process's time and the database's. */
  difference_ms(): number;
  /** Measures the difference again and rereads the offset. */
  refresh(): Promise<void>;
};

export type SandboxClock = {
  /** Moves the clock of the whole installation forward and returns the new business time. */
  advance(advance_ms: number): Promise<Date>;
};

export const ADVANCE_MAX_MS = 400 * DAY_MS;
/** Beyond this difference a process reports itself as not ready. */
export const DIFFERENCE_MAX_MS = 2_000;

export async function openClock(database: Database): Promise<Clock & SandboxClock> {
  let difference_ms = 0;
  let offset_ms = 0;
  const refresh = async () => {
    const sent_ms = Date.now();
    const { database_ms, clock_offset_ms } = await readTime(database);
    const received_ms = Date.now();
    // The database answered at some moment between the two. The known difference is kept while it
    // is consistent with that, so that time does not jump back and forth on a busy machine; else
    // it changes by as little as the answer proves, since an answer can be long on its way.
    const [least_ms, most_ms] = [database_ms - received_ms, database_ms - sent_ms];
    difference_ms = Math.min(Math.max(difference_ms, least_ms), most_ms);
    offset_ms = Math.max(offset_ms, clock_offset_ms);
  };
  await refresh();
  // A small difference is measurement error; correcting it would make time jitter.
  const correction = () => (Math.abs(difference_ms) > 50 ? Math.round(difference_ms) : 0);
  let last_ms = 0;
  // A smaller correction would set the time back, and due tasks would no longer be due: the clock
  // pauses instead. It follows a larger step back, which comes from the machine's own clock.
  const now = () => {
    const now_ms = Date.now() + correction() + offset_ms;
    if (now_ms > last_ms || now_ms < last_ms - DIFFERENCE_MAX_MS) last_ms = now_ms;
    return new Date(last_ms);
  };
  return {
    now,
    difference_ms: () => difference_ms,
    refresh,
    advance: async (advance_ms) => {
      if (!Number.isInteger(advance_ms) || advance_ms < 0 || advance_ms > ADVANCE_MAX_MS) {
        throw new RangeError(`advance_ms must be a whole number from 0 to ${ADVANCE_MAX_MS}`);
      }
      const [row] = await database.query<{ clock_offset_ms: bigint }>(
        `update installation set clock_offset_ms = clock_offset_ms + $1
         where mode = 'sandbox' returning clock_offset_ms`,
        [advance_ms],
      );
      if (!row) throw new Error("only the sandbox's clock can be moved");
      offset_ms = Math.max(offset_ms, Number(row.clock_offset_ms));
      return now();
    },
  };
}

/** The system's time, used until the clock is open (first migration). */
export function systemTime(): Date {
  return new Date();
}

async function readTime(session: Session) {
  // clock_timestamp() measures the difference; nothing else may ask the server for the time.
  const [row] = await session.query<{ database_ms: number; clock_offset_ms: bigint }>(
    `select extract(epoch from clock_timestamp())::float8 * 1000 as database_ms,
       case mode when 'sandbox' then clock_offset_ms else 0 end as clock_offset_ms
     from installation`,
  );
  return { database_ms: row!.database_ms, clock_offset_ms: Number(row!.clock_offset_ms) };
}
