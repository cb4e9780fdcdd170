import { useCallback, useRef, useState } from "react";
import { loadState, saveIdentity } from "./api.ts";
import { useConnection } from "./connection.ts";
import type { KycState } from "./state.ts";

/** Sends a request and stores the state that it returns. */
export type Change = (work: () => Promise<KycState>, signal?: AbortSignal) => Promise<void>;

/**
 * The server's last state. The responses of two concurrent requests (a photo and a field) may each
 * lack the other's change: once both have arrived, the state is loaded again.
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
          // If this fails, the next request reports it.
          change(loadState).catch(() => {});
        }
      }
    },
    [run],
  );

  /** Saves run one after another, in the order of the calls. */
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
