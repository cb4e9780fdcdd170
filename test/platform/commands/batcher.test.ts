import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type Batchable,
  Batcher,
  type BatcherOptions,
  PUT_OFF,
  type PutOff,
} from "../../../src/platform/commands/batcher.ts";
import { Refusal } from "../../../src/platform/errors.ts";
import { waitFor } from "../../harness/wait-for.ts";

type Command = Batchable & { marker: string; is_poison?: boolean };
type Run = { commands: Command[]; finish(): Promise<void> };

/** A batcher whose runs end when the test decides; every answer repeats its command's marker. */
function openFixture(options: Partial<BatcherOptions<Command, string>> = {}) {
  /** All runs, in the order in which they started. */
  const begun: Run[] = [];
  const running = new Set<Run>();
  const run = (commands: Command[]) =>
    new Promise<Map<Command, string>>((resolve, reject) => {
      const entry: Run = {
        commands,
        finish: async () => {
          running.delete(entry);
          if (commands.some((command) => command.is_poison)) reject(new Error("poison"));
          // In another order than the commands arrived: answers must be matched by the command
          // itself.
          else
            resolve(new Map(commands.toReversed().map((command) => [command, answerTo(command)])));
          await settle();
        },
      };
      begun.push(entry);
      running.add(entry);
    });
  const batcher = new Batcher<Command, string>({
    across_accounts: true,
    gather_ms: 0,
    run,
    ...options,
  });
  const finishAll = async () => {
    while (running.size > 0) await [...running][0]!.finish();
  };
  const submitAll = (commands: readonly Command[]) => commands.map((one) => batcher.submit(one));
  return { batcher, begun, running, finishAll, submitAll };
}

/** Lets every pending promise continue. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function answerTo({ account_id, marker }: Command): string {
  return `answer to ${account_id}/${marker}`;
}

let count = 0;
function command(account_id: string, size: Partial<Command> = {}): Command {
  count += 1;
  return { account_id, rows: 1, bytes: 100, marker: `marker ${count}`, ...size };
}

function commands(account_id: string, length: number, size: Partial<Command> = {}): Command[] {
  return Array.from({ length }, () => command(account_id, size));
}

function sizesOf(runs: readonly Run[]): number[] {
  return runs.map((run) => run.commands.length);
}

function rowsOf(run: Run, account_id?: string): number {
  const own = run.commands.filter(
    (one) => account_id === undefined || one.account_id === account_id,
  );
  return own.reduce((rows, one) => rows + one.rows, 0);
}

function bytesOf(run: Run): number {
  return run.commands.reduce((bytes, one) => bytes + one.bytes, 0);
}

describe("forming batches", () => {
  it("runs a command at once when idle, before submit has returned", async () => {
    const { batcher, begun, finishAll } = openFixture();
    for (let round = 1; round <= 3; round += 1) {
      const answer = batcher.submit(command("a"));
      expect(begun).toHaveLength(round);
      await finishAll();
      await answer;
    }
    expect(sizesOf(begun)).toEqual([1, 1, 1]);
  });

  it("combines all commands that arrive while others run into one batch", async () => {
    const { begun, submitAll, finishAll } = openFixture({ batches_in_flight_max: 2 });
    const sent = commands("a", 12);
    const answers = submitAll(sent);
    expect(sizesOf(begun)).toEqual([1, 1]);
    await begun[0]!.finish();
    expect(sizesOf(begun)).toEqual([1, 1, 10]);
    await finishAll();
    expect(await Promise.all(answers)).toEqual(sent.map(answerTo));
  });

  it("puts at most 500 rows into a batch", async () => {
    const { begun, submitAll, finishAll } = openFixture({ batches_in_flight_max: 1 });
    submitAll([...commands("a", 1), ...commands("a", 60, { rows: 20 })]);
    await finishAll();
    expect(begun.map((run) => rowsOf(run))).toEqual([1, 500, 500, 200]);
  });

  it("puts at most 1 MB into a batch", async () => {
    const { begun, submitAll, finishAll } = openFixture({ batches_in_flight_max: 1 });
    submitAll([...commands("a", 1), ...commands("a", 9, { bytes: 250_000 })]);
    await finishAll();
    expect(begun.map(bytesOf)).toEqual([100, 1_000_000, 1_000_000, 250_000]);
  });

  it("runs a command that exceeds the limits alone", async () => {
    const { begun, submitAll, finishAll } = openFixture({ batches_in_flight_max: 1 });
    const huge = command("a", { bytes: 16_000_000 });
    submitAll([...commands("a", 2), huge, ...commands("b", 2)]);
    await finishAll();
    const run = begun.find(({ commands: [first] }) => first === huge);
    expect(run?.commands).toEqual([huge]);
  });

  it("runs requests of more than 100 rows separately from small ones", async () => {
    const { batcher, begun, submitAll, finishAll } = openFixture();
    submitAll(commands("a", 10, { rows: 101 }));
    expect(begun).toHaveLength(2);
    const small = command("a", { rows: 100 });
    batcher.submit(small);
    expect(begun.at(-1)?.commands).toEqual([small]);
    await finishAll();
    for (const run of begun) {
      expect(new Set(run.commands.map((one) => one.rows > 100)).size).toBe(1);
      expect(rowsOf(run)).toBeLessThanOrEqual(500);
    }
  });

  it("never mixes accounts when batches form per account, and serves each in turn", async () => {
    const { begun, submitAll, finishAll } = openFixture({
      across_accounts: false,
      batches_in_flight_max: 1,
    });
    submitAll([...commands("a", 700), ...commands("b", 3), ...commands("c", 3)]);
    await finishAll();
    const accounts = begun.map((run) => [...new Set(run.commands.map((one) => one.account_id))]);
    expect(accounts).toEqual([["a"], ["a"], ["b"], ["c"], ["a"]]);
    expect(sizesOf(begun)).toEqual([1, 500, 3, 3, 199]);
  });
});

it("never mixes two senders of one account: who did what stays known", async () => {
  const { begun, submitAll, finishAll } = openFixture({ batches_in_flight_max: 1 });
  const mixed = Array.from({ length: 6 }, (_, at) =>
    command("a", { sender: at % 2 === 0 ? "ada's key" : "ben's key" }),
  );
  submitAll([command("z"), ...mixed, ...commands("b", 2)]);
  await finishAll();
  const senders = begun.map(({ commands: own }) => [
    ...new Set(own.map(({ account_id, sender = "" }) => `${account_id} ${sender}`)),
  ]);
  expect(senders).toEqual([["z "], ["a ada's key", "b "], ["a ben's key"]]);
  expect(sizesOf(begun)).toEqual([1, 5, 3]);
});

describe("fairness between accounts", () => {
  it("gives one account at most a quarter of a batch while others wait", async () => {
    const { begun, submitAll, finishAll } = openFixture({ batches_in_flight_max: 1 });
    submitAll([command("z"), ...commands("flood", 2_000), ...commands("quiet", 1)]);
    await begun[0]!.finish();
    expect(rowsOf(begun[1]!, "flood")).toBe(125);
    expect(rowsOf(begun[1]!, "quiet")).toBe(1);
    await begun[1]!.finish();
    // No other account waits: the whole batch is available.
    expect(rowsOf(begun[2]!, "flood")).toBe(500);
    await finishAll();
  });

  it("counts the quarter in bytes too", async () => {
    const { begun, submitAll, finishAll } = openFixture({ batches_in_flight_max: 1 });
    const large = commands("flood", 20, { bytes: 100_000 });
    submitAll([command("z"), ...large, ...commands("quiet", 1)]);
    await begun[0]!.finish();
    expect(begun[1]!.commands.filter((one) => one.account_id === "flood")).toHaveLength(2);
    await finishAll();
  });

  it("serves those that did not fit first in the next batch", async () => {
    const { begun, submitAll, finishAll } = openFixture({ batches_in_flight_max: 1 });
    const accounts = ["a", "b", "c", "d", "e", "f"];
    submitAll([command("z"), ...accounts.flatMap((name) => commands(name, 200))]);
    await begun[0]!.finish();
    await begun[1]!.finish();
    const served = (run: Run) => [...new Set(run.commands.map((one) => one.account_id))];
    expect(served(begun[1]!)).toEqual(["a", "b", "c", "d"]);
    expect(served(begun[2]!)).toEqual(["e", "f", "a", "b", "c", "d"]);
    expect(rowsOf(begun[2]!, "e")).toBe(125);
    expect(rowsOf(begun[2]!, "f")).toBe(125);
    await finishAll();
  });

  it("runs a large command even if smaller ones keep arriving", async () => {
    const { batcher, begun, running, submitAll, finishAll } = openFixture({
      batches_in_flight_max: 1,
    });
    submitAll(commands("a", 4, { rows: 200 }));
    const whale = command("b", { rows: 450 });
    batcher.submit(whale);
    for (let round = 0; round < 3; round += 1) {
      submitAll(commands("a", 4, { rows: 200 }));
      await [...running][0]!.finish();
    }
    expect(begun.slice(0, 4).flatMap((run) => run.commands)).toContain(whale);
    await finishAll();
  });
});

describe("gathering", () => {
  const command = (marker: number): Command => ({
    account_id: "one",
    rows: 1,
    bytes: 1,
    marker: String(marker),
  });

  it("waits for as many callers as were answered, and starts once they arrived", async () => {
    const { batcher, begun, submitAll } = openFixture({
      batches_in_flight_max: 1,
      gather_ms: 60_000,
    });
    const first = batcher.submit(command(1));
    const three = submitAll([command(2), command(3), command(4)]);
    await begun[0]!.finish();
    await begun[1]!.finish();
    const again = submitAll([command(5), command(6)]);
    await settle();
    expect(begun).toHaveLength(2);
    again.push(batcher.submit(command(7)));
    expect(begun[2]!.commands).toHaveLength(3);
    await begun[2]!.finish();
    await Promise.all([first, ...three, ...again]);
  });

  it("waits no longer than its limit", async () => {
    const { batcher, begun, submitAll, finishAll } = openFixture({
      batches_in_flight_max: 1,
      gather_ms: 5,
    });
    const answers = [batcher.submit(command(1)), ...submitAll([command(2), command(3)])];
    await begun[0]!.finish();
    await begun[1]!.finish();
    answers.push(batcher.submit(command(4)));
    await waitFor(() => begun.length === 3);
    await finishAll();
    await Promise.all(answers);
  });

  it("never delays a single caller", async () => {
    const { batcher, begun } = openFixture({ batches_in_flight_max: 1, gather_ms: 60_000 });
    for (const marker of [0, 1, 2]) {
      const answer = batcher.submit(command(marker));
      expect(begun).toHaveLength(marker + 1);
      await begun[marker]!.finish();
      await answer;
    }
  });
});

describe("a full queue", () => {
  it("answers 503 with Retry-After, runs nothing, and accepts commands again later", async () => {
    const { batcher, begun, submitAll, finishAll } = openFixture({
      batches_in_flight_max: 1,
      commands_queued_max: 4,
    });
    // One runs; of the four places the account has half.
    const answers = submitAll(commands("a", 3));
    const refused = command("a");
    const refusal = await batcher.submit(refused).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(Refusal);
    expect(refusal).toMatchObject({ code: "unavailable", status: 503, retry_after_seconds: 1 });
    await finishAll();
    await Promise.all(answers);
    const again = batcher.submit(command("b"));
    await finishAll();
    await again;
    expect(begun.flatMap((run) => run.commands)).not.toContain(refused);
  });

  it("is limited by bytes too, so that large bodies cannot fill the memory", async () => {
    const { batcher, submitAll, finishAll } = openFixture({
      batches_in_flight_max: 1,
      bytes_queued_max: 1_000,
    });
    const answers = submitAll(commands("a", 2, { bytes: 500 }));
    await expect(batcher.submit(command("a", { bytes: 1 }))).rejects.toMatchObject({
      code: "unavailable",
    });
    answers.push(...submitAll([command("b", { bytes: 500 })]));
    await expect(batcher.submit(command("c", { bytes: 1 }))).rejects.toMatchObject({
      code: "unavailable",
    });
    await finishAll();
    await Promise.all(answers);
  });

  it("of ten accounts that send without end refuses only theirs", async () => {
    const { submitAll, finishAll } = openFixture({
      batches_in_flight_max: 1,
      commands_queued_max: 200,
      bytes_queued_max: 100_000,
    });
    const greedy = Array.from({ length: 10 }, (_, at) => `greedy ${at}`);
    const flood: Promise<unknown>[] = [];
    for (let round = 0; round < 50; round += 1) {
      const sent = greedy.flatMap((account_id) => commands(account_id, 3, { bytes: 1_000 }));
      flood.push(Promise.allSettled(submitAll(sent)));
    }
    const answers = submitAll(commands("other", 5, { bytes: 1_000 }));
    await finishAll();
    expect(await Promise.all(answers)).toHaveLength(5);
    await Promise.all(flood);
  });
});

describe("a batch that fails", () => {
  it("runs each command once more alone, so that only the failing one fails", async () => {
    const { begun, submitAll, finishAll } = openFixture({ batches_in_flight_max: 1 });
    const poison = command("b", { is_poison: true });
    const healthy = [...commands("a", 3), ...commands("b", 3)];
    const sent = [command("z"), ...healthy.slice(0, 4), poison, ...healthy.slice(4)];
    const results = Promise.allSettled(submitAll(sent));
    await finishAll();
    for (const [index, result] of (await results).entries()) {
      if (sent[index] === poison) expect(result).toMatchObject({ status: "rejected" });
      else expect(result).toEqual({ status: "fulfilled", value: answerTo(sent[index]!) });
    }
    expect(sizesOf(begun)).toEqual([1, 7, 1, 1, 1, 1, 1, 1, 1]);
  });

  it("does not affect later or parallel batches", async () => {
    const { begun, submitAll, finishAll } = openFixture({ batches_in_flight_max: 2 });
    const poison = command("a", { is_poison: true });
    const failing = submitAll([poison])[0]!.catch((error: Error) => error.message);
    const beside = commands("b", 5);
    const answers = submitAll(beside);
    await begun[0]!.finish();
    await finishAll();
    expect(await failing).toBe("poison");
    expect(await Promise.all(answers)).toEqual(beside.map(answerTo));
  });

  it("refuses only the command that a run left without an answer", async () => {
    const forgotten = command("a");
    const run = async (set: Command[]) =>
      new Map(set.filter((one) => one !== forgotten).map((one) => [one, answerTo(one)]));
    const { submitAll } = openFixture({ run, batches_in_flight_max: 1 });
    const sent = [command("a"), forgotten, command("a")];
    const results = await Promise.allSettled(submitAll(sent));
    expect(results.map((result) => result.status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  });
});

describe("for any commands in any order", () => {
  const submission = fc.record({
    account_id: fc.constantFrom("a", "b", "c", "d", "e"),
    rows: fc.oneof(fc.integer({ min: 1, max: 100 }), fc.integer({ min: 101, max: 700 })),
    bytes: fc.oneof(fc.integer({ min: 0, max: 5_000 }), fc.integer({ min: 0, max: 1_200_000 })),
    is_poison: fc.constantFrom(...Array.from({ length: 15 }, (_, index) => index === 0)),
  });
  const step = fc.oneof({ arbitrary: submission, weight: 4 }, { arbitrary: fc.nat(), weight: 1 });

  it("each command gets its own answer exactly once, and no batch exceeds the limits", async () => {
    const property = fc.asyncProperty(
      fc.array(step, { maxLength: 80, size: "max" }),
      fc.boolean(),
      async (steps, across_accounts) => {
        const fixture = openFixture({ across_accounts });
        const sent: Command[] = [];
        const results: Promise<PromiseSettledResult<string>[]>[] = [];
        for (const next of steps) {
          if (typeof next === "number") {
            await [...fixture.running][next % Math.max(1, fixture.running.size)]?.finish();
          } else {
            const one = command(next.account_id, next);
            sent.push(one);
            results.push(Promise.allSettled([fixture.batcher.submit(one)]));
          }
          expect(fixture.running.size).toBeLessThanOrEqual(4);
        }
        await fixture.finishAll();
        const answers = (await Promise.all(results)).flat();
        expect(answers).toHaveLength(sent.length);
        for (const [index, answer] of answers.entries()) checkAnswer(sent[index]!, answer);
        for (const run of fixture.begun) checkBounds(run, across_accounts);
        checkRuns(sent, fixture.begun);
      },
    );
    await fc.assert(property, { numRuns: 150 });
  });

  function checkAnswer(one: Command, answer: PromiseSettledResult<string>): void {
    if (one.is_poison) expect(answer.status).toBe("rejected");
    else expect(answer).toEqual({ status: "fulfilled", value: answerTo(one) });
  }

  function checkBounds(run: Run, across_accounts: boolean): void {
    if (run.commands.length > 1) {
      expect(rowsOf(run)).toBeLessThanOrEqual(500);
      expect(bytesOf(run)).toBeLessThanOrEqual(1_000_000);
    }
    const accounts = new Set(run.commands.map((one) => one.account_id));
    if (!across_accounts) expect(accounts.size).toBe(1);
  }

  /** A healthy command runs once, or twice if it shared a batch with a failing one. */
  function checkRuns(sent: readonly Command[], begun: readonly Run[]): void {
    const isHealthy = (run: Run) => !run.commands.some((one) => one.is_poison);
    for (const one of sent) {
      const runs = begun.filter((run) => run.commands.includes(one));
      if (one.is_poison) expect(runs.length).toBeLessThanOrEqual(2);
      else expect(runs.filter(isHealthy)).toHaveLength(1);
    }
  }
});

describe("what a set puts off", () => {
  it("is answered in a later set, before what came after it", async () => {
    const done: string[] = [];
    const batcher = new Batcher<Command, string>({
      across_accounts: true,
      gather_ms: 0,
      run: async (set) => {
        await settle();
        return new Map(set.map((one, at) => [one, at < 2 ? answerTo(one) : PUT_OFF]));
      },
    });
    const sent = commands("a", 9);
    const answers = sent.map((one) =>
      batcher.submit(one).then((answer) => {
        done.push(one.marker);
        return answer;
      }),
    );
    expect(await Promise.all(answers)).toEqual(sent.map(answerTo));
    expect(done.slice(2)).toEqual(sent.slice(2).map(({ marker }) => marker));
  });

  it("comes first in the next one, if nothing of its queue was answered", async () => {
    let sets = 0;
    // As in the executor: a set ends after a large answer, and each of the greedy one's is large.
    const run = async (set: Command[]) => {
      sets += 1;
      await settle();
      const answers = new Map<Command, string | PutOff>();
      let is_spent = false;
      for (const one of set) {
        answers.set(one, is_spent ? PUT_OFF : answerTo(one));
        is_spent ||= one.account_id === "greedy";
      }
      return answers;
    };
    const batcher = new Batcher<Command, string>({ across_accounts: true, gather_ms: 0, run });
    let is_over = false;
    const callers = Array.from({ length: 600 }, async () => {
      while (!is_over) await batcher.submit(command("greedy"));
    });
    for (let round = 0; round < 20; round += 1) await settle();
    for (const account_id of ["b", "c", "d"]) {
      const before = sets;
      await batcher.submit(command(account_id));
      expect(sets - before).toBeLessThanOrEqual(4);
    }
    is_over = true;
    await Promise.all(callers);
  });

  it("is loaded in vain once, not once for each sender of the account", async () => {
    let loaded = 0;
    const run = async (set: Command[]) => {
      loaded += set.length;
      await settle();
      return new Map(set.map((one, at) => [one, at === 0 ? answerTo(one) : PUT_OFF] as const));
    };
    const { submitAll } = openFixture({ run });
    const senders = Array.from({ length: 50 }, (_, at) => `key ${at}`);
    const sent = senders.flatMap((sender) => commands("a", 20, { sender }));
    await Promise.all(submitAll(sent));
    expect(loaded).toBeLessThan(2.1 * sent.length);
  });

  it("is never all of it: the commands then fail instead of running for ever", async () => {
    const run = async (set: Command[]) => new Map(set.map((one) => [one, PUT_OFF as PutOff]));
    const batcher = new Batcher<Command, string>({ across_accounts: true, gather_ms: 0, run });
    await expect(batcher.submit(command("a"))).rejects.toThrow("every command was put off");
  });
});
