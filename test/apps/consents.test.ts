import { afterAll, beforeAll, expect, test } from "vitest";
import { listConsentViews } from "../../src/apps/oauth/consents-store.ts";
import { type Database, openDatabase } from "../../src/platform/db/database.ts";
import { bindMacs, macsOf } from "../../src/platform/sealing/row-mac.ts";
import { addApp, addMember } from "../harness/oauth.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";

let server: TestServer;
let databases: Database[];
beforeAll(async () => {
  server = await startTestServer();
  // Where statements are recorded, each is of one account (test/tenancy).
  const ways = process.env.SLIPROAD_BATCH_BY ? [true] : [false, true];
  databases = ways.map((by_account) => {
    const database = openDatabase({ url: server.db.url, connections_max: 4, by_account });
    bindMacs(database, macsOf(server.core.database));
    return database;
  });
});
afterAll(async () => {
  for (const database of databases ?? []) await database.close();
  await server?.close();
});

test("consents are listed in each account, as statements of all accounts or of one read them", async () => {
  const own = server.account_id;
  const [other, owner] = [await server.addAccount("Other"), await server.addAccount("Owner")];
  const ada = await addMember(server, own, "ada@example.test");
  const bea = await addMember(server, own, "bea@example.test");
  expect(await addMember(server, other.account_id, "ada@example.test")).toBe(ada);
  const apps: { id: string }[] = [];
  for (const name of ["Kite", "Quill", "Badger"]) {
    apps.push(await addApp(server, owner.account_id, { name }));
  }
  let minute = 0;
  const consent = (account_id: string, app: number, person_id: string) => {
    minute += 1;
    return server.db.database.query(
      `insert into app_grants (account_id, app_id, app_account_id, person_id, created_at)
       values ($1, $2, $3, $4, $5)`,
      [account_id, apps[app]!.id, owner.account_id, person_id, new Date(minute * 60_000)],
    );
  };
  await consent(own, 0, ada);
  await consent(own, 1, bea);
  await consent(other.account_id, 1, ada);
  await consent(own, 2, ada);
  await server.db.database.query("update apps set deleted_at = now() where id = $1", [apps[2]!.id]);
  for (const database of databases) {
    const list = async (person_id: string, account_id: string | null, limit = 10) =>
      (await listConsentViews(database, person_id, account_id, limit)).map((one) =>
        [one.account_name, one.app_name, one.owner_name, one.person_id].join(" "),
      );
    const [operator] = await database.query<{ name: string }>(
      "select name from accounts where id = $1",
      [own],
    );
    const of_ada = [`Other Quill Owner ${ada}`, `${operator!.name} Kite Owner ${ada}`];
    expect(await list(ada, null)).toEqual(of_ada);
    const with_bea = [of_ada[0], `${operator!.name} Quill Owner ${bea}`, of_ada[1]];
    expect(await list(ada, own)).toEqual(with_bea);
    expect(await list(ada, own, 2)).toEqual(with_bea.slice(0, 2));
    expect(await list(bea, null)).toEqual([with_bea[1]]);
  }
});
