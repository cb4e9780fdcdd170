import { useCallback, useEffect, useRef, useState } from "react";
import { ConnectionLost } from "./api.ts";

const FIRST_PAUSE_MS = 1_000;
const PAUSE_MAX_MS = 15_000;
/** About an hour; by then the user has left, or will reload the page. */
const ATTEMPTS_MAX = 240;

export type Run = <T>(work: () => Promise<T>, signal?: AbortSignal) => Promise<T>;

/**
 * Runs work that needs the server and repeats it while there is no connection: after a pause, when
 * the browser is online again, and when the user asks for it.
 */
export function useConnection(): { is_lost: boolean; run: Run; retryNow: () => void } {
  const [waiting, setWaiting] = useState(0);
  const wakers = useRef(new Set<() => void>());

  const retryNow = useCallback(() => {
    for (const wake of [...wakers.current]) wake();
  }, []);

  useEffect(() => {
    window.addEventListener("online", retryNow);
    return () => window.removeEventListener("online", retryNow);
  }, [retryNow]);

  const run: Run = useCallback(async (work, signal) => {
    let is_waiting = false;
    try {
      for (let attempt = 0; ; attempt++) {
        try {
          return await work();
        } catch (error) {
          const gives_up = attempt === ATTEMPTS_MAX || signal?.aborted;
          if (!(error instanceof ConnectionLost) || gives_up) throw error;
          if (!is_waiting) setWaiting((number) => number + 1);
          is_waiting = true;
          await pause(attempt, wakers.current, signal);
        }
      }
    } finally {
      if (is_waiting) setWaiting((number) => number - 1);
    }
  }, []);

  return { is_lost: waiting > 0, run, retryNow };
}

function pause(attempt: number, wakers: Set<() => void>, signal?: AbortSignal): Promise<void> {
  const length_ms = Math.min(FIRST_PAUSE_MS * 2 ** attempt, PAUSE_MAX_MS);
  return new Promise((done, fail) => {
    const wake = () => {
      clearTimeout(timer);
      wakers.delete(wake);
      if (signal?.aborted) fail(new DOMException("Cancelled", "AbortError"));
      else done();
    };
    const timer = setTimeout(wake, length_ms);
    wakers.add(wake);
    signal?.addEventListener("abort", wake, { once: true });
  });
}
