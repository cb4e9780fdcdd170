import { afterAll, beforeAll, expect, it } from "vitest";
import { openLocalDirectory } from "../../src/partners/files/local-directory.ts";
import { observeStatements } from "../../src/platform/db/observe.ts";
import { createKeyring } from "../../src/platform/encryption/keyring.ts";
import { signingKey } from "../../src/platform/sealing/seal.ts";
import { signingSeed } from "../../src/platform/sealing/signing-seed.ts";
import { realTime } from "../../src/platform/tasks/real-time.ts";
import { verify } from "../../src/verify/verify.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { explain, preparePlanner, readTables, type Touched } from "../tenancy/explain.ts";
import { REFERENCE_TABLES } from "../tenancy/rules.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
  await server.app.worker.stop();
});
afterAll(() => server.close());

/**
 * These still join a look-up table with accounts' tables. Citus runs them, with a copy of what it
 * needs of that table; this list may only become shorter.
 */
const JOINS: Readonly<Record<string, string>> = {
  "select o.id from onramps o left join deposit_codes": "codes of onramps, read once",
  "with line as ( select number": "lines of banks' statements, read once",
  "select b.end_to_end_id as id, coalesce(p.status": "payments of banks' files, by pages",
};

/** What a database distributed by account cannot run on one node. */
function faultsOf(text: string, { tenants, lookups }: Touched): string[] {
  const single = lookups.filter((name) => !(name in REFERENCE_TABLES));
  // A subquery that is hashed does not show the account that it is compared with.
  const isCompared = (alias: string) =>
    new RegExp(`\\b${alias}\\.account_id = \\w+\\.account_id`).test(text);
  const others = tenants.filter(({ alias, account }) => account !== null || !isCompared(alias));
  const accounts = new Set(others.map(({ account }) => account));
  return [
    ...(tenants.length > 0 ? single.map((name) => `joins ${name} with accounts' tables`) : []),
    ...(accounts.size > 1 ? ["joins tables of different accounts"] : []),
  ];
}

it("no statement of verify joins what a distributed database has on different nodes", async () => {
  const texts = new Set<string>();
  observeStatements(({ text }) => texts.add(text));
  try {
    expect(await findFault()).toBeNull();
  } finally {
    observeStatements(undefined);
  }
  const selects = [...texts].filter((text) => /^\s*(select|with)\b/.test(text));
  expect(selects.length).toBeGreaterThan(100);
  const wrong = await server.db.database.connection(async (session) => {
    const tables = await readTables(session);
    await preparePlanner(session);
    const found: string[] = [];
    for (const text of selects) {
      const plain = text.replaceAll(/\s+/g, " ").trim();
      if (Object.keys(JOINS).some((start) => plain.startsWith(start))) continue;
      const faults = faultsOf(text, await explain(session, tables, text));
      if (faults.length > 0) found.push(`${faults.join("; ")}: ${plain}`);
    }
    return found;
  });
  expect(wrong).toEqual([]);
});

async function findFault(): Promise<string | null> {
  const { config, clock, masters, index_key, database } = server.core;
  const { fault } = await verify(database, signingKey(signingSeed(config)), {
    ...{ now: clock.now(), real_now: realTime(clock), keyring: createKeyring(masters), index_key },
    files: await openLocalDirectory(server.data_dir),
  });
  return fault;
}
