import { writeFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openLocalDirectory } from "../../src/partners/files/local-directory.ts";
import { createKeyring } from "../../src/platform/encryption/keyring.ts";
import { signingKey } from "../../src/platform/sealing/seal.ts";
import { signingSeed } from "../../src/platform/sealing/signing-seed.ts";
import { realTime } from "../../src/platform/tasks/real-time.ts";
import { verifySnapshot } from "../../src/verify/verify.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { copiesOf, listPlaces, listTables, tamper, updatesOf } from "./tamper-matrix.ts";
import { createTamperWorld } from "./tamper-world.ts";

let server: TestServer;

describe("every column of every table", () => {
  beforeAll(async () => {
    server = await startTestServer({ environment: { SLIPROAD_DOCUMENTS: "never" } });
    await createTamperWorld(server);
  }, 600_000);
  afterAll(() => server.close());

  it("report", async () => {
    const { config, database, clock, masters, index_key } = server.core;
    const key = signingKey(signingSeed(config));
    const files = await openLocalDirectory(server.data_dir);
    const report: string[] = [];
    await database.connection(async (session) => {
      const check = async () => {
        const keyring = createKeyring(masters);
        const time = { now: clock.now(), real_now: realTime(clock) };
        return (await verifySnapshot(session, key, { ...time, keyring, index_key, files })).fault;
      };
      await session.query("begin isolation level repeatable read");
      await session.query("set local session_replication_role = replica");
      const begun = performance.now();
      expect(await check()).toBeNull();
      report.push(`verify ${performance.now() - begun} ms`);
      for (const table of await listTables(session)) {
        const places = await listPlaces(session, table, Number(process.env.ROWS ?? 1));
        if (places.length === 0) report.push(`${table.name}: EMPTY`);
        for (const place of places) {
          for (const column of table.columns) {
            if (column.is_generated) continue;
            const found = await tamper(session, updatesOf(table, column), place, check);
            report.push(`${table.name}.${column.name}: ${JSON.stringify(found)}`);
          }
          const deleted = [`delete from ${table.name} where ctid = $1::tid returning 1`];
          report.push(
            `${table.name} DELETE: ${JSON.stringify(await tamper(session, deleted, place, check))}`,
          );
          report.push(
            `${table.name} COPY: ${JSON.stringify(await tamper(session, copiesOf(table), place, check))}`,
          );
        }
      }
      report.push(`all ${performance.now() - begun} ms`);
      await session.query("rollback");
    });
    writeFileSync("/tmp/tamper-report.txt", report.join("\n"));
  }, 600_000);
});
