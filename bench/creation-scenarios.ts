import { runLoad } from "./load.ts";
import type { Contender, Scenario } from "./measure.ts";
import { type Account, addPayers, addTargets, creation, type Payer } from "./payers.ts";
import type { Pgbench } from "./pgbench.ts";
import { assertCounted } from "./same-rows.ts";
import type { Program, Stage } from "./stage.ts";

const BATCH_ITEMS = 100;
/** At one connection the cost of a request is measured; at several, requests share transactions. */
const BATCH_CONNECTIONS = [1, 8] as const;

export type Bench = {
  stage: Stage;
  pgbench: Pgbench | null;
  /** Scenarios with one account use the first. */
  accounts: Account[];
  seconds: number;
};

export async function hot64(bench: Bench): Promise<Scenario> {
  const payers = await addPayers(bench.stage.service.url, bench.accounts.slice(0, 1), 64);
  return hotScenario("hot-64", bench, payers, { baseline: 2.5, pgbench: 1 });
}

export async function hot256(bench: Bench): Promise<Scenario> {
  const payers = await addPayers(bench.stage.service.url, bench.accounts.slice(0, 1), 256);
  return hotScenario("hot-256", bench, payers, { pgbench: 1.5 });
}

export async function hot64Over16(bench: Bench): Promise<Scenario> {
  const payers = await addPayers(bench.stage.service.url, bench.accounts.slice(0, 16), 64);
  return hotScenario("hot-64-16-accounts", bench, payers, { baseline: 2 });
}

/** Single offramps, one connection per payer; with the bar of each contender that has one. */
function hotScenario(
  name: string,
  bench: Bench,
  payers: readonly Payer[],
  bars: { baseline?: number; pgbench?: number },
): Scenario {
  const { stage, pgbench, seconds } = bench;
  const contenders = [
    creator(bench, stage.service, payers),
    creator(bench, stage.baseline, payers),
  ];
  if (pgbench) {
    contenders.push({
      name: "pgbench",
      unit: "per second",
      run: async () => {
        const targets = await addTargets(stage.service.url, payers);
        return { value: await pgbench.runFor(targets, seconds) };
      },
    });
  }
  const ratios = contenders.slice(1).map((contender) => {
    const at_least = bars[contender.name as keyof typeof bars];
    return {
      name: `${name}: service / ${contender.name}`,
      top: "service",
      bottom: contender.name,
      ...(at_least === undefined ? {} : { bar: { at_least } }),
    };
  });
  return { name, contenders, ratios };
}

function creator({ stage, seconds }: Bench, program: Program, payers: readonly Payer[]): Contender {
  return {
    name: program.name,
    unit: "per second",
    run: async () => {
      const targets = await addTargets(stage.service.url, payers);
      const shots = targets.map((target) => creation(target, 1));
      const load = await runLoad(program.url, shots, seconds);
      await assertCounted(stage.core.database, targets, load, 1);
      if (load.requests === 0) throw new Error("the machine is too busy to measure anything");
      const latency_ms = { p50: load.p50_ms, p95: load.p95_ms, p99: load.p99_ms };
      return { value: load.per_second, latency_ms };
    },
  };
}

/** The cost of a hundred offramps in one request, compared to one. */
export async function batch100(bench: Bench): Promise<Scenario> {
  const { stage, accounts } = bench;
  const most = Math.max(...BATCH_CONNECTIONS);
  const payers = await addPayers(stage.service.url, accounts.slice(0, 1), most);
  const contender = (items: number, connections: number): Contender => ({
    name: `${items} in a request, ${connections} at a time`,
    unit: "ms a request",
    run: async () => {
      // A connection stays within the 5 000 offramps of its quote: at most 49 requests of 100.
      const seconds = Math.min(bench.seconds, 1);
      const targets = await addTargets(stage.service.url, payers.slice(0, connections));
      const load = await runLoad(
        stage.service.url,
        targets.map((target) => creation(target, items)),
        seconds,
      );
      await assertCounted(stage.core.database, targets, load, items);
      return {
        value: load.mean_ms,
        latency_ms: { p50: load.p50_ms, p95: load.p95_ms, p99: load.p99_ms },
      };
    },
  });
  const pairs = BATCH_CONNECTIONS.map((connections) => ({
    connections,
    one: contender(1, connections),
    many: contender(BATCH_ITEMS, connections),
  }));
  return {
    name: "batch-100",
    contenders: pairs.flatMap(({ one, many }) => [one, many]),
    ratios: pairs.map(({ connections, one, many }) => ({
      name: `batch-100: time of 100 / of 1, ${connections} at a time`,
      top: many.name,
      bottom: one.name,
      ...(connections === 1 ? { bar: { at_most: 8 } } : {}),
    })),
  };
}
