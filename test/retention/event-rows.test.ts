import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Session } from "../../src/platform/db/database.ts";
import { createKeyring } from "../../src/platform/encryption/keyring.ts";
import { sealAll, signingKey } from "../../src/platform/sealing/seal.ts";
import { signingSeed } from "../../src/platform/sealing/signing-seed.ts";
import { realTime } from "../../src/platform/tasks/real-time.ts";
import { decodeArchive } from "../../src/retention/archives/archive-file.ts";
import { archiveRecords } from "../../src/retention/archives/archive-records.ts";
import type { ArchivedEventRow } from "../../src/retention/archives/model.ts";
import { verifySnapshot } from "../../src/verify/verify.ts";
import {
  findEventRowFault,
  findOpenSteps,
  type Steps,
} from "../../src/verify/verify-event-rows.ts";
import { trimEvents } from "../../src/webhooks/trim-events.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { deposit, good, openStory, type Story, settle } from "../offramps/story.ts";
import { advance, DAY_MS } from "../webhooks/webhook-fixture.ts";

let server: TestServer;
let directory: string;
let first: Story;
let second: Story;
beforeAll(async () => {
  const environment = { SLIPROAD_RETENTION: "archive", SLIPROAD_DOCUMENTS: "never" };
  server = await startTestServer({ environment });
  directory = await mkdtemp(join(tmpdir(), "sliproad-archives-"));
  first = await pay();
  second = await pay();
  await advance(server, 100 * DAY_MS);
  await archive();
});
afterAll(async () => {
  await server.close();
  await rm(directory, { recursive: true, force: true });
});

async function pay(): Promise<Story> {
  const story = await openStory(server);
  await deposit(server, { quote_id: story.quote_id, amount: await story.total() });
  good(await story.execute());
  await story.waitForStatus("fiat_sent");
  await settle(server);
  return story;
}

const key = () => signingKey(signingSeed(server.core.config));

/** Bodies first, then the rows of events whose places in the list were deleted since then. */
async function archive(): Promise<number> {
  const { config, clock, database } = server.core;
  const input = { directory, now: clock.now() };
  let rows = 0;
  for (let run = 0; run < 2; run += 1) {
    rows += (await archiveRecords({ database, config, key: key() }, input)).rows;
    await trimEvents({ ...config, database }, clock.now());
  }
  return rows + (await archiveRecords({ database, config, key: key() }, input)).rows;
}

/** What verify reports after a change, which is rolled back; with the files or without. */
async function faultOf(
  change: (session: Session) => Promise<unknown> = async () => {},
  with_files = true,
): Promise<string | null> {
  const { database, clock, index_key, masters } = server.core;
  await sealAll(database, key(), clock.now());
  const undo = new Error("undone");
  let fault: string | null = null;
  await database
    .transaction(async (tx) => {
      await tx.query("set transaction isolation level repeatable read");
      await change(tx);
      const times = { now: clock.now(), real_now: realTime(clock) };
      const input = { ...times, index_key, keyring: createKeyring(masters) };
      const files = with_files ? { archives: directory } : {};
      ({ fault } = await verifySnapshot(tx, key(), { ...input, ...files }));
      throw undo;
    })
    .catch((error) => {
      if (error !== undo) throw error;
    });
  return fault;
}

const sequencesOf = async (story: Story): Promise<number[]> => {
  const rows = await server.db.database.query<{ sequence: number }>(
    "select sequence from events where record_id = $1 order by sequence",
    [story.offramp_id],
  );
  return rows.map(({ sequence }) => sequence);
};

async function readRows(): Promise<ArchivedEventRow[]> {
  const names = await server.db.database.query<{ name: string }>(
    "select name from archives where table_name = 'event_rows' order by number",
  );
  const rows: ArchivedEventRow[] = [];
  for (const { name } of names) {
    const read = await decodeArchive(await readFile(join(directory, name)), key());
    rows.push(...(read.rows as ArchivedEventRow[]));
  }
  return rows;
}

const insert = (session: Session, row: ArchivedEventRow) =>
  session.query(
    `insert into events (account_id, id, name, record_id, sequence, from_status, to_status, facts,
       subject_id, actor, created_at, mac)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
    [
      ...[server.account_id, row.id, row.name, row.record_id, row.sequence, row.from_status],
      ...[row.to_status, Buffer.from(row.facts, "base64"), row.subject_id, row.actor],
      ...[row.created_at, Buffer.from(row.mac, "base64")],
    ],
  );

describe("old events of payouts", () => {
  it("are in files, all but the last one; others stay in the table", async () => {
    expect(await sequencesOf(first)).toEqual([4]);
    const rows = await readRows();
    const own = rows.filter(({ record_id }) => record_id === first.offramp_id);
    expect(own.map(({ sequence }) => sequence)).toEqual([1, 2, 3]);
    expect(rows).toHaveLength(6);
    const others = await server.db.database.query<{ name: string }>(
      "select name from events where sequence = 1 group by name",
    );
    expect(others.map(({ name }) => name)).toEqual(["kyc_update"]);
    expect(await archive()).toBe(0);
    expect(await faultOf()).toBeNull();
    expect(await faultOf(undefined, false)).toBeNull();
  });

  it("are not shown any more; a list that begins after one is the whole list", async () => {
    const [{ id }] = (await readRows()) as [ArchivedEventRow];
    const shown = await server.call("GET", `/webhook_events/${id}`);
    expect(shown.status).toBe(404);
    const later = await pay();
    const { webhook_events } = good(
      await server.call("GET", `/webhook_events?starting_after=${id}&limit=100`),
    );
    const names = webhook_events.map((event: { event: string }) => event.event);
    expect(names.filter((name: string) => name === "offramp_update")).toHaveLength(4);
    expect(await sequencesOf(later)).toEqual([1, 2, 3, 4]);
    expect(await faultOf()).toBeNull();
  });

  it("a payout that changes after they were archived keeps the rest", async () => {
    const path = `/sandbox/offramps/${first.offramp_id}`;
    good(await server.call("PATCH", path, { offramp: { status: "bounced" } }));
    await settle(server);
    expect(await sequencesOf(first)).toEqual([4, 5]);
    expect(await faultOf()).toBeNull();
    // It is given back meanwhile.
    await advance(server, 100 * DAY_MS);
    await archive();
    expect(await sequencesOf(first)).toEqual([4, 5, 6]);
    expect(await sequencesOf(second)).toEqual([4]);
    expect(await faultOf()).toBeNull();
    expect(await faultOf(undefined, false)).toBeNull();
  });
});

describe("verify names", () => {
  const remaining = (session: Session, sequence: number) =>
    session.query("delete from events where record_id = $1 and sequence = $2", [
      first.offramp_id,
      sequence,
    ]);

  it("an event that was deleted and not archived", async () => {
    const change = (session: Session) => remaining(session, 4);
    expect(await faultOf(change, false)).toMatch(
      /^the events log of account .*: \d+ entries are listed, but there are \d+, 9 of them archived$/,
    );
    // Of events after those that are archived, it says which.
    const last = (session: Session) => remaining(session, 6);
    expect(await faultOf(last)).toMatch(/^events entry .* it is missing$/);
  });

  it("an archived event in the table again", async () => {
    const [row] = await readRows();
    const change = (session: Session) => insert(session, row!);
    expect(await faultOf(change, false)).toMatch(/^the events log of account .* are listed/);
  });

  it("only with the files, an archived event in the place of a deleted one", async () => {
    const rows = await readRows();
    const row = rows.find(({ record_id, sequence }) => {
      return record_id === second.offramp_id && sequence === 3;
    });
    const change = async (session: Session) => {
      await insert(session, row!);
      await remaining(session, 4);
    };
    expect(await faultOf(change)).toContain(
      `event 3 of ${second.offramp_id} is archived, and in the table again`,
    );
    expect(await faultOf(change, false)).toBeNull();
  });

  it("events that somebody says to be archived", async () => {
    const change = async (session: Session) => {
      await remaining(session, 4);
      await session.query(
        "update archives set row_count = row_count + 1 where table_name = 'event_rows' and number = 1",
      );
    };
    expect(await faultOf(change, false)).toContain("it differs from the audit log");
  });
});

describe("the events of a file", () => {
  const check = async (change: (rows: ArchivedEventRow[]) => ArchivedEventRow[]) => {
    const steps: Steps = new Map();
    const { account_id } = server;
    const rows = change(await readRows());
    const fault = await findEventRowFault(server.core.database, account_id, rows, steps);
    return fault ?? findOpenSteps(account_id, steps);
  };

  it("continue each other and lead to the first one in the table", async () => {
    expect(await check((rows) => rows)).toBeNull();
    const without = (sequence: number) => (rows: ArchivedEventRow[]) =>
      rows.filter((row) => row.record_id !== first.offramp_id || row.sequence !== sequence);
    expect(await check(without(1))).toMatch(/\(event 2 of .*\) comes after event 0$/);
    expect(await check(without(2))).toMatch(/\(event 3 of .*\) comes after event 1$/);
    expect(await check(without(3))).toMatch(
      /^event 3 of .* is neither in the table nor in a file, but the one before it is archived$/,
    );
  });

  it("are those that were written", async () => {
    const changed = (rows: ArchivedEventRow[]) => [
      { ...rows[0]!, to_status: "fiat_sent" },
      ...rows.slice(1),
    ];
    expect(await check(changed)).toMatch(/^event .* was not written by this service$/);
  });
});
