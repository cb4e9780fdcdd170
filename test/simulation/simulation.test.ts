import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { openSimulator, type Simulator } from "./run-seed.ts";

/* `npm run simulate` runs more seeds, repeats one, and shows that planted bugs are found. */
const SEED = Number(process.env.SIMULATION_SEED ?? 1);
const SEEDS = Number(process.env.SIMULATION_SEEDS ?? 2);
const SEED_TIMEOUT_MS = 40_000;

const BANKS = [
  { bank: "memory", seeds: SEEDS },
  // The same with the adapter of real banks: each seed takes about twice the time.
  { bank: "files", seeds: Math.ceil(SEEDS / 4) },
] as const;

describe.each(BANKS)("with the bank in $bank", ({ bank, seeds }) => {
  let simulator: Simulator;
  beforeAll(async () => {
    simulator = await openSimulator(inject("server_url"), bank);
  });
  afterAll(() => simulator.close());

  it(`everything holds in ${seeds} seeds from ${SEED}`, {
    timeout: 30_000 + seeds * SEED_TIMEOUT_MS,
  }, async () => {
    for (let seed = SEED; seed < SEED + seeds; seed += 1) {
      const failure = await simulator.run(seed);
      const command = `npm run simulate -- --bank ${bank} --seed ${seed}`;
      expect(failure, `repeat it: ${command}`).toBeNull();
    }
  });
});
