import type { Session } from "../db/database.ts";
import type { MacBearer } from "./row-mac.ts";
import { UnvouchedRowError, unvouched_rows } from "./vouched-rows.ts";

/*
 * A row and its MAC can be set back together to what the service once wrote. What only grows says
 * so: events and the audit log. Whoever lets money go compares a row with what they say last.
 */

/** A row that is not what the log of its changes says last. */
type PutBack = { table: string; key: readonly string[] };

export const PUT_BACK = "is not what its last event or audit entry says";

/**
 * Reads rows with their logs and fails on one that was put back. Where nothing is locked, a change
 * may be committed between the two statements, so a difference counts when it is seen twice.
 */
export async function readAgreeing<Found>(
  session: Session,
  read: () => Promise<Found>,
  findPutBack: (found: Found) => PutBack | undefined,
): Promise<Found> {
  const found = await read();
  if (!findPutBack(found)) return found;
  const again = await read();
  const wrong = findPutBack(again);
  if (wrong) refusePutBack(session, wrong);
  return again;
}

/** Raises the alarm, and fails: nothing moves because of this row, others go on. */
export function refusePutBack(session: MacBearer, row: PutBack): never {
  throw new UnvouchedRowError(`${warnOfPutBack(session, row)} ${PUT_BACK}`);
}

/** Raises the alarm only; returns how the row is named. */
export function warnOfPutBack(session: MacBearer, { table, key }: PutBack): string {
  const name = [table, ...key].join(" ");
  unvouched_rows.inc({ table });
  session.bound?.onUnvouched?.(name);
  return name;
}
