import { parseArgs } from "node:util";
import type { SimulatedBank } from "./installation.ts";
import { findPlanted } from "./planted.ts";
import { startPostgres } from "./postgres.ts";
import { type Failure, openSimulator, type Simulator } from "./run-seed.ts";
import { shrink } from "./shrink.ts";

const USAGE = `npm run simulate -- [options]

  --seeds N      run N seeds (default 100), beginning with --from (default 1)
  --seed N       run one seed; with --steps 0,3,7 only these steps of it
  --minutes N    stop after N minutes
  --bank files   payments go through the adapter of banks that take files
  --planted      show that planted bugs are found (see test/simulation/planted-bugs.ts)
  --bug NAME     with --planted: only this one`;
const SHRINK_MS = 60_000;
const REPORT_EVERY = 50;

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "100" },
    from: { type: "string", default: "1" },
    seed: { type: "string" },
    steps: { type: "string" },
    minutes: { type: "string" },
    bank: { type: "string", default: "memory" },
    planted: { type: "boolean", default: false },
    bug: { type: "string" },
    /** Of one planted bug, for the program that plants them: the first seed that finds it. */
    first: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

const bank: SimulatedBank = values.bank === "files" ? "files" : "memory";
const REPEAT = `npm run simulate -- ${bank === "files" ? "--bank files " : ""}`.trimEnd();

const print = (text: string) => process.stdout.write(`${text}\n`);

async function main(): Promise<boolean> {
  if (values.help) {
    print(USAGE);
    return true;
  }
  const server = await startPostgres();
  try {
    if (values.planted) return await findPlanted(server.url, values.bug, print);
    const simulator = await openSimulator(server.url, bank);
    try {
      return await (values.seed === undefined ? runMany(simulator) : runOne(simulator));
    } finally {
      await simulator.close();
    }
  } finally {
    await server.stop();
  }
}

async function runOne(simulator: Simulator): Promise<boolean> {
  const steps = values.steps?.split(",").map(Number);
  const failure = await simulator.run(Number(values.seed), steps);
  print(failure ? describe(failure) : `seed ${values.seed}: everything held`);
  return failure === null;
}

function describe({ message, names }: Failure): string {
  return `${message}\n  ${names.join("\n  ")}`;
}

async function runMany(simulator: Simulator): Promise<boolean> {
  const from = Number(values.from);
  const until = from + Number(values.seeds);
  const begun_ms = performance.now();
  const end_ms = values.minutes ? begun_ms + Number(values.minutes) * 60_000 : Infinity;
  let done = 0;
  for (let seed = from; seed < until && performance.now() < end_ms; seed += 1) {
    const failure = await simulator.run(seed);
    done += 1;
    if (failure) {
      await report(simulator, seed, failure);
      return false;
    }
    if (done % REPORT_EVERY === 0) print(`${done} seeds, ${rate(done, begun_ms)}`);
  }
  print(`${done} seeds from ${from}: everything held; ${rate(done, begun_ms)}`);
  return true;
}

function rate(done: number, begun_ms: number): string {
  return `${((done * 1000) / (performance.now() - begun_ms)).toFixed(2)} a second`;
}

async function report(simulator: Simulator, seed: number, failure: Failure): Promise<void> {
  if (values.first) {
    print(JSON.stringify({ seed, ...failure }));
    return;
  }
  print(`seed ${seed} failed: ${describe(failure)}`);
  print(`  repeat it: ${REPEAT} --seed ${seed}`);
  const { steps, failure: last } = await shrink(simulator, seed, failure, SHRINK_MS);
  print(`shrunk to ${steps.length} steps: ${describe(last)}`);
  print(`  repeat them: ${REPEAT} --seed ${seed} --steps ${steps.join(",")}`);
}

process.exit((await main()) ? 0 : 1);
