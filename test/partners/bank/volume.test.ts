import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, readdir, utimes } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterAll, beforeAll, expect, it } from "vitest";
import { readInbox } from "../../../src/partners/bank/file-bank/read-inbox.ts";
import type { Instruction } from "../../../src/partners/bank/port.ts";
import { withCalls } from "../../harness/database-calls.ts";
import {
  ACH_PAYEE,
  AFTER_FIRST,
  achAccount,
  bankAccount,
  type FileBankFixture,
  MORNING,
  openFileBankFixture,
} from "./file-bank-fixture.ts";
import { entry, statement } from "./report-texts.ts";
import { achReport } from "./sample-ach.ts";
import { closeAll, writeAllFiles } from "./write-all.ts";

const PAYMENTS = 10_000;
const AT_ONCE = 500;
/** What the adapter may keep at any moment: far less than the payments are. */
const KEPT_BYTES_MAX = 12 * 1024 * 1024;
/** Calls of the database between two measurements. */
const MEASURED_EVERY = 25;
const LONG = 300_000;

const offset = {
  ...{ routing_number: "021000021", account_number: "9900012345" },
  ...{ account_type: "checking" as const, name: "SAMPLE RAMP" },
};

let bank: FileBankFixture;
let outbox: string;
let inbox: string;
beforeAll(async () => {
  bank = await openFileBankFixture((folder) => [
    bankAccount(join(folder, "out")),
    achAccount(join(folder, "out"), { offset }),
  ]);
  [outbox, inbox] = [join(bank.folder, "out"), join(bank.folder, "in")];
  for (const folder of [outbox, inbox]) await mkdir(folder);
});
afterAll(() => bank.close());

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

function keptBytes(): number {
  collectGarbage();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

/** Runs a step of the adapter and says how much more than before it kept in memory at most. */
async function measure(name: string, step: (deps: FileBankFixture["deps"]) => Promise<unknown>) {
  const before = keptBytes();
  const [started, measured] = [performance.now(), { calls: 0, kept_max: 0, measuring_ms: 0 }];
  const database = withCalls(bank.database, () => {
    measured.calls += 1;
    if (measured.calls % MEASURED_EVERY !== 0) return;
    const begun = performance.now();
    measured.kept_max = Math.max(measured.kept_max, keptBytes() - before);
    measured.measuring_ms += performance.now() - begun;
  });
  await step({ ...bank.deps, database });
  const seconds = (performance.now() - started - measured.measuring_ms) / 1000;
  const kept = (measured.kept_max / 1024 / 1024).toFixed(1);
  const peak = Math.round(process.resourceUsage().maxRSS / 1024);
  const figures = `${PAYMENTS} in ${seconds.toFixed(1)} s, kept at most ${kept} MB`;
  console.log(`${name}: ${figures}, process ${peak} MB at its peak`);
  expect(measured.calls).toBeGreaterThan(MEASURED_EVERY);
  expect(measured.kept_max).toBeLessThan(KEPT_BYTES_MAX);
}

type Change = (at: number) => Partial<Instruction>;

const submitAll = (change: Change) => async (deps: FileBankFixture["deps"]) => {
  const port = bank.bankOf(deps.database);
  for (let at = 0; at < PAYMENTS; at += AT_ONCE) {
    await port.submit(
      Array.from({ length: AT_ONCE }, (_, of) => bank.instruction(change(at + of))),
    );
  }
};

const writeAll = async (deps: FileBankFixture["deps"]) => {
  await closeAll(deps, AFTER_FIRST);
  await writeAllFiles(deps, AFTER_FIRST);
};
const readAll = async (deps: FileBankFixture["deps"]) =>
  expect(await readInbox(deps, inbox, AFTER_FIRST, AFTER_FIRST)).toEqual([]);

/** The lines of the only file of its kind. */
async function* linesOf(ending: string): AsyncGenerator<string> {
  const names = (await readdir(outbox)).filter((name) => name.endsWith(ending));
  expect(names).toHaveLength(1);
  yield* createInterface({ input: createReadStream(join(outbox, names[0]!)) });
}

async function receive(name: string, pieces: Iterable<string>): Promise<void> {
  await pipeline(Readable.from(pieces), createWriteStream(join(inbox, name)));
  await utimes(join(inbox, name), MORNING, MORNING);
}

async function countAnswers(kind: string): Promise<number> {
  const ids = new Set<string>();
  for (let cursor: string | null = null; ; ) {
    const page = await bank.bankOf().listAnswers(cursor, 1_000);
    for (const answer of page.answers) if (answer.kind === kind) ids.add(answer.end_to_end_id);
    if (page.answers.length === 0) return ids.size;
    cursor = page.cursor;
  }
}

it("10 000 SEPA payouts are written and booked within bounds", { timeout: LONG }, async () => {
  await bank.clear();
  await measure(
    "pain.001 submitted",
    submitAll(() => ({ amount: 100n })),
  );
  await measure("pain.001 written", writeAll);
  const ids: string[] = [];
  for await (const line of linesOf(".xml")) {
    ids.push(...[...line.matchAll(/<EndToEndId>(\w+)</g)].map((match) => match[1]!));
  }
  expect(new Set(ids).size).toBe(PAYMENTS);
  const [head, tail] = statement(["|"]).split("|") as [string, string];
  await receive(
    "booked.xml",
    (function* () {
      yield head;
      for (const id of ids) yield entry({ amount: "1.00", id, reference: `B-${id}` });
      yield tail;
    })(),
  );
  await measure("camt.053 read", readAll);
  expect(await countAnswers("booked")).toBe(PAYMENTS);
});

it("10 000 ACH payouts are written and returned within bounds", { timeout: LONG }, async () => {
  await bank.clear();
  const company = { ...ACH_PAYEE.beneficiary, beneficiary_type: "business" };
  // Two kinds of entries, and sums that need several batches.
  const change = { ...ACH_PAYEE, amount: 99_999_999n };
  await measure(
    "NACHA submitted",
    submitAll((at) => (at % 2 ? { ...change, beneficiary: company } : change)),
  );
  await measure("NACHA written", writeAll);
  const entries: { id: string; original_trace: string }[] = [];
  for await (const line of linesOf(".ach")) {
    if (/^622/.test(line)) {
      entries.push({ id: line.slice(39, 54), original_trace: line.slice(79, 94) });
    }
  }
  expect(new Set(entries.map(({ original_trace }) => original_trace)).size).toBe(PAYMENTS);
  const returned = { amount: 99_999_999n, account: "0012345678", code: "R03" };
  await receive("returned.ach", [
    achReport(
      "PPD",
      entries.map((one) => ({ ...returned, ...one })),
    ),
  ]);
  await measure("NACHA returns read", readAll);
  expect(await countAnswers("returned")).toBe(PAYMENTS);
});
