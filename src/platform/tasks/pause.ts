/** A wait that can be interrupted. */
type Pause = {
  /** Waits `longest_ms`; can be woken after `shortest_ms`. */
  between(shortest_ms: number, longest_ms: number): Promise<void>;
  /** Waits even if woken; only `end` interrupts it. */
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
