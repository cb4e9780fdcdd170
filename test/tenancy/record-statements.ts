import { appendFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { afterAll, beforeAll, expect, inject } from "vitest";
import { type ObservedStatement, observeStatements } from "../../src/platform/db/observe.ts";
import { runsByAccount } from "./account-files.ts";

/*
 * Set up before every test file (vitest.config.ts). The files of account-files.ts, or all of them
 * where SLIPROAD_BATCH_BY=account is set, run with one account per transaction. Each statement that
 * the code of src/ sends then is written down, once, with the accounts that transactions name;
 * check-statements.ts reads it at the end of the run.
 */

/** A statement by its place in `statements`, and its parameters that may be accounts. */
type Sent = [statement: number, ids: [parameter: number, id: string][]];
export type Recorded = {
  statements: { text: string; place: string }[];
  /** Each once; ids are replaced by their numbers in the transaction. */
  transactions: [statement: number, ids: [parameter: number, id: number][]][][];
};

const root = resolve(import.meta.dirname, "../..");
const given = process.env.SLIPROAD_BATCH_BY;

const statements = new Map<string, { number: number; place: string } | null>();
const transactions = new Map<number, Sent[]>();

beforeAll(() => {
  const file = relative(root, expect.getState().testPath ?? "");
  if (given === undefined && runsByAccount(file)) process.env.SLIPROAD_BATCH_BY = "account";
  if (process.env.SLIPROAD_BATCH_BY === "account") observeStatements(note);
});

afterAll(() => {
  observeStatements(undefined);
  if (given === undefined) delete process.env.SLIPROAD_BATCH_BY;
  if (statements.size === 0) return;
  const recorded: Recorded = {
    statements: [...statements].flatMap(([text, found]) =>
      found ? [{ text, place: found.place }] : [],
    ),
    transactions: [...new Set([...transactions.values()].map(toPattern))].map((line) =>
      JSON.parse(line),
    ),
  };
  const file = join(inject("statements_dir"), `${process.pid}.jsonl`);
  appendFileSync(file, `${JSON.stringify(recorded)}\n`);
  statements.clear();
  transactions.clear();
});

function note({ text, values, transaction }: ObservedStatement): void {
  let found = statements.get(text);
  if (found === undefined) {
    const place = placeInSource();
    const number = [...statements.values()].filter(Boolean).length;
    found = place === null ? null : { number, place };
    statements.set(text, found);
  }
  if (found === null) return;
  const sent: Sent = [found.number, idsIn(values)];
  const earlier = transactions.get(transaction);
  if (earlier) earlier.push(sent);
  else transactions.set(transaction, [sent]);
}

/** The line of src/ that sends it; null if a test does. */
function placeInSource(): string | null {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 30;
  const stack = new Error().stack ?? "";
  Error.stackTraceLimit = limit;
  const lines = stack
    .split("\n")
    .flatMap((line) => line.match(/\/((?:src|test)\/[^\s:)]+:\d+)/)?.[1] ?? [])
    .filter((line) => !/^(src\/platform\/db\/|test\/tenancy\/record)/.test(line));
  return lines[0]?.startsWith("src/") ? lines[0] : null;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

function idsIn(values: readonly unknown[]): [number, string][] {
  const ids: [number, string][] = [];
  for (const [at, value] of values.entries()) {
    if (typeof value === "string" && value.length === 36 && UUID.test(value)) {
      ids.push([at + 1, value]);
    }
  }
  return ids;
}

/** Most transactions differ in their ids only. */
function toPattern(sent: readonly Sent[]): string {
  const numbers = new Map<string, number>();
  const numberOf = (id: string) => {
    if (!numbers.has(id)) numbers.set(id, id === NOBODY ? 0 : numbers.size + 1);
    return numbers.get(id)!;
  };
  return JSON.stringify(
    sent.map(([number, ids]) => [number, ids.map(([at, id]) => [at, numberOf(id)])]),
  );
}

/** What holds for all accounts has this one. */
const NOBODY = "00000000-0000-0000-0000-000000000000";
