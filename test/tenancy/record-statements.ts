import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll } from "vitest";
import { type ObservedStatement, observeStatements } from "../../src/platform/db/observe.ts";

/*
 * Set up before every test file (vitest.config.ts). Where the environment names a directory, every
 * statement that the code of src/ sends is written there, one line of JSON per test file, for
 * check-statements.ts. Statements of the tests themselves are left out.
 */

/** Account ids by the number of the parameter that has them. */
export type NamedAccounts = Record<number, string[]>;
export type Recorded = {
  statements: { text: string; place: string }[];
  /** Each is a list of statements (by their place in `statements`) and what they name. */
  transactions: [statement: number, named: NamedAccounts][][];
};

const directory = process.env.SLIPROAD_RECORD_STATEMENTS;
if (directory) record(join(directory, `${process.pid}.jsonl`));

function record(file: string): void {
  const statements = new Map<string, { number: number; place: string }>();
  const transactions = new Map<number, [number, Record<number, string[]>][]>();
  const accounts = new Set<string>();
  observeStatements((observed) => {
    noteAccounts(accounts, observed);
    const { text, values, transaction } = observed;
    const place = placeInSource();
    if (place === null) return;
    const number = statements.get(text)?.number ?? statements.size;
    statements.set(text, { number, place: statements.get(text)?.place ?? place });
    const sent = transactions.get(transaction) ?? [];
    sent.push([number, idsIn(values)]);
    transactions.set(transaction, sent);
  });
  afterAll(() => {
    const known = [...transactions.values()].map((sent) =>
      JSON.stringify(sent.map(([number, ids]) => [number, keepAccounts(ids, accounts)])),
    );
    const recorded: Recorded = {
      statements: [...statements].map(([text, { place }]) => ({ text, place })),
      transactions: [...new Set(known)].map((line) => JSON.parse(line)),
    };
    appendFileSync(file, `${JSON.stringify(recorded)}\n`);
    statements.clear();
    transactions.clear();
  });
}

/** The first line of src/ that is not of platform/db; null if there is none. */
function placeInSource(): string | null {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 30;
  const stack = new Error().stack ?? "";
  Error.stackTraceLimit = limit;
  const lines = stack.split("\n").flatMap((line) => line.match(/\/(src\/[^\s:)]+:\d+)/)?.[1] ?? []);
  return lines.find((line) => !line.startsWith("src/platform/db/")) ?? null;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

function idsIn(values: readonly unknown[]): Record<number, string[]> {
  const ids: Record<number, string[]> = {};
  for (const [at, value] of values.entries()) {
    const found = new Set([value].flat().filter((one) => typeof one === "string"));
    const uuids = [...found].filter((one) => UUID.test(one));
    if (uuids.length > 0) ids[at + 1] = uuids;
  }
  return ids;
}

function noteAccounts(accounts: Set<string>, { text, values }: ObservedStatement): void {
  if (!/^\s*insert into accounts\b/.test(text)) return;
  for (const ids of Object.values(idsIn(values))) for (const id of ids) accounts.add(id);
}

function keepAccounts(ids: Record<number, string[]>, accounts: Set<string>): NamedAccounts {
  const kept = Object.entries(ids).map(([at, all]) => [at, all.filter((id) => accounts.has(id))]);
  return Object.fromEntries(kept.filter(([, all]) => all!.length > 0));
}
