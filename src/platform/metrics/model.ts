import type { Session } from "../db/database.ts";

/** One number read from the database, with the label that distinguishes its rows. */
type Gauge = { name: string; help: string; label?: string };

export type Sample = { name: string; label?: string; value: number };

type ReadTime = { now: Date; real_now: Date };

/**
 * The metrics of a module's records. Every statement must cost the same for a thousand rows as for
 * a hundred million: it reads an index of open work only, and stops counting at COUNT_MAX.
 */
export type MetricSource = {
  gauges: readonly Gauge[];
  read(session: Session, time: ReadTime): Promise<Sample[]>;
};

export const COUNT_MAX = 10_000;

/** For the help text of a gauge that counts. */
export const COUNTED = `counted up to ${COUNT_MAX}`;

export function ageSeconds(at: Date | null | undefined, now: Date): number {
  return at ? Math.max(0, (now.getTime() - at.getTime()) / 1000) : 0;
}
