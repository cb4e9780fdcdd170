/** Random numbers that are reproducible from their seed. */
export type Random = {
  /** From 0 up to, not including, 1. */
  next(): number;
  /** A whole number below the limit. */
  below(limit: number): number;
  chance(probability: number): boolean;
  pick<Value>(values: readonly Value[]): Value;
};

/** Mulberry32: small, and good enough to choose what happens next. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number) => Math.floor(next() * limit);
  return {
    next,
    below,
    chance: (probability) => next() < probability,
    pick: (values) => values[below(values.length)]!,
  };
}
