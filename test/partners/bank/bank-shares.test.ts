import { createHash } from "node:crypto";
import { mkdir, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openFileBanks } from "../../../src/partners/bank/file-bank/open.ts";
import { type InboxPauses, readInbox } from "../../../src/partners/bank/file-bank/read-inbox.ts";
import { withSftp } from "../../../src/partners/bank/file-bank/transfer/sftp-session.ts";
import type { Database } from "../../../src/platform/db/database.ts";
import { DAY_MS, SECOND_MS } from "../../../src/platform/durations.ts";
import { waitFor } from "../../harness/wait-for.ts";
import {
  ACH_PAYEE,
  AFTER_FIRST,
  achAccount,
  bankAccount,
  type FileBankFixture,
  MORNING,
  openFileBankFixture,
} from "./file-bank-fixture.ts";
import { entry, statement } from "./report-texts.ts";
import { newHostKey, type SftpTestServer, startSftpServer } from "./sftp-server.ts";

/** More than a run has ever taken of all banks together. */
const REFUSED_FILES = 21;

let bank: FileBankFixture;
let sftp: SftpTestServer;
let inbox = "";
let outbox = "";
const host_key = newHostKey();

beforeAll(async () => {
  bank = await openFileBankFixture((folder) => [
    bankAccount(join(folder, "refused")),
    achAccount(join(folder, "accepted")),
  ]);
  sftp = await startSftpServer(bank.folder, host_key.pem, "secret");
  await writeFile(join(bank.folder, "password"), "secret");
  const hosts = `[127.0.0.1]:${sftp.port} ${host_key.line}\n`;
  await writeFile(join(bank.folder, "known_hosts"), hosts);
});
afterAll(async () => {
  await sftp.close();
  await bank.close();
});
beforeEach(async () => {
  inbox = await bank.clearInbox();
  outbox = join(bank.folder, "accepted");
  await rm(outbox, { recursive: true, force: true });
  await mkdir(outbox);
});

const sftpServer = () => ({
  ...{ host: "127.0.0.1", port: sftp.port, user: "ramp", key_file: null },
  password_file: join(bank.folder, "password"),
  known_hosts_file: join(bank.folder, "known_hosts"),
});

/** Runs every task of the module that writes files, as the worker does; their errors. */
function startWriters(now: Date, accounts = bank.deps.accounts): Promise<string[]> {
  const core = { ...bank.deps, clock: { now: () => now }, findStopped: async () => new Set() };
  const banks = openFileBanks(core as never, { inbox, sources: [], accounts });
  const log = { info: () => {}, warn: () => {}, error: () => {} };
  const { tasks = [] } = banks.openModule(log as never);
  const writers = tasks.filter(({ kind }) => kind.startsWith("write-bank-files"));
  const set = { now, tasks: [], leavePlace: () => {}, repeatAll: async () => {} };
  const runs = writers.map(({ handle }) => handle(set as never).then(() => [], String));
  return Promise.all(runs).then((errors) => errors.flat());
}

const payUsd = () => bank.submit(bank.instruction(ACH_PAYEE));

describe("a bank that takes no files", () => {
  it("refuses 21 files, and another bank's file is written", async () => {
    for (let at = 0; at < REFUSED_FILES; at += 1) {
      bank.state.now = new Date(MORNING.getTime() + at * 7 * DAY_MS);
      await bank.submit(bank.instruction());
    }
    await payUsd();
    const later = new Date(bank.state.now.getTime() + 7 * DAY_MS);
    for (let run = 0; run < 2; run += 1) {
      expect((await startWriters(later)).join()).toContain("ENOENT");
    }
    const rows = await bank.database.query("select from bank_files where state = 'closed'");
    expect(rows).toHaveLength(REFUSED_FILES);
    expect(await readdir(outbox)).toEqual([expect.stringMatching(/^ach-.*\.ach$/)]);
  });

  it("hangs, and another bank's file is written meanwhile", async () => {
    await bank.submit(bank.instruction());
    await payUsd();
    sftp.state.is_hanging = true;
    const [eur, usd] = bank.deps.accounts;
    const accounts = [{ ...eur!, outbox: "/refused", server: sftpServer() }, usd!];
    const all = startWriters(AFTER_FIRST, accounts);
    await waitFor(async () => (await readdir(outbox)).some((name) => name.startsWith("ach-")));
    sftp.state.is_hanging = false;
    sftp.disconnect();
    expect((await all).join()).toContain("main-eur");
  });

  it("and one that is not in the banks file any more is named", async () => {
    await bank.submit(bank.instruction());
    const [, usd] = bank.deps.accounts;
    expect(await startWriters(AFTER_FIRST, [usd!])).toEqual([
      "Error: files for banks wait, but the banks file has no account main-eur",
    ]);
  });
});

describe("a session with a bank's server", () => {
  it("ends after its time, also if the server answers all along", async () => {
    const limit = { within_ms: 1_500 };
    sftp.state.is_hanging = true;
    const list = withSftp(sftpServer(), (session) => session.list("/"), limit);
    await expect(list).rejects.toThrow("was not finished within 2 seconds");
    sftp.state.is_hanging = false;
    const listForever = withSftp(
      sftpServer(),
      async (session) => {
        for (;;) await session.list("/");
      },
      limit,
    );
    await expect(listForever).rejects.toThrow("was not finished within 2 seconds");
  });
});

describe("the inbox that all banks share", () => {
  const credit = (at: number) =>
    statement([entry({ amount: `${at}.00`, credit: true, reference: `R${at}` })], { id: `S${at}` });
  const receive = async (name: string, text: string) => {
    await writeFile(join(inbox, name), text);
    await utimes(join(inbox, name), MORNING, MORNING);
  };
  const listAmounts = async () =>
    (await bank.bankOf().listCredits(null, 500)).credits.map(({ amount }) => Number(amount) / 100);
  const read = (at: number, database: Database = bank.database, pauses: InboxPauses = new Map()) =>
    readInbox({ ...bank.deps, database }, inbox, AFTER_FIRST, secondsLater(at), { pauses });
  const secondsLater = (seconds: number) => new Date(AFTER_FIRST.getTime() + seconds * SECOND_MS);

  it("has 101 files that can neither be read nor moved, and reads the one behind them", async () => {
    const digest = createHash("sha256").update("<Document>").digest("hex").slice(0, 16);
    for (let at = 100; at < 201; at += 1) {
      await receive(`a${at}.xml`, "<Document>");
      // Directories have the names that they would get.
      for (const start of ["", `${digest}-`]) {
        await mkdir(join(inbox, "set-aside", `${start}a${at}.xml`), { recursive: true });
      }
    }
    await receive("z.xml", credit(1));
    const pauses: InboxPauses = new Map();
    const first = await read(0, bank.database, pauses);
    expect(first).toHaveLength(100);
    expect(first[0]!.problem).toBe("The file cannot be opened or moved: EISDIR.");
    expect(await read(1, bank.database, pauses)).toHaveLength(1);
    expect(await listAmounts()).toEqual([1]);
    // Growing pauses: nothing is tried before they end, and the second is longer.
    expect(await read(2, bank.database, pauses)).toEqual([]);
    expect(await read(15, bank.database, pauses)).toHaveLength(100);
    expect(await read(26, bank.database, pauses)).toHaveLength(1);
    expect(await read(36, bank.database, pauses)).toHaveLength(100);
    for (const name of (await readdir(inbox)).filter((one) => one.startsWith("a"))) {
      await rm(join(inbox, name));
    }
    await read(37, bank.database, pauses);
    expect(pauses.size).toBe(0);
  });

  it("has a file that cannot be recorded, and records the one behind it", async () => {
    await receive("a.xml", credit(1));
    await receive("b.xml", credit(2));
    let transactions = 0;
    const failing: Database = {
      ...bank.database,
      transaction: async (work, options) => {
        transactions += 1;
        if (transactions === 1) throw new TypeError("nobody thought of this");
        return bank.database.transaction(work, options);
      },
    };
    await expect(read(0, failing)).rejects.toThrow(
      "cannot read 1 files of banks; first a.xml: TypeError: nobody thought of this",
    );
    expect(await listAmounts()).toEqual([2]);
  });

  it("takes a file of each server in turn", async () => {
    for (let at = 100; at < 220; at += 1) await receive(`bank-a-${at}.xml`, credit(at));
    await receive("bank-b-1.xml", credit(1));
    await receive("other.xml", credit(2));
    const sources = ["bank", "bank-a", "bank-b"];
    await readInbox(bank.deps, inbox, AFTER_FIRST, AFTER_FIRST, { sources });
    const amounts = await listAmounts();
    expect(amounts.slice(0, 4)).toEqual([100, 1, 2, 101]);
    expect(amounts).toHaveLength(100);
  });
});
