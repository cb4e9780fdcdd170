/** Waiting that can be cut short. */
export type Pause = {
  /** Waits `longest_ms`, or from `shortest_ms` on until poked. */
  between(shortest_ms: number, longest_ms: number): Promise<void>;
  /** Waits whether poked or not; only `end` cuts it short. */
  atLeast(wait_ms: number): Promise<void>;
  poke(): void;
  /** Ends this pause and every later one. */
  end(): void;
};

export function createPause(): Pause {
  let poked = false;
  let ended = false;
  let wake: (() => void) | undefined;

  const wait = (wait_ms: number, until: () => boolean): Promise<void> =>
    new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        wake = undefined;
        resolve();
      };
      const timer = setTimeout(done, wait_ms);
      wake = () => {
        if (until()) done();
      };
      wake();
    });

  return {
    between: async (shortest_ms, longest_ms) => {
      await wait(shortest_ms, () => ended);
      await wait(longest_ms - shortest_ms, () => ended || poked);
      poked = false;
    },
    atLeast: (wait_ms) => wait(wait_ms, () => ended),
    poke: () => {
      poked = true;
      wake?.();
    },
    end: () => {
      ended = true;
      wake?.();
    },
  };
}
