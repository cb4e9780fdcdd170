import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openLocalDirectory } from "../../src/partners/files/local-directory.ts";
import type { Session } from "../../src/platform/db/database.ts";
import { createKeyring } from "../../src/platform/encryption/keyring.ts";
import { signingKey } from "../../src/platform/sealing/seal.ts";
import { signingSeed } from "../../src/platform/sealing/signing-seed.ts";
import { realTime } from "../../src/platform/tasks/real-time.ts";
import { isListed, isWholeListed } from "../../src/verify/tampering/coverage.ts";
import { DELETED, PLANTED } from "../../src/verify/tampering/model.ts";
import { verifySnapshot } from "../../src/verify/verify.ts";
import { VOUCHED_TABLES, verifyRows } from "../../src/verify/verify-rows.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import {
  copiesOf,
  dropChecks,
  listPlaces,
  listTables,
  type Table,
  tamper,
  updatesOf,
} from "./tampering/tamper-matrix.ts";
import { createTamperWorld } from "./tampering/tamper-world.ts";

/** Rows in different states are changed, up to this many of a table. */
const ROWS_PER_TABLE = Number(process.env.TAMPER_ROWS ?? 1);

let server: TestServer;

describe("every column of every table", () => {
  beforeAll(async () => {
    server = await startTestServer({ environment: { SLIPROAD_DOCUMENTS: "never" } });
    await createTamperWorld(server);
  }, 600_000);
  afterAll(() => server.close());

  it("is noticed by verify when it is changed, or listed with a reason", async () => {
    const [unlisted, needless, empty]: [string[], string[], string[]] = [[], [], []];
    let changes = 0;
    await server.core.database.connection(async (session) => {
      await session.query("begin isolation level repeatable read");
      // Foreign keys do not protect against somebody who owns the tables.
      await session.query("set local session_replication_role = replica");
      await dropChecks(session);
      expect(await findFault(session)).toBeNull();
      for (const table of await listTables(session)) {
        if (isWholeListed(table.name)) continue;
        const places = await listPlaces(session, table, ROWS_PER_TABLE);
        if (places.length === 0) empty.push(table.name);
        for (const place of places) {
          for (const [change, statements] of changesOf(table)) {
            const check = () => findFaultOf(session, table.name);
            const found = await tamper(session, statements, place, check);
            changes += 1;
            if ("refused" in found) continue;
            const name = `${table.name}: ${change}`;
            const is_listed = isListed(table.name, change);
            if (found.fault === null && !is_listed) unlisted.push(name);
            if (found.fault !== null && is_listed) needless.push(`${name}: ${found.fault}`);
          }
        }
      }
      await session.query("rollback");
    });
    expect(changes).toBeGreaterThan(600);
    expect(empty, "list a table of which this test has no rows").toEqual([]);
    // In other states more is noticed: only of the first rows every listed change must not be.
    const found = { unlisted, needless: ROWS_PER_TABLE === 1 ? needless : [] };
    expect(found, "verify does not notice it, or notices what is listed").toEqual({
      unlisted: [],
      needless: [],
    });
  }, 1_200_000);
});

/** Each change of a row, with statements of which the first that the database accepts is run. */
function changesOf(table: Table): [change: string, statements: string[]][] {
  const columns = table.columns.filter((column) => !column.is_generated);
  return [
    ...columns.map((column): [string, string[]] => [column.name, updatesOf(table, column)]),
    [DELETED, [`delete from ${table.name} where ctid = $1::tid returning 1`]],
    [PLANTED, copiesOf(table)],
  ];
}

/** The check of the table's own MACs is part of `verify`, and the quickest. */
async function findFaultOf(session: Session, table: string): Promise<string | null> {
  const vouched = VOUCHED_TABLES.find((one) => one.table === table);
  const fault = vouched ? await verifyRows(session, vouched) : null;
  return fault ?? findFault(session);
}

async function findFault(session: Session): Promise<string | null> {
  const { config, clock, masters, index_key } = server.core;
  const key = signingKey(signingSeed(config));
  const times = { now: clock.now(), real_now: realTime(clock) };
  const files = await openLocalDirectory(server.data_dir);
  const keyring = createKeyring(masters);
  const input = { ...times, keyring, index_key, files };
  return (await verifySnapshot(session, key, input)).fault;
}
