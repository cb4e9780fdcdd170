/** One thing to compare: a figure for each sample. */
export type Contender = { name: string; unit: "per second" | "ms a request"; run: Sample };

export type Sample = () => Promise<{ value: number; latency_ms?: Latency }>;

export type Latency = { p50: number; p95: number; p99: number };

export type Measured = {
  name: string;
  unit: string;
  median: number;
  min: number;
  max: number;
  latency_ms?: Latency;
};

/** `top` divided by `bottom`, sample by sample. */
export type Ratio = { name: string; top: string; bottom: string; bar?: Bar };

export type Bar = { at_least: number } | { at_most: number };

export type Judged = {
  name: string;
  median: number;
  min: number;
  max: number;
  bar?: Bar;
  ok: boolean;
};

export type Scenario = {
  name: string;
  /** How many times as many samples it gets, when single runs are short and vary. */
  times?: number;
  contenders: Contender[];
  ratios: Ratio[];
};

export type ScenarioResult = { name: string; measured: Measured[]; ratios: Judged[] };

/**
 * Runs the contenders in turn (A, B, C, A, B, C …), so that other load on the machine affects all
 * equally; each one first runs once without being measured, to compile code and fill caches.
 */
export async function measure(
  { name, times = 1, contenders, ratios }: Scenario,
  samples_each: number,
  onSample: (text: string) => void,
): Promise<ScenarioResult> {
  const samples = samples_each * times;
  const values = new Map(contenders.map((contender) => [contender.name, [] as number[]]));
  const latencies = new Map<string, Latency[]>(contenders.map(({ name }) => [name, []]));
  for (let round = 0; round <= samples; round += 1) {
    for (const contender of contenders) {
      const { value, latency_ms } = await contender.run();
      if (round === 0) continue;
      onSample(`${name} ${round}/${samples} ${contender.name}: ${figure(value)} ${contender.unit}`);
      values.get(contender.name)!.push(value);
      if (latency_ms) latencies.get(contender.name)!.push(latency_ms);
    }
  }
  return {
    name,
    measured: contenders.map((contender) => ({
      name: contender.name,
      unit: contender.unit,
      ...spread(values.get(contender.name)!),
      ...medianLatency(latencies.get(contender.name)!),
    })),
    ratios: ratios.map((ratio) => {
      const bottom = values.get(ratio.bottom)!;
      const quotients = values.get(ratio.top)!.map((value, at) => value / bottom[at]!);
      return judge(ratio.name, quotients, ratio.bar);
    }),
  };
}

/** Compares the median with the bar; without a bar the result always passes. */
export function judge(name: string, values: readonly number[], bar?: Bar): Judged {
  const { median, min, max } = spread(values);
  const ok = !bar || ("at_least" in bar ? median >= bar.at_least : median <= bar.at_most);
  return { name, median, min, max, ...(bar ? { bar } : {}), ok };
}

export function figure(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3);
}

function spread(values: readonly number[]) {
  const rounded = (value: number) => Number(value.toPrecision(4));
  return {
    median: rounded(medianOf(values)),
    min: rounded(Math.min(...values)),
    max: rounded(Math.max(...values)),
  };
}

function medianLatency(latencies: readonly Latency[]): { latency_ms?: Latency } {
  if (latencies.length === 0) return {};
  const of = (name: keyof Latency) =>
    Number(medianOf(latencies.map((latency) => latency[name])).toPrecision(3));
  return { latency_ms: { p50: of("p50"), p95: of("p95"), p99: of("p99") } };
}

function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  if (Number.isInteger(middle)) return (sorted[middle - 1]! + sorted[middle]!) / 2;
  return sorted[Math.floor(middle)]!;
}
