import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { openSimulator, type Simulator } from "./run-seed.ts";

/* `npm run simulate` runs more seeds, repeats one, and shows that planted bugs are found. */
const SEED = Number(process.env.SIMULATION_SEED ?? 1);
const SEEDS = Number(process.env.SIMULATION_SEEDS ?? 4);
const SEED_TIMEOUT_MS = 40_000;

let simulator: Simulator;
beforeAll(async () => {
  simulator = await openSimulator(inject("server_url"));
});
afterAll(() => simulator.close());

it(`everything holds in ${SEEDS} seeds from ${SEED}`, {
  timeout: 30_000 + SEEDS * SEED_TIMEOUT_MS,
}, async () => {
  for (let seed = SEED; seed < SEED + SEEDS; seed += 1) {
    const failure = await simulator.run(seed);
    expect(failure, `repeat it: npm run simulate -- --seed ${seed}`).toBeNull();
  }
});
