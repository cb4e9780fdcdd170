import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runCommand, startCommand } from "../harness/command-line.ts";
import { type Receiver, startReceiver } from "../harness/receiver.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";
import { deposit, good, openStory, settle } from "../offramps/story.ts";
import { addApp, advance, DAY_MS } from "../webhooks/webhook-fixture.ts";

const PROGRAM = join(import.meta.dirname, "../../bin/sliproad");

let server: TestServer;
let receiver: Receiver;
let directory: string;
beforeAll(async () => {
  const environment = { SLIPROAD_RETENTION: "archive", SLIPROAD_DOCUMENTS: "never" };
  server = await startTestServer({ environment });
  receiver = await startReceiver();
  directory = await mkdtemp(join(tmpdir(), "sliproad-archives-"));
  await addApp(server, { webhook_url: receiver.url, events: ["offramp_update"] });
});
afterAll(async () => {
  await server.close();
  await receiver.close();
  await rm(directory, { recursive: true, force: true });
});

const environment = (settings: Record<string, string> = {}) => ({
  DATABASE_URL: server.db.url,
  SLIPROAD_DATA_DIR: server.data_dir,
  SLIPROAD_RETENTION: "archive",
  ...settings,
});
const run = (args: string[], settings?: Record<string, string>) =>
  runCommand(args, environment(settings));

/** A payout whose webhook data is past its retention. */
async function pay(): Promise<void> {
  const story = await openStory(server);
  await deposit(server, { quote_id: story.quote_id, amount: await story.total() });
  good(await story.execute());
  await story.waitForStatus("fiat_sent");
  await settle(server);
  await advance(server, 100 * DAY_MS);
}

async function listFiles(): Promise<string[]> {
  const names = await readdir(directory, { recursive: true });
  return names.filter((name) => name.endsWith(".archive")).toSorted();
}

describe("sliproad archive", { timeout: 120_000 }, () => {
  it("needs SLIPROAD_RETENTION=archive and a directory", async () => {
    const deleting = await run(["archive", "--to", directory], { SLIPROAD_RETENTION: "delete" });
    expect(deleting).toMatchObject({ code: 1, stdout: "" });
    expect(deleting.stderr).toMatch(/^sliproad: SLIPROAD_RETENTION is delete: .*\.\n$/);
    const nowhere = await run(["archive"]);
    expect(nowhere.stderr).toBe("sliproad: Pass --to and a directory, or --show and a file.\n");
  });

  it("writes files, which verify reads and --show prints", async () => {
    await pay();
    const written = await run(["archive", "--to", directory]);
    expect(written.stdout).toMatch(/^Moved \d+ rows into 2 files in .*, 0\.0 MB\.\n$/);
    expect((await run(["archive", "--to", directory])).stdout).toBe(
      "Nothing is past its retention.\n",
    );
    const unread = await run(["verify"]);
    expect(unread.stdout).toBe(
      "Verified 1 account: no problems found.\n" +
        "2 files of archived data were not read: pass --archives <directory>.\n",
    );
    const read = await run(["verify", "--archives", directory]);
    expect(read.stdout).toBe("Verified 1 account: no problems found.\n");
    const without_keys = await run(["verify", "--without-keys", "--archives", directory]);
    expect(without_keys.stderr).toBe("");
    expect(without_keys.stdout).toContain("no problems found");
    const [events, deliveries] = await listFiles();
    const shown = await run(["archive", "--show", join(directory, deliveries!)]);
    const rows = shown.stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(rows[0]).toMatchObject({ name: "offramp_update", status: "delivered", log: [] });
    // Bodies have personal data, which no other command may print.
    const args = [PROGRAM, "archive", "--json", "--show", join(directory, events!)];
    const env = { ...process.env, ...environment() };
    const { stdout } = await promisify(execFile)(process.execPath, args, { env });
    const bodies = JSON.parse(stdout).rows.map(({ body }: { body: unknown }) => body);
    expect(bodies.length).toBeGreaterThan(3);
    expect(bodies.every((body: unknown) => typeof body === "object" && body !== null)).toBe(true);
  });

  it("a changed file is named by verify, and not shown", async () => {
    const [name] = await listFiles();
    const path = join(directory, name!);
    const bytes = await readFile(path);
    await writeFile(path, Buffer.concat([bytes.subarray(0, -1), Buffer.from([0])]));
    const verified = await run(["verify", "--archives", directory]);
    expect(verified.code).toBe(1);
    expect(verified.stdout).toContain(name);
    expect(verified.stdout).toContain("its file was changed");
    const shown = await run(["archive", "--show", path]);
    expect(shown.stderr).toMatch(/^sliproad: .* cannot be shown: its rows .*\.\n$/);
    await writeFile(path, bytes);
    expect((await run(["verify", "--archives", directory])).code).toBe(0);
  });

  it("killed as soon as there is another file, it goes on where it was", async () => {
    const { database } = server.db;
    const count = async (text: string) => {
      const query = `select count(*)::integer as count from ${text}`;
      return (await database.query<{ count: number }>(query))[0]!.count;
    };
    const before = (await listFiles()).length;
    await pay();
    const old =
      (await count("events where body is not null")) + (await count("webhook_deliveries"));
    const { child, ended } = startCommand(["archive", "--to", directory], environment());
    await waitFor(async () => (await listFiles()).length > before);
    child.kill("SIGKILL");
    await ended;
    await run(["archive", "--to", directory]);
    expect(await count("events where body is not null")).toBe(0);
    expect(await count("webhook_deliveries")).toBe(0);
    const [row] = await database.query<{ rows: number }>(
      "select sum(row_count)::integer as rows from archives where number > 1",
    );
    expect(row!.rows).toBe(old);
    expect((await run(["verify", "--archives", directory])).code).toBe(0);
  });
});
