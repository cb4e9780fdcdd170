import { setTimeout as sleep } from "node:timers/promises";

/** A search is followed by a pause of so many times its own duration. */
const PAUSE = 4;
const WAITING_MAX = 50;

/** Null where too many wait already. */
type TakeTurn = <Result>(search: () => Result) => Promise<Result> | null;

/**
 * Searches one after the other, so that all of them together, from however many networks, take at
 * most a fifth of the thread that answers everybody.
 */
export function createSearchTurns(): TakeTurn {
  let waiting = 0;
  let last: Promise<unknown> = Promise.resolve();
  return (search) => {
    if (waiting === WAITING_MAX) return null;
    waiting += 1;
    let took_ms = 0;
    const found = last.then(() => {
      const begun_ms = performance.now();
      try {
        return search();
      } finally {
        took_ms = performance.now() - begun_ms;
        waiting -= 1;
      }
    });
    const pause = () => sleep(PAUSE * took_ms);
    last = found.then(pause, pause);
    return found;
  };
}
