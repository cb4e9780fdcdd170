import type { Failure, Simulator } from "./run-seed.ts";

/**
 * Leaves out steps, larger parts first, as long as the seed still fails by the same check. Limited
 * in time: what was found until then is returned.
 */
export async function shrink(
  simulator: Simulator,
  seed: number,
  failure: Failure,
  limit_ms: number,
): Promise<{ steps: number[]; failure: Failure }> {
  const end_ms = performance.now() + limit_ms;
  let steps = Array.from({ length: failure.step + 1 }, (_, step) => step);
  let last = failure;
  for (let size = Math.ceil(steps.length / 2); size >= 1; size = Math.floor(size / 2)) {
    for (let at = 0; at < steps.length; ) {
      if (performance.now() > end_ms) return { steps, failure: last };
      const fewer = [...steps.slice(0, at), ...steps.slice(at + size)];
      const found = await simulator.run(seed, fewer);
      if (found?.check === failure.check) {
        steps = fewer;
        last = found;
      } else at += size;
    }
  }
  return { steps, failure: last };
}
