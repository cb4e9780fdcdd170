import { createHmac, randomBytes } from "node:crypto";
import { mkdir, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { loadBanks } from "../../../src/partners/bank/file-bank/load-banks.ts";
import type { SftpServer } from "../../../src/partners/bank/file-bank/model.ts";
import {
  downloadReports,
  newFetchState,
} from "../../../src/partners/bank/file-bank/transfer/download-reports.ts";
import { requireSpace } from "../../../src/partners/bank/file-bank/transfer/fetch-file.ts";
import { findHostKeys } from "../../../src/partners/bank/file-bank/transfer/known-hosts.ts";
import { withSftp } from "../../../src/partners/bank/file-bank/transfer/sftp-session.ts";
import { DAY_MS } from "../../../src/platform/durations.ts";
import { SEPA_ACCOUNT } from "./banks-file.ts";
import { dyingAt, isCrash } from "./dying-database.ts";
import {
  AFTER_FIRST,
  bankAccount,
  type FileBankFixture,
  MORNING,
  openFileBankFixture,
} from "./file-bank-fixture.ts";
import { newHostKey, type SftpTestServer, startSftpServer } from "./sftp-server.ts";

const PASSWORD = "correct horse";
/** Dozens of connections, each of which takes a second on a busy machine. */
const LONG = { timeout: 300_000 };
const host_key = newHostKey();
let bank: FileBankFixture;
let sftp: SftpTestServer;
let server: SftpServer;
let [uploads, reports, inbox] = ["", "", ""];

beforeAll(async () => {
  bank = await openFileBankFixture((folder) => [bankAccount(join(folder, "unused"))]);
  const root = join(bank.folder, "server");
  [uploads, reports, inbox] = [join(root, "in"), join(root, "out"), join(bank.folder, "inbox")];
  await mkdir(root);
  sftp = await startSftpServer(root, host_key.pem, PASSWORD);
  const [password_file, known_hosts_file] = ["password", "known_hosts"].map((name) =>
    join(bank.folder, name),
  ) as [string, string];
  await writeFile(password_file, `${PASSWORD}\n`);
  await writeFile(known_hosts_file, `[127.0.0.1]:${sftp.port} ${host_key.line}\n`);
  const login = { user: "ramp", key_file: null, password_file, known_hosts_file };
  server = { host: "127.0.0.1", port: sftp.port, ...login };
  Object.assign(bank.deps.accounts[0]!, { outbox: "/in", server });
});
afterAll(async () => {
  await sftp.close();
  await bank.close();
});
beforeEach(async () => {
  await bank.clear();
  await bank.database.query("truncate bank_downloads");
  Object.assign(sftp.state, {
    break_at: null,
    refused: null,
    endless: null,
    said_sizes: {},
    endless_names: 0,
  });
  for (const folder of [uploads, reports, inbox]) {
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder);
  }
});

const listUploads = async () => (await readdir(uploads)).sort();
const isBroken = (error: unknown) => {
  expect(String(error)).toMatch(/closed|reset|ended|not connected|No response/i);
  return true;
};

describe("files for a bank by SFTP", () => {
  it("are uploaded under a temporary name, and renamed", async () => {
    const payment = bank.instruction();
    await bank.submit(payment);
    await bank.run(AFTER_FIRST);
    const names = await listUploads();
    expect(names).toEqual([expect.stringMatching(/^sepa-[0-9a-f]{32}\.xml$/)]);
    const xml = await readFile(join(uploads, names[0]!), "utf8");
    expect(xml).toContain(payment.end_to_end_id);
    expect(xml.trimEnd().endsWith("</Document>")).toBe(true);
  });

  for (const at of ["open", "write", "close", "rename"] as const) {
    for (const is_done of [false, true]) {
      const moment = is_done ? "after" : "before";
      it(`a connection that breaks ${moment} ${at}: one file, whole, under one name`, async () => {
        const payments = [bank.instruction(), bank.instruction()];
        await bank.submit(...payments);
        sftp.state.break_at = { at, is_done };
        const has_failed = await bank.run(AFTER_FIRST).then(() => false, isBroken);
        expect(has_failed).toBe(true);
        const taken: string[] = [];
        /** The bank empties the directory whenever it looks. */
        const take = async () => {
          for (const name of (await listUploads()).filter((one) => !one.startsWith("."))) {
            taken.push(`${name}\n${await readFile(join(uploads, name), "utf8")}`);
            await rm(join(uploads, name));
          }
        };
        await take();
        for (let run = 0; run < 2; run += 1) {
          await bank.run(AFTER_FIRST);
          await take();
        }
        expect(taken).toHaveLength(1);
        for (const { end_to_end_id } of payments) expect(taken[0]).toContain(end_to_end_id);
        expect(taken[0]!.trimEnd().endsWith("</Document>")).toBe(true);
        expect(await listUploads()).toEqual([]);
      });
    }
  }

  it(
    "a process that dies after any call of the database: one file under one name",
    LONG,
    async () => {
      let has_died = true;
      for (let calls = 1; has_died; calls += 1) {
        await bank.clear();
        const payment = bank.instruction();
        await bank.submit(payment);
        const dying = dyingAt(bank.database, calls, "after");
        has_died = await bank.run(AFTER_FIRST, dying).then(() => false, isCrash);
        const first = (await listUploads()).filter((name) => !name.startsWith("."));
        for (const name of first) await rm(join(uploads, name));
        await bank.run(AFTER_FIRST);
        const second = await listUploads();
        expect([...first, ...second]).toHaveLength(1);
        for (const name of second) await rm(join(uploads, name));
      }
    },
  );
});

describe("the key of the server", () => {
  const reach = (known: string, change: Partial<SftpServer> = {}) =>
    writeFile(join(bank.folder, "other_hosts"), known).then(() =>
      withSftp(
        { ...server, ...change, known_hosts_file: join(bank.folder, "other_hosts") },
        (session) => session.list("/in"),
      ),
    );

  it("unknown or changed, nothing is sent, also no password", async () => {
    const name = `[127.0.0.1]:${sftp.port}`;
    await expect(reach("")).rejects.toThrow("its key is not in");
    await expect(reach(`127.0.0.1 ${host_key.line}\n`)).rejects.toThrow("its key is not in");
    await expect(reach(`@revoked ${name} ${host_key.line}\n`)).rejects.toThrow("not in");
    const before = sftp.state.requests;
    await expect(reach(`${name} ${newHostKey().line}\n`)).rejects.toThrow("is another one than");
    expect(sftp.state.requests).toBe(before);
    expect(await reach(`# bank\n${name} ${newHostKey().line}\n${name} ${host_key.line}\n`)).toEqual(
      [],
    );
  });

  it("is also found by a hashed name", async () => {
    const salt = randomBytes(20);
    const name = `[127.0.0.1]:${sftp.port}`;
    const hash = createHmac("sha1", salt).update(name).digest("base64");
    expect(await reach(`|1|${salt.toString("base64")}|${hash} ${host_key.line}\n`)).toEqual([]);
    expect(findHostKeys(`bank.example,10.0.0.1 ${host_key.line}`, "BANK.example", 22)).toHaveLength(
      1,
    );
  });

  it("a wrong password is refused", async () => {
    await writeFile(join(bank.folder, "wrong"), "wrong");
    const known = `[127.0.0.1]:${sftp.port} ${host_key.line}\n`;
    const change = { password_file: join(bank.folder, "wrong") };
    await expect(reach(known, change)).rejects.toThrow("authentication");
  });
});

describe("reports of a bank by SFTP", () => {
  const source = (change = {}) => ({
    ...{ name: "bank-a", server, folder: "/out", is_removed: false, ...change },
  });
  const put = async (name: string, text: string) => {
    await writeFile(join(reports, name), text);
    await utimes(join(reports, name), MORNING, MORNING);
  };
  const listInbox = async () => (await readdir(inbox)).sort();

  it("are fetched once, when they have stopped growing, and again if they changed", async () => {
    const state = newFetchState();
    const fetch = () => downloadReports(bank.database, source(), inbox, state, AFTER_FIRST);
    await put("a.xml", "<half");
    await put(".hidden", "no");
    await mkdir(join(reports, "folder"));
    await fetch();
    expect(await listInbox()).toEqual([]);
    const large = `<whole>${"x".repeat(100_000)}</whole>`;
    await put("a.xml", large);
    await fetch();
    expect(await listInbox()).toEqual([]);
    await fetch();
    const [name] = await listInbox();
    expect(name).toMatch(/^bank-a-\d+-a\.xml$/);
    expect(await readFile(join(inbox, name!), "utf8")).toBe(large);
    await rm(join(inbox, name!));
    for (let run = 0; run < 3; run += 1) await fetch();
    expect(await listInbox()).toEqual([]);
    expect(await readdir(reports)).toContain("a.xml");
    await put("a.xml", "<new/>");
    for (let run = 0; run < 2; run += 1) await fetch();
    expect(await listInbox()).toHaveLength(1);
  });

  it("one that cannot be fetched delays no other, is tried again and reported", async () => {
    const long_name = `${"b".repeat(250)}.xml`;
    const names = ["a.xml", long_name, "c.xml", "d.xml"];
    const state = newFetchState(names.map((name) => [name, 4]));
    const fetch = () => downloadReports(bank.database, source(), inbox, state, AFTER_FIRST);
    for (const name of names) await put(name, "<x/>");
    sftp.state.refused = "/out/c.xml";
    await expect(fetch()).rejects.toThrow("cannot fetch 2 of 4 files; first bbb");
    const listFetched = async () => (await listInbox()).filter((name) => !name.startsWith("."));
    expect(await listFetched()).toEqual([
      expect.stringMatching(/^bank-a-\d+-a\.xml$/),
      expect.stringMatching(/^bank-a-\d+-d\.xml$/),
    ]);
    sftp.state.refused = null;
    await rm(join(reports, long_name));
    await fetch();
    expect(await listFetched()).toHaveLength(3);
  });

  it("a file that is longer than the server said is not read to its end", async () => {
    const state = newFetchState([["a.xml", 4]]);
    await put("a.xml", "<x/>");
    sftp.state.endless = "/out/a.xml";
    const fetch = () => downloadReports(bank.database, source(), inbox, state, AFTER_FIRST);
    await expect(fetch()).rejects.toThrow("a.xml: it changed while it was fetched");
    expect(await listInbox()).toEqual([]);
    sftp.state.endless = null;
    await fetch();
    expect((await listInbox()).filter((name) => !name.startsWith("."))).toHaveLength(1);
  });

  it("a connection that breaks leaves nothing half in the inbox, and loses nothing", async () => {
    const state = newFetchState([["a.xml", 200_000]]);
    const fetch = () =>
      downloadReports(bank.database, source({ is_removed: true }), inbox, state, AFTER_FIRST);
    await put("a.xml", "y".repeat(200_000));
    for (const at of ["readdir", "open", "read", "remove"] as const) {
      sftp.state.break_at = { at, is_done: true };
      expect(await fetch().then(() => false, isBroken)).toBe(true);
      for (const name of (await listInbox()).filter((one) => !one.startsWith("."))) {
        expect((await readFile(join(inbox, name))).length).toBe(200_000);
      }
    }
    await fetch();
    expect((await listInbox()).filter((name) => !name.startsWith("."))).toHaveLength(1);
    expect(await readdir(reports)).toEqual([]);
  });
});

describe("a bank's server that wants to fill our disk and memory", () => {
  const source = () => ({ name: "bank-a", server, folder: "/out", is_removed: false });
  const put = (name: string) => writeFile(join(reports, name), "<x/>");

  it("a file that it says is larger than any report is not fetched, and delays no other", async () => {
    const size = 513 * 1024 ** 2;
    for (const name of ["a.xml", "b.xml"]) await put(name);
    sftp.state.said_sizes = { "a.xml": size };
    sftp.state.endless = "/out/a.xml";
    const state = newFetchState([
      ["a.xml", size],
      ["b.xml", 4],
    ]);
    const fetch = () => downloadReports(bank.database, source(), inbox, state, AFTER_FIRST);
    await expect(fetch()).rejects.toThrow(
      `cannot fetch 1 of 2 files; first a.xml: the server says that it has ${size} bytes; at most`,
    );
    expect(await readdir(inbox)).toEqual([expect.stringMatching(/-b\.xml$/)]);
  });

  it("an endless listing is not read to its end", LONG, async () => {
    sftp.state.endless_names = 500;
    const before = sftp.state.requests;
    const fetch = downloadReports(bank.database, source(), inbox, newFetchState(), AFTER_FIRST);
    await expect(fetch).rejects.toThrow("/out has more than 50000 names: it is not read");
    expect(sftp.state.requests - before).toBeLessThan(110);
  });

  it("more than a day's bytes wait until tomorrow", async () => {
    await put("a.xml");
    const state = newFetchState([["a.xml", 4]]);
    const day = Math.floor(AFTER_FIRST.getTime() / DAY_MS);
    Object.assign(state, { day, day_bytes: 4 * 1024 ** 3 - 3 });
    const fetch = (now: Date) => downloadReports(bank.database, source(), inbox, state, now);
    await expect(fetch(AFTER_FIRST)).rejects.toThrow("bytes were fetched today, of at most");
    expect(await readdir(inbox)).toEqual([]);
    await fetch(new Date(AFTER_FIRST.getTime() + DAY_MS));
    expect(await readdir(inbox)).toHaveLength(1);
    expect(state.day_bytes).toBe(4);
  });

  it("a part of the disk stays free", async () => {
    await requireSpace(inbox, 4);
    await expect(requireSpace(inbox, 2 ** 52)).rejects.toThrow("the disk of the inbox has");
  });

  it("nothing half fetched stays, also of a process that was killed", async () => {
    await writeFile(join(inbox, ".bank-a~x.xml.part"), "half");
    await writeFile(join(inbox, ".bank-a-b~x.xml.part"), "of another server");
    await put("a.xml");
    sftp.state.endless = "/out/a.xml";
    const state = newFetchState([["a.xml", 4]]);
    const fetch = downloadReports(bank.database, source(), inbox, state, AFTER_FIRST);
    await expect(fetch).rejects.toThrow("it changed");
    expect(await readdir(inbox)).toEqual([".bank-a-b~x.xml.part"]);
  });

  it("a file that ends the session is tried after the others", async () => {
    for (const name of ["a.xml", "b.xml"]) await put(name);
    const state = newFetchState([
      ["a.xml", 4],
      ["b.xml", 4],
    ]);
    const fetch = () => downloadReports(bank.database, source(), inbox, state, AFTER_FIRST);
    for (let run = 0; run < 2; run += 1) {
      sftp.state.break_at = { at: "read", is_done: false };
      expect(await fetch().then(() => false, isBroken)).toBe(true);
    }
    // Both failed once; a third failure is of the first again.
    expect(Object.fromEntries(state.failures)).toEqual({ "a.xml": 1, "b.xml": 1 });
    await fetch();
    expect(await readdir(inbox)).toHaveLength(2);
    expect(state.failures.size).toBe(0);
  });
});

describe("the servers of the banks file", () => {
  const load = (change: object, account: object = {}) =>
    loadBanks(
      JSON.stringify({
        inbox: "in",
        servers: { "bank-a": { ...server, key_file: undefined, reports: "/out/", ...change } },
        accounts: { "main-eur": { ...SEPA_ACCOUNT, server: "bank-a", outbox: "/in", ...account } },
      }),
    );

  it("are named by accounts, and say where reports are", () => {
    const { accounts, sources } = load({});
    expect(accounts[0]).toMatchObject({ outbox: "/in", server: { host: "127.0.0.1" } });
    expect(sources).toMatchObject([{ name: "bank-a", folder: "/out", is_removed: false }]);
  });

  it.each([
    ["an unknown server", {}, { server: "bank-b" }, "server must be the name of one of servers"],
    ["a server without a known key", { host: "other.example" }, {}, "has no key of other.example"],
    ["no way to sign in", { password_file: undefined }, {}, "must have a key_file or a password"],
    ["no port", { port: 0 }, {}, "servers.bank-a.port must be a port"],
    ["no file", { known_hosts_file: "/absent" }, {}, "ENOENT"],
  ])("%s is refused", (_, change, account, message) => {
    expect(() => load(change, account)).toThrow(message);
  });
});
