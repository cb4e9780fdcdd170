/** Waiting that can be cut short. */
type Pause = {
  /** Waits `longest_ms`, or from `shortest_ms` on until woken. */
  between(shortest_ms: number, longest_ms: number): Promise<void>;
  /** Waits whether woken or not; only `end` cuts it short. */
  atLeast(wait_ms: number): Promise<void>;
  wake(): void;
  /** Ends this pause and every later one. */
  end(): void;
};

export function createPause(): Pause {
  let woken = false;
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
      await wait(longest_ms - shortest_ms, () => ended || woken);
      woken = false;
    },
    atLeast: (wait_ms) => wait(wait_ms, () => ended),
    wake: () => {
      woken = true;
      wake?.();
    },
    end: () => {
      ended = true;
      wake?.();
    },
  };
}
