import {
  type Counter,
  collectDefaultMetrics,
  Histogram,
  Gauge as PrometheusGauge,
  Registry,
} from "prom-client";
import type { Clock } from "../clock.ts";
import { runForService } from "../db/caller-context.ts";
import type { Database, Session } from "../db/database.ts";
import { realTime } from "../tasks/real-time.ts";
import type { TaskLog } from "../tasks/task-log.ts";
import type { MetricSource, Sample } from "./model.ts";

export type Metrics = {
  content_type: string;
  /** All metrics as text. Values from the database are up to KEEP_MS older than it. */
  render(): Promise<string>;
  observeRequest(labels: { method: string; route: string; status: string }, seconds: number): void;
};

type MetricDeps = {
  database: Database;
  clock: Clock;
  /** Counters of the modules in this process. */
  counters: readonly Counter[];
  sources: readonly MetricSource[];
  log: TaskLog;
};

/** Several scrapers, or a very frequent one, cost the database no more than one. */
const KEEP_MS = 5_000;
/** Writing the text takes some milliseconds of the thread that answers everybody. */
const KEEP_TEXT_MS = 1_000;
const ANSWER_MAX_MS = 3_000;

/** The metrics of one process: its own, and those of the installation, read from the database. */
export function createMetrics(deps: MetricDeps): Metrics {
  const { database, clock, counters, sources, log } = deps;
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const duration = new Histogram({
    name: "sliproad_http_request_duration_seconds",
    help: "Duration of requests, by route and status.",
    labelNames: ["method", "route", "status"],
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
    registers,
  });
  for (const counter of counters) registry.registerMetric(counter);
  addPoolGauges(database, registry);
  const up = new PrometheusGauge({
    name: "sliproad_database_up",
    help: "1 when the metrics below could be read from the database, else 0.",
    registers,
  });
  const gauges = new Map(
    sources
      .flatMap((source) => source.gauges)
      .map(({ name, help, label }) => {
        const labelNames = label === undefined ? [] : [label];
        return [name, { label, gauge: new PrometheusGauge({ name, help, labelNames, registers }) }];
      }),
  );

  const clear = () => {
    for (const { gauge } of gauges.values()) {
      gauge.reset();
      // A gauge without labels would report 0 after a reset.
      gauge.remove({});
    }
  };
  const show = (samples: readonly Sample[]) => {
    // A kind or state without rows must not keep its last value.
    clear();
    for (const { name, label, value } of samples) {
      const { gauge, label: label_name } = gauges.get(name)!;
      gauge.set(label_name === undefined ? {} : { [label_name]: label ?? "" }, value);
    }
  };
  const read = async () => {
    try {
      const time = { now: clock.now(), real_now: realTime(clock) };
      const samples = await database.transaction((tx) => readAll(sources, tx, time), {
        answer_max_ms: ANSWER_MAX_MS,
      });
      show(samples);
      up.set(1);
    } catch (error) {
      log.error({ err: error }, "the metrics could not be read");
      clear();
      up.set(0);
    }
  };
  let reading: { done: Promise<void>; from_ms: number } | undefined;
  let written: { text: Promise<string>; from_ms: number } | undefined;
  const write = async () => {
    const now_ms = performance.now();
    if (!reading || now_ms - reading.from_ms >= KEEP_MS) {
      reading = { done: runForService(read), from_ms: now_ms };
    }
    await reading.done;
    return registry.metrics();
  };

  return {
    content_type: registry.contentType,
    render: () => {
      const now_ms = performance.now();
      if (!written || now_ms - written.from_ms >= KEEP_TEXT_MS) {
        written = { text: write(), from_ms: now_ms };
      }
      return written.text;
    },
    observeRequest: (labels, seconds) => duration.observe(labels, seconds),
  };
}

async function readAll(
  sources: readonly MetricSource[],
  session: Session,
  time: { now: Date; real_now: Date },
): Promise<Sample[]> {
  const samples = await Promise.all(sources.map((source) => source.read(session, time)));
  return samples.flat();
}

/** Read on request: these cost nothing. */
function addPoolGauges(database: Database, registry: Registry): void {
  const registers = [registry];
  new PrometheusGauge({
    name: "sliproad_database_pool_connections",
    help: "Database connections of this process by state: in_use or idle.",
    labelNames: ["state"],
    registers,
    collect() {
      const { in_use, idle } = database.pool();
      this.set({ state: "in_use" }, in_use);
      this.set({ state: "idle" }, idle);
    },
  });
  new PrometheusGauge({
    name: "sliproad_database_pool_waiting",
    help: "Statements and transactions of this process that are waiting for a connection.",
    registers,
    collect() {
      this.set(database.pool().waiting);
    },
  });
  new PrometheusGauge({
    name: "sliproad_database_pool_max",
    help: "Maximum database connections of this process.",
    registers,
    collect() {
      this.set(database.pool().max);
    },
  });
}
