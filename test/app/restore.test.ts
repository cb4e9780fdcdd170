import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { holdAll, readStatus, releaseAll } from "../../src/cli/payouts/actions.ts";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { TEST_TREASURY } from "../harness/evm/signer.ts";
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
import { findFault, good } from "../offramps/story.ts";
import { entry, statement } from "../partners/bank/report-texts.ts";
import { addPayout, waitForStatus } from "./funded-payout.ts";
import { dayStatement, OPENING } from "./live-story.ts";

const MOVED_MS = 60_000;

let home: LiveHome;
let data_dir: string;
let key: string | undefined;
const databases: TestDatabase[] = [];

beforeAll(async () => {
  home = await openLiveHome();
  data_dir = await mkdtemp(join(tmpdir(), "sliproad-data-"));
});
afterAll(async () => {
  for (const db of databases) await db.drop();
  await home.close();
  await rm(data_dir, { recursive: true });
});

async function open(copy_of?: TestDatabase): Promise<TestDatabase> {
  const db = await createTestDatabase(copy_of ? { copy_of } : {});
  databases.push(db);
  return db;
}

async function start(db: TestDatabase): Promise<TestServer> {
  const environment = {
    ...home.environment,
    ...STORY_SETTINGS,
  };
  const server = await startTestServer({
    environment,
    beside: { db, data_dir, ...(key ? { key } : {}) },
  });
  key = server.key;
  return server;
}

const countOf = async ({ database }: TestDatabase, table: string) =>
  (await database.query(`select from ${table}`)).length;
const countPayments = (db: TestDatabase) => countOf(db, "bank_payments");

it("a database that is restored pays nothing again that had left after the backup", async () => {
  const first = await open();
  let server = await start(first);
  // In a file that is not written when the backup is made.
  const filed = await addPayout(home, server, 100);
  await waitFor(async () => (await countPayments(first)) === 1);
  // Not even in a file.
  await holdAll(server.core, "before the backup");
  const waiting = await addPayout(home, server, 200);
  await server.close();
  const backup = await open(first);

  // It goes on: both leave, and the bank books them; a refund leaves on the chain.
  server = await start(first);
  await releaseAll(server.core, { reason: "go on", anyway: false });
  await waitFor(async () => (await countPayments(first)) === 2, MOVED_MS);
  await closeWindows(first.database);
  const files = await waitFor(async () => {
    const sent = await home.sentFiles();
    return sent.length > 0 && sent;
  });
  for (const { end_to_end_id } of [filed, waiting]) expect(files[0]!.text).toContain(end_to_end_id);
  const lines = [
    entry({ amount: "100.00", id: filed.end_to_end_id, day: today() }),
    entry({ amount: "200.00", id: waiting.end_to_end_id, day: today() }),
  ];
  await home.receiveFile(statement(lines, { type: "54" }));
  for (const payout of [filed, waiting]) await waitForStatus(server, payout, "fiat_sent");
  const refund = { token: "usdc", chain: "polygon", amount: 10, address: home.chain.node.account };
  good(await server.call("POST", `/users/${filed.user_id}/refunds`, { refund }));
  await waitFor(async () => {
    const { refunds } = good(await server.call("GET", `/users/${filed.user_id}/refunds`));
    return refunds[0].status === "sent";
  }, MOVED_MS);
  await server.close();

  // The backup is restored.
  server = await start(backup);
  const { core } = server;
  const status = await readStatus(core);
  expect(status.holds.map(({ kind }) => kind)).toEqual(["restore", "operator"]);
  expect(status.unread.join(" ")).toContain("polygon has been read only until");
  await expect(releaseAll(core, { reason: "too early", anyway: false })).rejects.toThrow(
    "Payouts stay on hold: polygon has been read only until",
  );
  // The report, which this database has not read, is read again. It may not be all of the day's:
  // only a statement of the day on which the last file is carried out says that nothing follows.
  const dayNeeded = async (name: string) => {
    const { unread } = await readStatus(core);
    const sentence = unread.find((one) => one.startsWith(`No statement of ${name}`));
    return /one of (\S+) or later is needed/.exec(sentence ?? "")?.[1];
  };
  await waitFor(async () => (await countOf(backup, "bank_lines")) === 2);
  const days = [await dayNeeded(EUR_ACCOUNT.name), await dayNeeded(USD_ACCOUNT.name)];
  expect(days.map((day) => day! >= today())).toEqual([true, true]);
  // Files of ACH are carried out a banking day later, by the bank's calendar.
  const bank_day = Temporal.Now.plainDateISO("America/New_York").toString();
  expect(days[1]! > bank_day).toBe(true);
  const empty = { account: USD_ACCOUNT.number, lines: [], balance: OPENING };
  await home.receiveFile(dayStatement(empty, "USD", bank_day));
  await waitFor(async () => (await countOf(backup, "bank_statements")) === 1);
  expect(await dayNeeded(USD_ACCOUNT.name)).toBe(days[1]);
  await home.receiveFile(dayStatement(empty, "USD", days[1]));
  const booked = { account: EUR_ACCOUNT.iban, lines, balance: OPENING - 300_00n };
  await home.receiveFile(dayStatement(booked, "EUR", days[0]));
  await waitFor(async () => {
    await home.chain.node.mine();
    return (await readStatus(core)).unread.length === 0;
  }, MOVED_MS);
  await closeWindows(backup.database);
  expect(await releaseAll(core, { reason: "all read", anyway: false })).toEqual({ was_held: true });
  for (const payout of [filed, waiting]) await waitForStatus(server, payout, "fiat_sent");
  await waitFor(async () => {
    const open_files = "select from bank_files where state <> 'written'";
    return (await core.database.query(open_files)).length === 0;
  });
  expect(await home.sentFiles()).toEqual(files);

  // The chain has a transaction that this database does not know: nobody sends until it is clear.
  const [sender] = await waitFor(async () => {
    const found = await core.database.query<{ state: string }>(
      "select state from evm_senders where address = $1 and state = 'stopped'",
      [TEST_TREASURY],
    );
    return found.length > 0 && found;
  }, MOVED_MS);
  expect(sender).toEqual({ state: "stopped" });

  // A payment that was recognised can come back like any other.
  await home.receiveFile(
    statement(
      [
        entry({
          ...{ amount: "200.00", credit: true, id: waiting.end_to_end_id, day: today() },
          details: "<RtrInf><Rsn><Cd>AC04</Cd></Rsn></RtrInf>",
        }),
      ],
      { type: "54" },
    ),
  );
  await waitForStatus(server, waiting, "bounced");
  expect(await findFault(server)).toBeNull();
  await server.close();
}, 240_000);
