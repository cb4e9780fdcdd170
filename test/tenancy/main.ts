import { readdirSync, readFileSync } from "node:fs";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openDatabase, type Session } from "../../src/platform/db/database.ts";
import { startEmbeddedPostgres } from "../../src/platform/db/embedded.ts";
import { migrate } from "../../src/platform/db/migrate.ts";
import { explain, preparePlanner, readTables, type Tables, type Touched } from "./explain.ts";
import type { Recorded } from "./record-statements.ts";
import { faultsOf, isNotYet, whyCrossing } from "./rules.ts";

/*
 * Checks the statements that record-statements.ts has written into the directory: each on an
 * account's table names its account by equality, and no transaction names two accounts.
 */

const NO_PLAN = /^\s*(lock|set|begin|commit|rollback|truncate|create|alter|drop|vacuum|analyze)\b/i;

const recorded = readRecorded(process.argv[2]!);
const found = await withEmptyDatabase((session) => check(session, recorded));
for (const fault of found.faults) console.log(fault);
const { statements, crossing, transactions, faults } = found;
console.log(
  `Checked ${statements} statements (${crossing} of them may read all accounts) and ` +
    `${transactions} transactions: ${faults.length === 0 ? "no" : faults.length} problems found.`,
);
if (faults.length > 0 || statements === 0) process.exitCode = 1;

function readRecorded(directory: string): Recorded[] {
  return readdirSync(directory)
    .flatMap((name) => readFileSync(join(directory, name), "utf8").trimEnd().split("\n"))
    .map((line) => JSON.parse(line));
}

async function withEmptyDatabase<Result>(work: (session: Session) => Promise<Result>) {
  const data_dir = await mkdtemp(join(tmpdir(), "sliproad-tenancy-"));
  await chmod(data_dir, 0o755);
  const server = await startEmbeddedPostgres({ data_dir });
  const database = openDatabase({ url: server.url, connections_max: 2 });
  try {
    await migrate(database, () => new Date());
    return await database.connection(work);
  } finally {
    await database.close();
    await server.stop();
    await rm(data_dir, { recursive: true, force: true });
  }
}

type Checked = { statements: number; crossing: number; transactions: number; faults: string[] };

async function check(session: Session, recorded: readonly Recorded[]): Promise<Checked> {
  const tables = await readTables(session);
  await preparePlanner(session);
  const known = new Map<string, Touched | null>();
  const faults = new Set<string>();
  let crossing = 0;
  for (const { text, place } of recorded.flatMap(({ statements }) => statements)) {
    if (known.has(text) || NO_PLAN.test(text)) continue;
    const touched = await touchedBy(session, tables, text);
    if (typeof touched === "string") faults.add(`${place}: ${touched}\n  ${shortened(text)}`);
    known.set(text, typeof touched === "string" ? null : touched);
    const wrong = typeof touched === "string" ? [] : faultsOf(text, touched);
    if (wrong.length === 0) continue;
    if (isNotYet(place, text)) {
      console.log(`Not yet: ${place}: ${wrong.join("; ")}`);
      known.set(text, null);
    } else if (whyCrossing(place, text) === undefined) {
      faults.add(`${place}: ${wrong.join("; ")}\n  ${shortened(text)}`);
    } else {
      crossing += 1;
      known.set(text, null);
    }
  }
  const transactions = recorded.flatMap((file) =>
    file.transactions.map((sent) => ({ sent, statements: file.statements })),
  );
  for (const { sent, statements } of transactions) {
    const named = new Map<string, string>();
    for (const [number, ids] of sent) {
      const { text, place } = statements[number]!;
      if (place.startsWith("src/verify/")) continue;
      for (const id of accountsIn(known.get(text), ids)) named.set(id, named.get(id) ?? place);
    }
    if (named.size > 1) faults.add(`one transaction names ${[...named.values()].join(", ")}`);
  }
  return {
    statements: known.size,
    crossing,
    transactions: transactions.length,
    faults: [...faults].sort(),
  };
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

/** The accounts that a statement names by equality. */
function accountsIn(
  touched: Touched | null | undefined,
  ids: Readonly<Record<number, string[]>>,
): string[] {
  const places = (touched?.tenants ?? []).map(
    ({ account }) => /^\$(\d+)$/.exec(account ?? "")?.[1],
  );
  return places.flatMap((place) => (place === undefined ? [] : (ids[Number(place)] ?? [])));
}

function shortened(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim().slice(0, 160);
}
