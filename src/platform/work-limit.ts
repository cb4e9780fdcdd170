import { Refusal } from "./errors.ts";

type WorkLimit = <Result>(caller: string, work: () => Promise<Result>) => Promise<Result>;
type Line = { running: number; waiting: (() => void)[] };

const RETRY_AFTER_SECONDS = 1;

/**
 * Runs the work of each caller a few pieces at a time; the rest waits in memory, and is refused
 * where too much waits already. One caller's requests, however many arrive at once, then never
 * stand before everybody else's in the queue of the database.
 */
export function createWorkLimit(rule: { at_once: number; waiting_max: number }): WorkLimit {
  const lines = new Map<string, Line>();
  return async (caller, work) => {
    const line = lines.get(caller) ?? { running: 0, waiting: [] };
    lines.set(caller, line);
    if (line.running < rule.at_once) line.running += 1;
    else if (line.waiting.length < rule.waiting_max) {
      await new Promise<void>((begin) => line.waiting.push(begin));
    } else throw new Refusal("too_many_requests", undefined, RETRY_AFTER_SECONDS);
    try {
      return await work();
    } finally {
      // The next one takes over this place.
      const begin = line.waiting.shift();
      if (begin) begin();
      else {
        line.running -= 1;
        if (line.running === 0) lines.delete(caller);
      }
    }
  };
}
