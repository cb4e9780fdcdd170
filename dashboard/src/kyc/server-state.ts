import { useCallback, useRef, useState } from "react";
import { loadState, saveIdentity } from "./api.ts";
import { useConnection } from "./connection.ts";
import type { KycState } from "./state.ts";

/** Asks the server for something and takes over the state that it answers. */
export type Change = (work: () => Promise<KycState>, signal?: AbortSignal) => Promise<void>;

/**
 * The state as the server last told it. Two requests that are on their way at once (a photo and a
 * field) may each answer without what the other did: once both are there, it is asked for anew.
 */
export function useServerState() {
  const { is_lost, run, retryNow } = useConnection();
  const [state, setState] = useState<KycState | null>(null);
  const on_their_way = useRef(0);
  const have_crossed = useRef(false);
  const saves = useRef<Promise<unknown>>(Promise.resolve());

  const change: Change = useCallback(
    async (work, signal) => {
      if (on_their_way.current > 0) have_crossed.current = true;
      on_their_way.current += 1;
      try {
        setState(await run(work, signal));
      } finally {
        on_their_way.current -= 1;
        if (on_their_way.current === 0 && have_crossed.current) {
          have_crossed.current = false;
          // Should it fail, the next request tells.
          change(loadState).catch(() => {});
        }
      }
    },
    [run],
  );

  /** Saves one after the other, in the order in which they were asked for. */
  const save = useCallback(
    (identity: Record<string, string | null>) => {
      const saved = saves.current.then(() => change(() => saveIdentity(identity)));
      saves.current = saved.catch(() => {});
      return saved;
    },
    [change],
  );

  return { state, is_lost, retryNow, change, save };
}
