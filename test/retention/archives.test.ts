import {
  cp,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  unlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Database } from "../../src/platform/db/database.ts";
import { createKeyring } from "../../src/platform/encryption/keyring.ts";
import { sealAll, signingKey } from "../../src/platform/sealing/seal.ts";
import { signingSeed } from "../../src/platform/sealing/signing-seed.ts";
import { realTime } from "../../src/platform/tasks/real-time.ts";
import { decodeArchive } from "../../src/retention/archives/archive-file.ts";
import { archiveRecords } from "../../src/retention/archives/archive-records.ts";
import { openArchived } from "../../src/retention/archives/open-archived.ts";
import { verify } from "../../src/verify/verify.ts";
import { trimEvents } from "../../src/webhooks/trim-events.ts";
import { eraseUser } from "../harness/erase-user.ts";
import { addApprovedUser } from "../harness/ramp.ts";
import { type Receiver, startReceiver } from "../harness/receiver.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { deposit, good, openStory, type Story, settle } from "../offramps/story.ts";
import { addApp, advance, DAY_MS } from "../webhooks/webhook-fixture.ts";

let server: TestServer;
let receiver: Receiver;
let directory: string;
let paid: Story;
beforeAll(async () => {
  const environment = { SLIPROAD_RETENTION: "archive", SLIPROAD_DOCUMENTS: "never" };
  server = await startTestServer({ environment });
  receiver = await startReceiver();
  receiver.answer(({ body }) => ({ status: 200, body: JSON.stringify(body) }));
  directory = await mkdtemp(join(tmpdir(), "sliproad-archives-"));
  const events = ["offramp_update", "payment_detail_update", "kyc_update"];
  await addApp(server, { webhook_url: `${receiver.url}/old`, events });
  await pay();
});
afterAll(async () => {
  await server.close();
  await receiver.close();
  await rm(directory, { recursive: true, force: true });
});

/** A payout, and then so much time that its webhook data is past its retention. */
async function pay(): Promise<void> {
  paid = await openStory(server);
  await deposit(server, { quote_id: paid.quote_id, amount: await paid.total() });
  good(await paid.execute());
  await paid.waitForStatus("fiat_sent");
  await settle(server);
  await advance(server, 100 * DAY_MS);
}

const key = () => signingKey(signingSeed(server.core.config));

const LARGE = 1_000_000;
/** The events of a payout, of which the last one stays in the table. */
const STEPS = 4;

async function archive(database: Database = server.core.database, limits = {}) {
  const { config, clock } = server.core;
  // As the service does each hour: events whose places in the list are deleted can be archived.
  await trimEvents({ ...config, database: server.core.database }, clock.now());
  const all = { rows_max: LARGE, bytes_max: LARGE, ...limits };
  const input = { directory, now: clock.now(), limits: all };
  return archiveRecords({ database, config, key: key() }, input);
}

async function check(archives?: string) {
  const { database, clock, index_key, masters } = server.core;
  await sealAll(database, key(), clock.now());
  const time = { now: clock.now(), real_now: realTime(clock) };
  const keyring = createKeyring(masters);
  const files = archives === undefined ? {} : { archives };
  return verify(database, key(), { ...time, index_key, keyring, ...files });
}

const faultOf = async (archives?: string) => (await check(archives)).fault;

async function count(text: string): Promise<number> {
  const [row] = await server.db.database.query<{ count: number }>(
    `select count(*)::integer as count from ${text}`,
  );
  return row!.count;
}

async function listNames(): Promise<string[]> {
  const rows = await server.db.database.query<{ name: string }>(
    "select name from archives order by table_name, number",
  );
  return rows.map(({ name }) => name);
}

/** The rows of all files, by table. */
async function readAll(): Promise<Map<string, { id: string; [name: string]: unknown }[]>> {
  const { database, masters } = server.core;
  const found = new Map<string, { id: string }[]>();
  for (const name of await listNames()) {
    const { head, rows } = await decodeArchive(await readFile(join(directory, name)), key());
    const opened = await openArchived(database, createKeyring(masters), head, rows);
    found.set(head.table_name, [...(found.get(head.table_name) ?? []), ...opened]);
  }
  return found;
}

describe("with SLIPROAD_RETENTION=archive", () => {
  it("nothing is deleted before it is archived; then it is in files, and verify reads them", async () => {
    const { config, database, clock } = server.core;
    await trimEvents({ ...config, database }, clock.now());
    const bodies = await count("events where body is not null");
    const deliveries = await count("webhook_deliveries");
    const attempts = await count("webhook_attempts");
    expect(bodies).toBeGreaterThan(5);
    expect(deliveries).toBeGreaterThan(5);
    expect(await check()).toMatchObject({ fault: null, archives_unread: 0 });

    const done = await archive();
    expect(done).toMatchObject({ files: 2, rows: bodies + deliveries });
    expect(await count("events where body is not null")).toBe(0);
    expect(await count("webhook_deliveries")).toBe(0);
    expect(await count("webhook_attempts")).toBe(0);
    const files = await readAll();
    expect(files.get("webhook_deliveries")).toHaveLength(deliveries);
    expect(files.get("webhook_deliveries")!.flatMap(({ log }) => log)).toHaveLength(attempts);
    const own = files.get("events")!.filter(({ record_id }) => record_id === paid.offramp_id);
    expect(own.at(-1)).toMatchObject({ name: "offramp_update", to_status: "fiat_sent" });
    expect(JSON.stringify(own.at(-1)!.body)).toContain(paid.offramp_id);
    for (const name of await listNames()) {
      expect((await stat(join(directory, name))).mode & 0o777).toBe(0o600);
    }
    expect(await check()).toMatchObject({ fault: null, archives_unread: 2 });
    expect(await check(directory)).toMatchObject({ fault: null, archives_unread: 0 });
  });

  it("a second run finds events of payouts, a third one nothing, and the next one goes on", async () => {
    expect(await archive()).toMatchObject({ files: 1, rows: STEPS - 1 });
    const names = await listNames();
    expect(await archive()).toEqual({ files: 0, rows: 0, bytes: 0 });
    expect(await listNames()).toEqual(names);
    await pay();
    expect(await archive()).toMatchObject({ files: 2 });
    expect(await archive()).toMatchObject({ files: 1, rows: STEPS - 1 });
    expect(await listNames()).toHaveLength(6);
    expect(await faultOf(directory)).toBeNull();
  });

  it("a file has as many rows as fit", async () => {
    /** Of the files of the last run. */
    const sizesOf = async (table: string): Promise<number[]> => {
      const rows = await server.db.database.query<{ row_count: number }>(
        `select row_count from archives where table_name = $1
           and created_at = (select max(created_at) from archives) order by number`,
        [table],
      );
      return rows.map(({ row_count }) => row_count);
    };
    await pay();
    const bodies = await count("events where body is not null");
    const deliveries = await count("webhook_deliveries");
    expect(await archive(undefined, { rows_max: 3 })).toMatchObject({ rows: bodies + deliveries });
    const filled = (rows: number) =>
      Array.from({ length: Math.ceil(rows / 3) }, (_, at) => Math.min(3, rows - at * 3));
    expect(await sizesOf("events")).toEqual(filled(bodies));
    expect(await sizesOf("webhook_deliveries")).toEqual(filled(deliveries));
    await pay();
    await archive(undefined, { bytes_max: 1 });
    expect(new Set(await sizesOf("events"))).toEqual(new Set([1]));
    expect(await faultOf(directory)).toBeNull();
  });

  it("events whose bodies are archived are not listed any more, and still found", async () => {
    const { config, database, clock } = server.core;
    await trimEvents({ ...config, database }, clock.now());
    const { webhook_events } = good(await server.call("GET", "/webhook_events"));
    expect(webhook_events).toEqual([]);
    const { id } = (await readAll()).get("events")![0]!;
    const shown = good(await server.call("GET", `/webhook_events/${id}`));
    expect(shown.webhook_event).toMatchObject({ id, body: null });
  });
});

describe("a run that ends between the file and the transaction", () => {
  /** The second of its transactions fails. */
  const failing = (when: "before" | "after"): Database => {
    const { database } = server.core;
    let transactions = 0;
    return {
      ...database,
      transaction: async (work, options) => {
        transactions += 1;
        if (transactions === 1) return database.transaction(work, options);
        if (when === "after") await database.transaction(work, options);
        throw new Error("killed");
      },
    };
  };

  it.each(["before", "after"] as const)("%s the commit loses and repeats nothing", async (when) => {
    await pay();
    const ids = await server.db.database.query<{ id: string }>(
      "select id from events where body is not null order by id",
    );
    const deliveries = await count("webhook_deliveries");
    const before = await readAll();
    for (const rows_max of [3, 2, 4]) {
      await expect(archive(failing(when), { rows_max })).rejects.toThrow("killed");
    }
    await archive();
    const after = await readAll();
    const addedTo = (table: string) => after.get(table)!.slice(before.get(table)!.length);
    expect(addedTo("events").map(({ id }) => id)).toEqual(ids.map(({ id }) => id));
    expect(addedTo("webhook_deliveries")).toHaveLength(deliveries);
    for (const rows of after.values()) {
      expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length);
    }
    expect(await faultOf(directory)).toBeNull();
  });

  it("leaves what the next one deletes an hour later", async () => {
    const own = join(directory, server.account_id);
    const [old, young] = [join(own, ".unfinished-old"), join(own, ".unfinished-young")];
    await writeFile(old, "half");
    await writeFile(young, "half");
    const two_hours_ago = new Date(Date.now() - 2 * 3_600_000);
    await utimes(old, two_hours_ago, two_hours_ago);
    await archive();
    expect((await readdir(own)).filter((name) => name.startsWith("."))).toEqual([
      ".unfinished-young",
    ]);
    await rm(young);
  });

  it("a directory that cannot be written is named, and nothing is deleted", async () => {
    await pay();
    const bodies = await count("events where body is not null");
    const file = join(directory, "a-file");
    await writeFile(file, "");
    const { config, clock, database } = server.core;
    const input = { directory: join(file, "below"), now: clock.now() };
    await expect(archiveRecords({ database, config, key: key() }, input)).rejects.toThrow(
      /a-file.* cannot be written \(ENOTDIR\)/,
    );
    expect(await count("events where body is not null")).toBe(bodies);
    await rm(file);
    await archive();
  });

  it("a delivery that changes meanwhile is archived as it is then", async () => {
    await pay();
    const { database } = server.core;
    const touched: string[] = [];
    const slow: Database = {
      ...database,
      transaction: async (work, options) => {
        if (touched.length === 0) {
          const [row] = await database.query<{ id: string }>(
            `update webhook_deliveries set latency_ms = 987654
             where id = (select max(id::text)::uuid from webhook_deliveries) returning id`,
          );
          touched.push(row!.id);
        }
        return database.transaction(work, options);
      },
    };
    await archive(slow);
    const rows = (await readAll()).get("webhook_deliveries")!;
    const found = rows.filter(({ id }) => id === touched[0]);
    expect(found).toMatchObject([{ latency_ms: 987654 }]);
    expect(await faultOf(directory)).toBeNull();
  });
});

describe("verify names", () => {
  /** A copy of the files, with one changed. */
  async function changed(
    change: (path: string) => Promise<void>,
    table: string,
    at: number,
  ): Promise<string> {
    const copy = await mkdtemp(join(tmpdir(), "sliproad-archives-"));
    await cp(directory, copy, { recursive: true });
    const names = (await listNames()).filter((name) => name.includes(`/${table}-`));
    await change(join(copy, names[at]!));
    const fault = await faultOf(copy);
    await rm(copy, { recursive: true, force: true });
    return fault ?? "nothing";
  }

  it("a file of which a byte was changed, and one that is missing", async () => {
    const flip = async (path: string) => {
      const bytes = await readFile(path);
      bytes[bytes.length - 9]! ^= 1;
      await writeFile(path, bytes);
    };
    expect(await changed(flip, "events", 1)).toMatch(
      /^archive 2 of events of account .*\.archive\): its file was changed$/,
    );
    expect(await changed(unlink, "events", 0)).toMatch(
      /^archive 1 of events .*its file is missing$/,
    );
  });

  it.each([
    ["delete from archives where number = 1 and table_name = 'events'", "before it is missing"],
    ["delete from archives where name = (select max(name) from archives)", "nobody removed it"],
    ["delete from archives", "nobody removed it"],
    ["update archives set row_count = row_count + 1 where number = 2", "the audit log"],
    ["update archives set created_at = created_at + interval '1 s' where number = 2", "as it is"],
    ["update archives set previous = sha256 where number = 2", "does not continue"],
  ])("a changed table: %s", async (text, fault) => {
    const { database } = server.db;
    const rows = await database.query<Record<string, unknown>>("select * from archives");
    await database.query(text);
    try {
      expect(await faultOf()).toContain(fault);
    } finally {
      await database.query("delete from archives");
      const columns = Object.keys(rows[0]!);
      for (const row of rows) {
        await database.query(
          `insert into archives (${columns.join(", ")})
           values (${columns.map((_, index) => `$${index + 1}`).join(", ")})`,
          Object.values(row),
        );
      }
    }
    expect(await faultOf()).toBeNull();
  });
});

it("what is archived about a person cannot be read once the person is erased", async () => {
  const user_id = await addApprovedUser(server);
  await settle(server);
  await advance(server, 100 * DAY_MS);
  await archive();
  const bodies = async () => {
    const events = (await readAll()).get("events")!;
    return events.filter(({ subject_id }) => subject_id === user_id).map(({ body }) => body);
  };
  const before = await bodies();
  expect(before.length).toBeGreaterThan(0);
  expect(before).not.toContain(null);
  expect(await eraseUser(server.core, { account_id: server.account_id, user_id })).toBe(true);
  expect(await bodies()).toEqual(before.map(() => null));
  const deliveries = JSON.stringify((await readAll()).get("webhook_deliveries"));
  expect(deliveries).not.toContain('"answer"');
  expect(await faultOf(directory)).toBeNull();
  expect(
    (await readdir(join(directory, server.account_id))).every((name) => name.endsWith(".archive")),
  ).toBe(true);
});
