import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmod, mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openDatabase } from "../../src/platform/db/database.ts";
import { isRunning } from "../../src/platform/process-identity.ts";
import { type Running, runCommand, startCommand } from "../harness/command-line.ts";
import { waitFor } from "../harness/wait-for.ts";

// One installation with its embedded PostgreSQL, started, stopped and killed in turn: each test
// continues where the previous one ended.
const START_MAX_MS = 25_000;
const ANA = "ana.sample@example.com";

let data_dir: string;
let environment: Record<string, string>;
let running: Running | undefined;
let key: string;

beforeAll(async () => {
  data_dir = await mkdtemp(join(tmpdir(), "sliproad-start-"));
  // When root starts it, the database runs as another user, who needs access.
  await chmod(data_dir, 0o755);
  environment = { SLIPROAD_DATA_DIR: data_dir, PORT: String(await freePort()) };
});
afterAll(async () => {
  running?.child.kill("SIGKILL");
  await running?.ended;
  await endDatabase();
  await rm(data_dir, { recursive: true, force: true });
});

test("live mode without its settings is refused before anything is created, and names them", async () => {
  const random = () => randomBytes(32).toString("base64");
  const refused = await runCommand(["start"], {
    ...environment,
    ...{ SLIPROAD_MODE: "live", SLIPROAD_PUBLIC_URL: "https://ramp.example" },
    ...{ SLIPROAD_ENCRYPTION_KEY: random(), SLIPROAD_SIGNING_KEY: random() },
  });
  expect(refused).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^sliproad: Live mode does not start with .*\n- SLIPROAD_/),
  });
  expect(await readdir(data_dir)).toEqual([]);
});

test(
  "the first start prints the URL, where the secrets are, and a line that works when pasted",
  async () => {
    const { stdout, stderr } = await start();
    expect(stderr).toBe("");
    expect(stdout).toContain("Sliproad is ready (sandbox).");
    expect(stdout).toContain(`  Address    ${address()}\n`);
    // Its output is not a terminal, so it contains no secret.
    const secrets_file = join(data_dir, "first-start-secrets");
    expect(stdout).toContain(`  API key    in ${secrets_file}\n`);
    expect((await stat(secrets_file)).mode & 0o777).toBe(0o600);
    const secrets = await readFile(secrets_file, "utf8");
    key = /^SLIPROAD_API_KEY=(sk_test_[\w-]+)$/m.exec(secrets)![1]!;
    const password = /^SLIPROAD_ADMIN_PASSWORD=(.+)$/m.exec(secrets)![1]!;
    for (const secret of [key, password]) expect(stdout).not.toContain(secret);
    expect(await readFile(join(data_dir, "sandbox-api-key"), "utf8")).toBe(`${key}\n`);

    const pasted = stdout.slice(stdout.indexOf("  curl "), stdout.indexOf("}}'") + 3);
    const answer = await promisify(execFile)("sh", ["-c", `${pasted} --silent`]);
    expect(JSON.parse(answer.stdout).user).toMatchObject({ email: ANA, first_name: "Ana" });
    await waitFor(async () => (await fetch(`${address()}/readyz`)).status === 200);
  },
  START_MAX_MS,
);

test(
  "the other printed line, pasted, leads to fiat_sent",
  async () => {
    const pasted = /^ {2}(\S.* demo)$/m.exec(running!.printed().stdout)![1]!;
    const { stdout } = await promisify(execFile)("sh", ["-c", pasted]);
    expect(stdout).toMatch(/\nfiat_sent after \d+\.\d s\.\n/);
    expect(stdout).toContain("signature verified");
    expect(stdout).toMatch(/Books {6}6 balanced entries in the ledger/);
  },
  START_MAX_MS,
);

test("commands find the running installation in its data directory, and doctor checks it", async () => {
  const own = { SLIPROAD_DATA_DIR: data_dir };
  const [listed, doctor, second] = await Promise.all([
    runCommand(["keys", "list", "--json"], own),
    runCommand(["doctor", "--json"], own),
    runCommand(["start"], environment),
  ]);
  expect(JSON.parse(listed.stdout).api_keys).toHaveLength(1);
  expect(JSON.parse(doctor.stdout).findings).toContainEqual({
    check: "service",
    ok: true,
    finding: `ready at ${address()}`,
  });
  expect(second).toMatchObject({ code: 1, stdout: "" });
  expect(second.stderr).toMatch(/^sliproad: Sliproad is already running on the data directory /);
});

test(
  "SIGTERM lets a request in flight finish, then leaves no process behind",
  async () => {
    const { database_url } = JSON.parse(await readFile(join(data_dir, "instance.json"), "utf8"));
    const database = openDatabase({ url: database_url, connections_max: 2 });
    let posted!: Promise<Response>;
    await database.transaction(async (tx) => {
      await tx.query("lock table users in access exclusive mode");
      posted = createUser("in.flight@example.com");
      await waitFor(async () => {
        const rows = await database.query("select 1 from pg_locks where not granted");
        return rows.length > 0;
      });
      running!.child.kill("SIGTERM");
      // It accepts no new connections, while the current request is still answered.
      await waitFor(() =>
        fetch(`${address()}/healthz`).then(
          () => false,
          () => true,
        ),
      );
    });
    await database.close();
    expect((await posted).status).toBe(200);
    await expectEnd(0);
  },
  START_MAX_MS,
);

test(
  "the second start prints where the key is, not the key, and has kept all data",
  async () => {
    const noted = join(data_dir, "loaded");
    const { stdout } = await start({ NODE_OPTIONS: `--import=${noteLoading(noted)}` });
    // Loading it takes so long that no request should have to do it.
    expect(await readFile(noted, "utf8")).toContain("oidc-provider");
    await rm(noted);
    expect(stdout).toMatch(/ {2}API key {4}in \S+sandbox-api-key; /);
    expect(stdout).toMatch(/Bearer \$\(cat \S+sandbox-api-key\)" /);
    expect(stdout).not.toContain(key);
    expect(stdout).not.toContain("Sign in");
    expect(await listEmails()).toEqual(["in.flight@example.com", ANA]);
  },
  START_MAX_MS,
);

test(
  "after kill -9 the next start takes over the database that was left running",
  async () => {
    const acknowledged = await createUser("just.before@example.com");
    expect(acknowledged.status).toBe(200);
    running!.child.kill("SIGKILL");
    expect((await running!.ended).code).toBeNull();
    // Run twice: the first run starts and stops the database itself.
    const own = { SLIPROAD_DATA_DIR: data_dir };
    for (const _look of ["first", "second"]) {
      const doctor = await runCommand(["doctor", "--json"], own);
      expect(doctor.code).toBe(1);
      expect(JSON.parse(doctor.stdout).findings).toContainEqual({
        check: "service",
        ok: false,
        finding: expect.stringContaining(`${address()} (process ${running!.child.pid}) stopped`),
      });
    }
    const demo = await runCommand(["demo"], own);
    expect(demo.stderr).toContain(`Nothing answers at ${address()};`);
    await start();
    expect(await listEmails()).toEqual(["just.before@example.com", "in.flight@example.com", ANA]);
  },
  START_MAX_MS,
);

test(
  "it stops in time while callers keep their connections busy",
  async () => {
    let busy = true;
    const callers = Array.from({ length: 4 }, async () => {
      while (busy) await fetch(`${address()}/healthz`).catch(() => {});
    });
    try {
      running!.child.kill("SIGINT");
      await expectEnd(0);
    } finally {
      busy = false;
      await Promise.all(callers);
    }
  },
  START_MAX_MS,
);

test(
  "commands and verify work on a stopped installation, whose database runs only that long",
  async () => {
    const ended = await runCommand(["verify", "--json"], { SLIPROAD_DATA_DIR: data_dir });
    expect(JSON.parse(ended.stdout)).toEqual({
      ok: true,
      accounts: 1,
      fault: null,
      has_checked_macs: true,
      archives_unread: 0,
    });
    expect(ended).toMatchObject({ code: 0, stderr: "" });
    expect(await readdir(data_dir)).not.toContain("instance.json");
    expect(await databasePid()).toBeNull();
  },
  START_MAX_MS,
);

function address(): string {
  return `http://127.0.0.1:${environment.PORT}`;
}

/** A module that appends the URLs of those loaded after it to a file. */
function noteLoading(file: string): string {
  const source = `import { appendFileSync } from "node:fs";
    import { registerHooks } from "node:module";
    registerHooks({ load(url, context, next) {
      if (url.includes("oidc")) appendFileSync(${JSON.stringify(file)}, url + "\\n");
      return next(url, context);
    } });`;
  return `data:text/javascript,${encodeURIComponent(source)}`;
}

async function start(more: Record<string, string> = {}) {
  const started = startCommand(["start"], { ...environment, ...more });
  running = started;
  let over = false;
  void started.ended.then(() => {
    over = true;
  });
  await waitFor(() => over || started.printed().stdout.includes("}}'"), START_MAX_MS);
  if (over) throw new Error(`it ended: ${JSON.stringify(await started.ended)}`);
  return started.printed();
}

/** The process has ended with this code, and the database with it. */
async function expectEnd(code: number): Promise<void> {
  const pid = await databasePid();
  const ended = await running!.ended;
  running = undefined;
  expect({ code: ended.code, stderr: ended.stderr }).toEqual({ code, stderr: "" });
  expect(pid !== null && (await isRunning({ pid, started: null }))).toBe(false);
  expect(await databasePid()).toBeNull();
  expect(await readdir(data_dir)).not.toContain("instance.json");
}

async function databasePid(): Promise<number | null> {
  const file = join(data_dir, "postgres", "postmaster.pid");
  const text = await readFile(file, "utf8").catch(() => "");
  return text === "" ? null : Number(text.split("\n", 1)[0]);
}

async function endDatabase(): Promise<void> {
  const pid = await databasePid();
  if (pid === null) return;
  process.kill(pid, "SIGQUIT");
  await waitFor(async () => !(await isRunning({ pid, started: null })));
}

function createUser(email: string): Promise<Response> {
  const user = { beneficiary_type: "business", email, company_name: "Invented Ltd" };
  return fetch(`${address()}/users`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ user }),
  });
}

async function listEmails(): Promise<string[]> {
  const headers = { authorization: `Bearer ${key}` };
  const answer = await fetch(`${address()}/users`, { headers });
  const { users } = (await answer.json()) as { users: { email: string }[] };
  // The demo creates one user per run.
  return users.map((user) => user.email).filter((email) => !email.startsWith("demo-"));
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((done) => server.once("listening", done));
  const { port } = server.address() as { port: number };
  await new Promise((done) => server.close(done));
  return port;
}
