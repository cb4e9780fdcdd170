import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { systemTime } from "../../../src/platform/clock.ts";
import { migrate } from "../../../src/platform/db/migrate.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";
import { waitFor } from "../../harness/wait-for.ts";
import { findFault, good, openStory } from "../../offramps/story.ts";

const MIGRATIONS_DIR = join(import.meta.dirname, "../../../migrations");
const GENTLE = "-- Breaks running code: no\nset local lock_timeout = '5s';\n";
/** What later versions do to the tables that every request writes. */
const LATER = {
  "9991_add_columns.sql": ["offramps", "quotes", "payouts", "events", "tasks", "commands"]
    .map((table) => `alter table ${table} add column later_note text;`)
    .join("\n"),
  "9992_index_offramps.sql":
    "create index offramps_by_later_note on offramps (account_id, later_note);",
  "9993_create_notes.sql":
    "create table later_notes (account_id uuid references accounts (id), id uuid);",
  "9994_check_amounts.sql":
    "alter table payouts add constraint later_check check (later_note is null) not valid;",
};

let server: TestServer;
let directory: string;
beforeEach(async () => {
  server = await startTestServer({ environment: { SLIPROAD_DOCUMENTS: "never" } });
  directory = await mkdtemp(join(tmpdir(), "sliproad-upgrade-"));
  await cp(MIGRATIONS_DIR, directory, { recursive: true });
});
afterEach(async () => {
  await server.close();
  await rm(directory, { recursive: true });
});

const migrateFrom = () => migrate(server.db.database, systemTime, { directory });

/** Callers who pay one payout after the other, until they are stopped. */
function startTraffic(callers: number) {
  let is_stopped = false;
  let paid = 0;
  const pay = async () => {
    while (!is_stopped) {
      const story = await openStory(server, [{ amount: 100 }, { amount: 200 }]);
      good(await story.execute());
      for (const id of story.offramp_ids) await story.waitForStatus("fiat_sent", id);
      paid += 1;
    }
  };
  const running = Promise.all(Array.from({ length: callers }, pay));
  const stop = () => {
    is_stopped = true;
    return running;
  };
  return { paid: () => paid, stop };
}

it("a database is migrated while requests are answered and payouts are paid", async () => {
  const traffic = startTraffic(4);
  for (const [name, text] of Object.entries(LATER)) {
    const before = traffic.paid();
    await waitFor(async () => traffic.paid() > before, 30_000);
    await writeFile(join(directory, name), GENTLE + text);
    expect(await migrateFrom()).toEqual([name]);
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
  }
  const migrated = traffic.paid();
  await waitFor(async () => traffic.paid() > migrated + 4, 30_000);
  await traffic.stop();
  expect(await findFault(server)).toBeNull();
}, 120_000);

it("a migration that cannot have its lock steps back for requests, and is applied once it can", async () => {
  await writeFile(
    join(directory, "9991_add_columns.sql"),
    `${GENTLE.replace("5s", "100ms")}alter table quotes add column first_note text;
     alter table offramps add column later_note text;`,
  );
  const { database } = server.db;
  let migrating: Promise<string[]> | undefined;
  await database.transaction(async (tx) => {
    await tx.query("select id from offramps limit 1");
    migrating = migrateFrom();
    const story = await openStory(server);
    expect(await story.show()).toMatchObject({ status: "initiated" });
    expect(await listNotes()).toEqual([]);
  });
  expect(await migrating).toEqual(["9991_add_columns.sql"]);
  expect(await listNotes()).toHaveLength(2);
});

function listNotes() {
  return server.db.database.query(
    "select column_name from information_schema.columns where column_name in ($1, $2)",
    ["first_note", "later_note"],
  );
}
