import { setTimeout as sleep } from "node:timers/promises";

/**
 * Groups single calls into calls for sets: the first runs at once, those made while it runs form
 * the next set. With a pace, a set also waits until that long after the previous set began: under
 * load the sets are larger and cost less per key. Values are returned in the order of the keys.
 */
export function coalesce<Key, Value>(
  run: (keys: readonly Key[]) => Promise<readonly Value[]>,
  pace_ms = 0,
): (key: Key) => Promise<Value> {
  type Waiting = { key: Key; resolve: (value: Value) => void; reject: (error: unknown) => void };
  let waiting: Waiting[] = [];
  let is_running = false;
  let begun_ms = Number.NEGATIVE_INFINITY;

  async function drain(): Promise<void> {
    while (waiting.length > 0) {
      const early_ms = begun_ms + pace_ms - performance.now();
      if (early_ms > 0) await sleep(early_ms);
      begun_ms = performance.now();
      const set = waiting;
      waiting = [];
      try {
        const values = await run(set.map((one) => one.key));
        set.forEach((one, at) => {
          one.resolve(values[at]!);
        });
      } catch (error) {
        for (const one of set) one.reject(error);
      }
    }
    is_running = false;
  }

  return (key) =>
    new Promise((resolve, reject) => {
      waiting.push({ key, resolve, reject });
      if (is_running) return;
      is_running = true;
      // After all calls of the current tick, which belong together.
      queueMicrotask(() => void drain());
    });
}
