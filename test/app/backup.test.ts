import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { readStatus, releaseAll } from "../../src/cli/payouts/actions.ts";
import { signingKey } from "../../src/platform/sealing/seal.ts";
import { signingSeed } from "../../src/platform/sealing/signing-seed.ts";
import { verifyAnchors } from "../../src/verify/verify-anchors.ts";
import { backUp, configOf, restore } from "../backup/backup-fixture.ts";
import { runCommand } from "../harness/command-line.ts";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import {
  closeWindows,
  EUR_ACCOUNT,
  type LiveHome,
  openLiveHome,
  STORY_SETTINGS,
  today,
  USD_ACCOUNT,
} from "../harness/live.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";
import { findFault } from "../offramps/story.ts";
import { entry, statement } from "../partners/bank/report-texts.ts";
import { addPayout } from "./funded-payout.ts";
import { dayStatement, OPENING } from "./live-story.ts";

const MOVED_MS = 120_000;
const CALLERS = 3;
const PAYOUTS_BEFORE = 4;
const PAYOUTS_AFTER = 4;

let home: LiveHome;
const directories: string[] = [];
const databases: TestDatabase[] = [];

beforeAll(async () => {
  home = await openLiveHome();
});
afterAll(async () => {
  for (const db of databases) await db.drop();
  await home.close();
  for (const path of directories) await rm(path, { recursive: true, force: true });
});

async function newDirectory(): Promise<string> {
  const created = await mkdtemp(join(tmpdir(), "sliproad-backup-"));
  directories.push(created);
  return created;
}

async function newDatabase(): Promise<TestDatabase> {
  const db = await createTestDatabase();
  databases.push(db);
  return db;
}

const settings = () => ({ ...home.environment, ...STORY_SETTINGS });

type Payment = { id: string; amount: string };

/** What the bank has got, in all files. */
async function listSent(): Promise<Payment[]> {
  const files = await home.sentFiles();
  const payment = /<EndToEndId>(\w+)<\/EndToEndId>.*?<InstdAmt Ccy="EUR">([\d.]+)</gs;
  return files.flatMap(({ text }) =>
    [...text.matchAll(payment)].map(([, id, amount]) => ({ id: id!, amount: amount! })),
  );
}

let told = 0;

/** The bank books these and says so. */
async function book(payments: readonly Payment[]): Promise<string[]> {
  const lines = payments.map(({ id, amount }) =>
    entry({ amount, id, day: today(), reference: `REF-${id}` }),
  );
  told += 1;
  if (lines.length > 0) await home.receiveFile(statement(lines, { type: "54", id: `N${told}` }));
  return lines;
}

/** Callers create payouts all the time, and the bank takes a file every second. */
function startLoad(server: TestServer, db: TestDatabase) {
  let is_over = false;
  let created = 0;
  const callers = Array.from({ length: CALLERS }, async () => {
    while (!is_over) {
      await addPayout(home, server, 20 + created).catch((error: unknown) => {
        if (!is_over) throw error;
      });
      created += 1;
    }
  });
  const windows = (async () => {
    while (!is_over) {
      await closeWindows(db.database);
      await sleep(1_000);
    }
  })();
  return {
    reach: (count: number) => waitFor(() => created >= count, MOVED_MS),
    created: () => created,
    stop: () => {
      is_over = true;
      return Promise.allSettled([...callers, windows]);
    },
  };
}

const anchorsOf = async function* (lines: readonly string[]) {
  yield* lines;
};

it("a database that is lost under load and restored pays nothing twice and loses nothing that the backup has", async () => {
  const first = await newDatabase();
  const log: string[] = [];
  const data_dir = await newDirectory();
  let server = await startTestServer({
    environment: settings(),
    beside: { db: first, data_dir },
    log_destination: { write: (line) => void log.push(line) },
  });
  const { key } = server;
  const load = startLoad(server, first);
  await load.reach(PAYOUTS_BEFORE);
  const sealed_before = log.filter((line) => line.includes('"sealed"'));
  const file = join(await newDirectory(), "sliproad.backup");
  const [{ head }] = await Promise.all([backUp(server, file), load.reach(PAYOUTS_BEFORE + 1)]);

  // It goes on: more is created and leaves. Then the database is gone, in the midst of it.
  const sent_at_backup = (await listSent()).length;
  await load.reach(load.created() + PAYOUTS_AFTER);
  await waitFor(async () => (await listSent()).length >= sent_at_backup + 2, MOVED_MS);
  const stopped = load.stop();
  await first.drop();
  await Promise.all([stopped, server.close()]);
  const sent_before = await listSent();

  const db = await newDatabase();
  const restored_dir = await newDirectory();
  await restore(configOf(restored_dir, settings()), db, file);
  // Deposit addresses that were issued since then must not be issued again.
  const skip = ["wallet", "skip", "100", "--reason", "restored"];
  const of_restored = { DATABASE_URL: db.url, SLIPROAD_DATA_DIR: restored_dir };
  const skipped = await runCommand(skip, { ...settings(), ...of_restored });
  expect(skipped.code, skipped.stderr).toBe(0);
  server = await startTestServer({
    environment: settings(),
    beside: { db, data_dir: restored_dir, key },
  });
  const { core } = server;
  const { holds } = await readStatus(core);
  expect(holds.map(({ reason }) => reason)).toEqual([
    `The database was restored from the backup of ${head.created_at}.`,
  ]);
  expect((await server.call("GET", "/readyz")).body.notices).toContain(
    "Payouts are on hold; see sliproad payouts status.",
  );
  await expect(releaseAll(core, { reason: "too early", anyway: false })).rejects.toThrow(
    "Payouts stay on hold",
  );

  // The bank has what was sent; its statements are read before the release.
  const lines = await book(sent_before);
  const dayNeeded = async (name: string) => {
    const { unread } = await readStatus(core);
    const sentence = unread.find((one) => one.startsWith(`No statement of ${name}`));
    return /one of (\S+) or later is needed/.exec(sentence ?? "")![1];
  };
  const [eur_day, usd_day] = [await dayNeeded(EUR_ACCOUNT.name), await dayNeeded(USD_ACCOUNT.name)];
  const cents = sent_before.reduce((sum, { amount }) => sum + BigInt(amount.replace(".", "")), 0n);
  const booked = { account: EUR_ACCOUNT.iban, lines, balance: OPENING - cents };
  await home.receiveFile(dayStatement(booked, "EUR", eur_day));
  const empty = { account: USD_ACCOUNT.number, lines: [], balance: OPENING };
  await home.receiveFile(dayStatement(empty, "USD", usd_day));
  await waitFor(async () => {
    await home.chain.node.mine();
    return (await readStatus(core)).unread.length === 0;
  }, MOVED_MS);
  await closeWindows(db.database);
  expect(await listSent()).toEqual(sent_before);
  expect(await releaseAll(core, { reason: "all read", anyway: false })).toEqual({ was_held: true });

  // What had not left leaves now, once; the bank books it too.
  const known = new Set(sent_before.map(({ id }) => id));
  await waitFor(async () => {
    await home.chain.node.mine();
    await closeWindows(db.database);
    const fresh = (await listSent()).filter(({ id }) => !known.has(id));
    for (const { id } of fresh) known.add(id);
    await book(fresh);
    const open = await core.database.query("select from payouts where status <> 'booked'");
    const waiting = await core.database.query(
      "select from offramps where status in ('funded', 'sending_fiat')",
    );
    return open.length + waiting.length === 0;
  }, MOVED_MS);
  const sent = (await listSent()).map(({ id }) => id);
  expect(new Set(sent).size).toBe(sent.length);
  const payouts = await core.database.query<{ end_to_end_id: string }>(
    "select end_to_end_id from payouts",
  );
  expect(payouts.length).toBeGreaterThanOrEqual(PAYOUTS_BEFORE);
  for (const { end_to_end_id } of payouts) expect(sent).toContain(end_to_end_id);
  // What was created after the backup is lost here, but not to the bank, nor to the operator.
  expect(payouts.length).toBeLessThan(sent.length);

  expect(await findFault(server)).toBeNull();
  const signing_key = signingKey(signingSeed(core.config));
  const anchors = (given: readonly string[]) =>
    verifyAnchors(core.database, signing_key, anchorsOf(given));
  expect(await anchors(sealed_before)).toBeNull();
  expect(await anchors(log)).toMatch(/it was sealed and is missing|it differs from the block/);
  await server.close();
}, 600_000);
