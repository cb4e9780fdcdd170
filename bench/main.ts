import { writeFile } from "node:fs/promises";
import { cpus } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { type Bench, batch100, hot64, hot64Over16, hot256 } from "./creation-scenarios.ts";
import { dashboardLists } from "./dashboard-scenario.ts";
import { disk } from "./disk-scenario.ts";
import { listOfframpPages, listOnrampPages } from "./list-scenario.ts";
import { type Bar, figure, type Judged, judge, measure, type ScenarioResult } from "./measure.ts";
import { addAccount } from "./payers.ts";
import { payouts } from "./payout-scenario.ts";
import { findPgbench } from "./pgbench.ts";
import { assertSameRows, readLengths } from "./same-rows.ts";
import { screening } from "./screening.ts";
import { openStage, peakMemory, resetPeakMemory, type Stage } from "./stage.ts";
import { uploads } from "./uploads.ts";
import { deadEndpoint, deliveries } from "./webhook-scenarios.ts";

const ACCOUNTS = 16;
const MEMORY_MAX_MB = 300;
const RESULTS = fileURLToPath(import.meta.resolve("./results.json"));

/** In this order: the lists are last, because their million rows slow down later writes. */
const SCENARIOS = {
  "hot-64": hot64,
  "hot-64-16-accounts": hot64Over16,
  "hot-256": hot256,
  "batch-100": batch100,
  deliveries,
  "dead-endpoint": deadEndpoint,
  payouts,
  "list-offramps": listOfframpPages,
  "list-onramps": listOnrampPages,
  "dashboard-lists": dashboardLists,
};
const NAMES = ["disk", ...Object.keys(SCENARIOS), "uploads", "screening"];

const options = readOptions();
const stage = await openStage(options.profile);
try {
  process.exitCode = (await runAll(stage)) ? 0 : 1;
} finally {
  await stage.close();
}

function readOptions() {
  const { values } = parseArgs({
    options: {
      only: { type: "string", multiple: true },
      samples: { type: "string", default: "5" },
      seconds: { type: "string", default: "3" },
      /** Directory for a CPU profile of the service. */
      profile: { type: "string" },
    },
  });
  const only = values.only ?? NAMES;
  const unknown = only.find((name) => !NAMES.includes(name));
  if (unknown) throw new Error(`--only ${unknown}: choose one of ${NAMES.join(", ")}`);
  const [samples, seconds] = [Number(values.samples), Number(values.seconds)];
  if (!(samples >= 1) || !(seconds > 0)) throw new Error("--samples and --seconds are above 0");
  return {
    only,
    is_whole: values.only === undefined,
    samples,
    seconds,
    profile: values.profile ?? null,
  };
}

/** Whether every bar was reached. */
async function runAll(stage: Stage): Promise<boolean> {
  const { database } = stage.core;
  const accounts = await Promise.all(
    Array.from({ length: ACCOUNTS }, () => addAccount(stage.core)),
  );
  const lengths = await readLengths(stage, accounts[0]!);
  const pgbench = await findPgbench(database, stage.database_url, lengths);
  await assertSameRows(stage, pgbench, accounts[0]!);
  say(`the service, the baseline${pgbench ? " and pgbench" : ""} write the same rows`);

  const bench: Bench = { stage, pgbench, accounts, seconds: options.seconds };
  const results: ScenarioResult[] = [];
  // First, since it measures whole tables.
  const on_disk = options.only.includes("disk") ? await disk(bench, say) : [];
  await resetPeakMemory(stage.service);
  for (const [name, open] of Object.entries(SCENARIOS)) {
    if (!options.only.includes(name)) continue;
    say(`${name}: preparing`);
    results.push(await measure(await open(bench), options.samples, say));
  }
  const memory = await judgeMemory(stage);
  const growth = options.only.includes("uploads") ? await uploads(bench) : null;
  const screened = options.only.includes("screening") ? screening(say) : [];
  const ratios = results.flatMap((result) => result.ratios);
  const judged = [...on_disk, ...ratios, memory, growth, ...screened].filter((one) => one !== null);
  print(results, judged, pgbench !== null);
  // Partial figures must not replace the complete ones.
  if (options.is_whole) await write(stage, results, judged, pgbench !== null);
  return judged.every((one) => one.ok);
}

async function judgeMemory({ service }: Stage): Promise<Judged | null> {
  const peak = await peakMemory(service);
  const bar = { at_most: MEMORY_MAX_MB };
  return peak === null ? null : judge("peak memory of the service, MB", [peak], bar);
}

function print(
  results: readonly ScenarioResult[],
  judged: readonly Judged[],
  has_pgbench: boolean,
) {
  console.log();
  for (const { name, measured } of results) {
    for (const { name: who, unit, median, min, max, latency_ms } of measured) {
      const late = latency_ms ? `  p50 ${latency_ms.p50} ms, p99 ${latency_ms.p99} ms` : "";
      const range = `${figure(median)} (${figure(min)}–${figure(max)}) ${unit}`;
      console.log(`${name.padEnd(20)} ${who.padEnd(22)} ${range.padEnd(40)}${late}`);
    }
  }
  console.log();
  for (const { name, median, min, max, bar, ok } of judged) {
    const range = `${figure(median)} (${figure(min)}–${figure(max)})`;
    const verdict = bar ? `${describe(bar).padEnd(12)} ${ok ? "ok" : "MISSED"}` : "";
    console.log(`${name.padEnd(46)} ${range.padEnd(24)} ${verdict}`);
  }
  if (!has_pgbench) console.log("pgbench was not found: nothing was measured against it");
}

function describe(bar: Bar): string {
  return "at_least" in bar ? `>= ${bar.at_least}` : `<= ${bar.at_most}`;
}

/** Nothing that identifies the machine: figures of two machines are not comparable anyway. */
async function write(
  { core }: Stage,
  scenarios: readonly ScenarioResult[],
  judged: readonly Judged[],
  has_pgbench: boolean,
): Promise<void> {
  const [row] = await core.database.query<{ version: string }>(
    "select current_setting('server_version') as version",
  );
  const results = {
    cores: cpus().length,
    node: process.versions.node,
    postgres: row!.version,
    pgbench: has_pgbench,
    samples: options.samples,
    seconds: options.seconds,
    bars: judged,
    scenarios: scenarios.map(({ name, measured }) => ({ name, measured })),
  };
  await writeFile(RESULTS, `${JSON.stringify(results, null, 2)}\n`);
}

function say(text: string): void {
  console.error(text);
}
