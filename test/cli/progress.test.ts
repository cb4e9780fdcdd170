import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openColours } from "../../src/cli/colours.ts";
import { openProgress } from "../../src/cli/progress.ts";
import { migrate } from "../../src/platform/db/migrate.ts";
import { rotateEncryption } from "../../src/platform/encryption/rotate-encryption.ts";
import { signingKey } from "../../src/platform/sealing/seal.ts";
import { signingSeed } from "../../src/platform/sealing/signing-seed.ts";
import { realTime } from "../../src/platform/tasks/real-time.ts";
import { type VerifyProgress, verify } from "../../src/verify/verify.ts";
import { runCommand } from "../harness/command-line.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";

function terminal(isTTY: boolean) {
  const written: string[] = [];
  return { isTTY, columns: 40, written, write: (text: string) => written.push(text) };
}

const STATE = {
  done: 3,
  total: 6,
  unit: "accounts",
  note: "120 pages of everything that was read",
};

describe("a line of progress", () => {
  it("is drawn on a terminal, cut to its width, and removed at the end", () => {
    const screen = terminal(true);
    const progress = openProgress({}, screen);
    progress.show(STATE);
    progress.end();
    expect(screen.written).toEqual([
      "\r\u001b[2K[############------------] 3 of 6 accou",
      "\r\u001b[2K",
    ]);
  });

  it("is not drawn without a terminal, nor with --json", () => {
    const file = terminal(false);
    const screen = terminal(true);
    for (const progress of [openProgress({}, file), openProgress({ json: true }, screen)]) {
      progress.show(STATE);
      progress.end();
      expect(progress.is_seen).toBe(false);
    }
    expect([...file.written, ...screen.written]).toEqual([]);
  });
});

describe("colours", () => {
  it("are used on a terminal, unless disabled", () => {
    const paintings = [
      openColours({ isTTY: true }, {}),
      openColours({ isTTY: false }, {}),
      openColours({ isTTY: true }, { NO_COLOR: "1" }),
      openColours({ isTTY: true }, { TERM: "dumb" }),
    ];
    expect(paintings.map((paint) => paint("green", "ok"))).toEqual([
      "\u001b[32mok\u001b[39m",
      ...["ok", "ok", "ok"],
    ]);
  });
});

describe("long work reports its progress", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startTestServer();
    await server.addAccount("Second");
  });
  afterAll(() => server.close());

  it("verify: accounts and pages", async () => {
    const { core } = server;
    const reported: VerifyProgress[] = [];
    const result = await verify(core.database, signingKey(signingSeed(core.config)), {
      now: core.clock.now(),
      real_now: realTime(core.clock),
      keyring: core.keyring,
      onProgress: (progress) => reported.push(progress),
    });
    expect(result).toEqual({
      accounts: 2,
      fault: null,
      has_checked_macs: true,
      archives_unread: 0,
    });
    expect(reported[0]).toEqual({ accounts_done: 0, accounts: 2, pages: 1 });
    expect(reported.at(-1)).toEqual({ accounts_done: 2, accounts: 2, pages: reported.length });
  });

  it("keys rotate-encryption: account keys", async () => {
    const { database, masters, config } = server.core;
    const reported: { done: number; total: number }[] = [];
    await rotateEncryption(database, masters, config, (progress) => reported.push(progress));
    expect(reported).toEqual([
      { done: 0, total: 2 },
      { done: 2, total: 2 },
    ]);
  });

  it("migrate: migrations by name", async () => {
    const { database } = server.core;
    const reported: unknown[] = [];
    const directory = await mkdtemp(join(tmpdir(), "sliproad-migrations-"));
    const migrateFrom = () =>
      migrate(database, () => new Date(), {
        directory,
        onMigration: (progress) => reported.push(progress),
      });
    await cp(join(import.meta.dirname, "../../migrations"), directory, { recursive: true });
    await migrateFrom();
    expect(reported).toEqual([]);
    const name = "9999_create_more.sql";
    await writeFile(join(directory, name), "create table more (id int)");
    await migrateFrom();
    expect(reported).toEqual([{ done: 0, total: 1, name }]);
    // The commands of the tests below know nothing of it.
    await database.query("delete from migrations where name = $1", [name]);
    await rm(directory, { recursive: true });
  });

  it("prints no progress without a terminal", async () => {
    const environment = { DATABASE_URL: server.db.url, SLIPROAD_DATA_DIR: server.data_dir };
    const ended = await runCommand(["verify"], environment);
    expect(ended).toEqual({
      code: 0,
      stdout: "Verified 2 accounts: no problems found.\n",
      stderr: "",
    });
  });
});
