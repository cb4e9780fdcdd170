import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Session } from "../../src/platform/db/database.ts";
import { explain, preparePlanner, readTables, type Tables, type Touched } from "./explain.ts";
import type { Recorded } from "./record-statements.ts";
import { EXCEPTIONS, type Exception, exceptionOf, faultsOf, isPlainRead } from "./rules.ts";

/*
 * Checks the statements that record-statements.ts has written into a directory: each on an account's
 * table names its account by equality, and no transaction names two accounts.
 */

const NO_PLAN = /^\s*(lock|set|begin|commit|rollback|truncate|create|alter|drop|vacuum|analyze)\b/i;

export type Checked = {
  statements: number;
  transactions: number;
  faults: string[];
  /** What the statements needed of the list. */
  exceptions: ReadonlySet<Exception>;
};

/** The session is of a migrated database; null if nothing was recorded. */
export async function checkStatements(
  session: Session,
  directory: string,
): Promise<Checked | null> {
  const recorded = readRecorded(directory);
  if (recorded.length === 0) return null;
  const tables = await readTables(session);
  await preparePlanner(session);
  const known = new Map<string, Touched | null>();
  const faults = new Set<string>();
  const exceptions = new Set<Exception>();
  for (const { text, place } of recorded.flatMap(({ statements }) => statements)) {
    if (known.has(text) || NO_PLAN.test(text)) continue;
    const touched = await touchedBy(session, tables, text);
    known.set(text, typeof touched === "string" ? null : touched);
    const wrong = typeof touched === "string" ? [touched] : faultsOf(text, touched);
    if (wrong.length === 0) continue;
    const exception = exceptionOf("all_accounts", place, text);
    if (exception) exceptions.add(exception);
    else faults.add(`${place}: ${wrong.join("; ")}\n  ${shortened(text)}`);
  }
  let transactions = 0;
  for (const { statements, transactions: sent } of recorded) {
    transactions += sent.length;
    for (const fault of sent.map((one) => faultOf(one, statements, known, exceptions))) {
      if (fault) faults.add(fault);
    }
  }
  return { statements: known.size, transactions, faults: [...faults].sort(), exceptions };
}

/** What the list names without need; only a run of all statements can tell. */
export function unused({ exceptions }: Checked): string[] {
  return EXCEPTIONS.filter((exception) => !exceptions.has(exception)).map(
    ({ file, starts = "" }) => `${file} ${starts}: nothing that ran needs this exception`,
  );
}

function readRecorded(directory: string): Recorded[] {
  if (!existsSync(directory)) return [];
  return readdirSync(directory)
    .flatMap((name) => readFileSync(join(directory, name), "utf8").trimEnd().split("\n"))
    .map((line) => JSON.parse(line));
}

async function touchedBy(
  session: Session,
  tables: Tables,
  text: string,
): Promise<Touched | string> {
  try {
    return await explain(session, tables, text);
  } catch (error) {
    return `cannot be planned: ${(error as Error).message}`;
  }
}

function faultOf(
  sent: Recorded["transactions"][number],
  statements: Recorded["statements"],
  known: ReadonlyMap<string, Touched | null>,
  exceptions: Set<Exception>,
): string | null {
  const [named, written] = [new Map<number, string>(), new Map<number, string>()];
  for (const [number, ids] of sent) {
    const { text, place } = statements[number]!;
    const exception = exceptionOf("other_account", place, text);
    for (const id of accountsIn(known.get(text), new Map(ids))) {
      if (exception) exceptions.add(exception);
      else if (id !== 0)
        (isPlainRead(text) ? named : written).set(id, `${place} ${shortened(text)}`);
    }
  }
  const all = new Map([...named, ...written]);
  const places = [...new Set(all.values())];
  return all.size > 1 ? `one transaction names two accounts:\n  ${places.join("\n  ")}` : null;
}

/** The accounts that a statement names by equality; 0 is nobody's. */
function accountsIn(
  touched: Touched | null | undefined,
  ids: ReadonlyMap<number, number>,
): Set<number> {
  const places = (touched?.tenants ?? []).map(
    ({ account }) => /^\$(\d+)$/.exec(account ?? "")?.[1],
  );
  return new Set(places.flatMap((place) => ids.get(Number(place)) ?? []));
}

function shortened(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim().slice(0, 160);
}
