import { smallRandomBytes } from "./random-bytes.ts";

/** Sorts before all ids; no record has it. */
export const FIRST_ID = "00000000-0000-0000-0000-000000000000";
/** Sorts after all ids; no record has it. */
export const LAST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

// Node's randomUUIDv7 reads the system's clock; these ids must follow the business clock, so that
// ids created after the sandbox clock moved sort after earlier ones.
const COUNTER_MAX = 0xfff;
const TIME_MAX_MS = 0xffff_ffff_ffff;
/**
 * If the clock was set back by more than this, ids follow it: time filters search for ids of that
 * time.
 */
const BACK_MAX_MS = 1_000;
let last_ms = 0;
let counter = 0;

/** A UUIDv7 of the given business time; within one process the ids of one millisecond ascend. */
export function newId(now: Date): string {
  const ms = now.getTime();
  if (ms > last_ms || ms < last_ms - BACK_MAX_MS) {
    last_ms = ms;
    counter = 0;
  } else if (counter < COUNTER_MAX) {
    counter += 1;
  } else {
    last_ms += 1;
    counter = 0;
  }
  return idOf(last_ms, counter);
}

/**
 * An id that sorts after this one, whatever the clocks say: the next millisecond's. Null if there
 * is none, which is not an id of ours.
 */
export function idAfter(id: string): string | null {
  const ms = Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16) + 1;
  return ms <= TIME_MAX_MS ? idOf(ms, 0) : null;
}

function idOf(ms: number, counter: number): string {
  const random = smallRandomBytes(8);
  const time = ms.toString(16).padStart(12, "0");
  const tail = random.toString("hex");
  const variant = ((random[0]! & 0x3f) | 0x80).toString(16);
  return (
    `${time.slice(0, 8)}-${time.slice(8)}-7${counter.toString(16).padStart(3, "0")}-` +
    `${variant}${tail.slice(2, 4)}-${tail.slice(4)}`
  );
}

export function isId(text: string): boolean {
  return UUID.test(text);
}

/**
 * The smallest id that can have been created at this time: turns a time filter into an id filter.
 */
export function firstIdAt(time: Date): string {
  const hex = Math.max(0, time.getTime()).toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}

/** When it was created, to the millisecond. */
export function timeOfId(id: string): Date {
  return new Date(Number.parseInt(id.slice(0, 13).replace("-", ""), 16));
}
