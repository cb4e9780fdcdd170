import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { claimDataDir, readInstance } from "../../src/platform/instance.ts";
import { StartupError } from "../../src/platform/startup-error.ts";

const MODULE = new URL("../../src/platform/instance.ts", import.meta.url).href;
/** Prints the result of its claim and keeps it until its standard input ends. */
const CLAIMANT = `
  const { claimDataDir } = await import(${JSON.stringify(MODULE)});
  if (process.argv[2] === "nobody" && process.getuid() === 0) {
    process.setgroups([]); process.setgid(65534); process.setuid(65534);
  }
  console.log(await claimDataDir(process.argv[1]).then(() => "won", (e) => e.message));
  process.stdin.resume();`;

let outer: string;
let data_dir: string;
const children: ChildProcess[] = [];

beforeEach(async () => {
  outer = await mkdtemp(join(tmpdir(), "sliproad-instance-"));
  data_dir = join(outer, "data");
});

afterEach(async () => {
  await Promise.all(children.splice(0).map(end));
  await rm(outer, { recursive: true });
});

test("creates the directory, which other users cannot list", async () => {
  const claim = await claimDataDir(data_dir);
  const expected = process.getuid?.() === 0 ? 0o711 : 0o700;
  expect((await stat(data_dir)).mode & 0o777).toBe(expected);
  await claim.release();
});

test("shows the command line where the running instance is, until it is released", async () => {
  expect(await readInstance(data_dir)).toBe(null);
  const claim = await claimDataDir(data_dir);
  await claim.write({ database_url: "postgres://x", public_url: "http://127.0.0.1:4000" });
  expect(await readInstance(data_dir)).toMatchObject({
    pid: process.pid,
    database_url: "postgres://x",
    public_url: "http://127.0.0.1:4000",
  });
  expect((await stat(join(data_dir, "instance.json"))).mode & 0o777).toBe(0o600);
  await claim.release();
  await claim.release();
  expect(await readInstance(data_dir)).toBe(null);
  expect(await readdir(data_dir)).toEqual([]);
});

test("refuses with one sentence while another process owns the directory", async () => {
  const owner = await claimant();
  expect(owner.said).toBe("won");
  const refusal = await claimDataDir(data_dir).catch((error) => error);
  expect(refusal).toBeInstanceOf(StartupError);
  expect(refusal.message).toContain(`already running on the data directory ${data_dir}`);
  expect(refusal.message).toContain(`process ${owner.child.pid}`);
});

test("refuses a second claim of the same process", async () => {
  const claim = await claimDataDir(data_dir);
  await expect(claimDataDir(data_dir)).rejects.toThrow(/already running/);
  await claim.release();
  await (await claimDataDir(data_dir)).release();
});

test("takes over from an owner that was killed", async () => {
  const owner = await claimant();
  expect(owner.said).toBe("won");
  expect((await readInstance(data_dir))?.pid).toBe(owner.child.pid);
  owner.child.kill("SIGKILL");
  await once(owner.child, "exit");
  expect(await readInstance(data_dir)).toBe(null);
  const claim = await claimDataDir(data_dir);
  expect((await readInstance(data_dir))?.pid).toBe(process.pid);
  await claim.release();
});

if (process.platform !== "win32") {
  test("takes over if the dead owner's pid now belongs to another process", async () => {
    const claim = await claimDataDir(data_dir);
    const file = join(data_dir, "instance.json");
    const info = JSON.parse(await readFile(file, "utf8"));
    await claim.release();
    await writeFile(file, JSON.stringify({ ...info, started: "0.1" }));
    expect(await readInstance(data_dir)).toBe(null);
    await (await claimDataDir(data_dir)).release();
  });
}

test("deletes a claim left by a killed starter", async () => {
  await (await claimDataDir(data_dir)).release();
  await writeFile(join(data_dir, "instance.claim-999999999-0.1"), "");
  await (await claimDataDir(data_dir)).release();
  expect(await readdir(data_dir)).toEqual([]);
});

test("lets exactly one of several concurrent starters take over from a dead owner", async () => {
  await (await claimDataDir(data_dir)).release();
  const dead = { pid: 999_999_999, started: "0.1" };
  await writeFile(join(data_dir, "instance.json"), JSON.stringify(dead));
  const all = await Promise.all(Array.from({ length: 6 }, () => claimant()));
  expect(all.filter(({ said }) => said === "won")).toHaveLength(1);
  const winner = all.find(({ said }) => said === "won");
  expect((await readInstance(data_dir))?.pid).toBe(winner?.child.pid);
});

test("names the directory and the setting when the directory is not writable", async () => {
  await chmod(outer, 0o555);
  const { said } = await claimant("nobody");
  await chmod(outer, 0o755);
  expect(said).toBe(
    `The data directory ${data_dir} is not writable; set SLIPROAD_DATA_DIR to a directory that is.`,
  );
});

async function claimant(user = "same"): Promise<{ child: ChildProcess; said: string }> {
  const args = ["--input-type=module", "-e", CLAIMANT, "--", data_dir, user];
  const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
  children.push(child);
  const [line] = await once(child.stdout, "data");
  return { child, said: String(line).trim() };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.stdin?.end();
  await once(child, "exit");
}
