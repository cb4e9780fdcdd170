import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Ended, runCommand, startCommand } from "../harness/command-line.ts";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { urlOfDatabase } from "../harness/database-url.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";

const UNKNOWN_ID = "01900000-0000-7000-8000-000000000000";

let server: TestServer;
let empty: TestDatabase;
let empty_dir: string;
beforeAll(async () => {
  server = await startTestServer();
  empty = await createTestDatabase();
  empty_dir = await mkdtemp(join(tmpdir(), "sliproad-cli-"));
});
afterAll(async () => {
  await server.close();
  await empty.drop();
  await rm(empty_dir, { recursive: true });
});

/** Runs the command on the database of the running server. */
const run = (args: string[], environment: Record<string, string> = {}) =>
  runCommand(args, {
    DATABASE_URL: server.db.url,
    SLIPROAD_DATA_DIR: server.data_dir,
    ...environment,
  });

/** The one document on stdout; stderr is empty. */
function documentOf({ code, stdout, stderr }: Ended) {
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return JSON.parse(stdout);
}

/** Exit code 1, nothing on stdout, and one sentence on stderr. */
function expectSentence(ended: Ended, words: string | RegExp): void {
  expect({ code: ended.code, stdout: ended.stdout }).toEqual({ code: 1, stdout: "" });
  expect(ended.stderr).toMatch(/^sliproad: [^\n]+\.\n$/);
  expect(ended.stderr).toMatch(words);
}

describe("accounts", () => {
  it("are created and listed, as JSON and as text", async () => {
    const made = documentOf(await run(["accounts", "create", "--name", "Acme", "--json"]));
    expect(made).toEqual({
      account: {
        id: expect.any(String),
        name: "Acme",
        is_operator: false,
        kyc_two_person_approval: false,
        kyc_review_by_account: false,
        document_review_by_account: false,
        webhooks_enabled_at: null,
        created_at: expect.any(String),
      },
    });
    const listed = documentOf(await run(["accounts", "list", "--json"]));
    expect(listed.accounts.map((account: { name: string }) => account.name)).toEqual([
      "demo",
      "Acme",
    ]);
    const { stdout } = await run(["accounts", "list"]);
    expect(stdout).toContain(`${made.account.id}  Acme\n`);
    expect(stdout).toContain("demo  (operator)\n");
  });

  it("need a new name of letters and digits", async () => {
    const [twice, odd, none] = await Promise.all([
      run(["accounts", "create", "--name", "demo"]),
      run(["accounts", "create", "--name", "<b>"]),
      run(["accounts", "create"]),
    ]);
    expectSentence(twice, "An account named demo already exists");
    expectSentence(odd, "--name must be 1 to 100 letters");
    expectSentence(none, "--name <name>");
  });

  it("have a setting for who reviews identities and how many must agree, with each change logged", async () => {
    const set = ["accounts", "set", "--account", "demo"];
    const eyes = documentOf(await run([...set, "--json", "--kyc-two-person-approval", "on"]));
    expect(eyes.account).toMatchObject({
      kyc_two_person_approval: true,
      kyc_review_by_account: false,
    });
    const who = documentOf(
      await run([...set, "--json", "--kyc-review", "account", "--kyc-two-person-approval", "off"]),
    );
    expect(who.account).toMatchObject({
      kyc_two_person_approval: false,
      kyc_review_by_account: true,
    });
    const rows = await server.db.database.query<{ detail: string }>(
      "select detail from audit_entries where action = 'account.update' order by id",
    );
    expect(rows.map(({ detail }) => JSON.parse(detail))).toEqual([
      { kyc_two_person_approval: true },
      { kyc_two_person_approval: false, kyc_review_by_account: true },
    ]);
    expectSentence(await run(set), "--kyc-two-person-approval on");
    expectSentence(await run([...set, "--kyc-review", "nobody"]), "--kyc-review");
    const unknown = ["accounts", "set", "--account", "nobody", "--kyc-two-person-approval", "on"];
    expectSentence(await run(unknown), "There is no account nobody");
  });
});

describe("keys", () => {
  it("are created, listed without the key itself, and revoked", async () => {
    const args = ["keys", "create", "--account", "demo", "--name", "shop", "--json"];
    const { api_key } = documentOf(await run(args));
    expect(api_key).toMatchObject({ name: "shop", prefix: "sk_test_", revoked_at: null });
    expect(api_key).not.toHaveProperty("mac");
    const { key } = api_key;
    expect((await server.call("GET", "/users", undefined, { key })).status).toBe(200);

    const listed = await run(["keys", "list", "--json"]);
    expect(listed.stdout).not.toContain(key);
    const found = documentOf(listed).api_keys.find((row: { id: string }) => row.id === api_key.id);
    expect(found).toMatchObject({ name: "shop", account_name: "demo", last_four: key.slice(-4) });

    const revoke = ["keys", "revoke", api_key.id, "--json"];
    const first = documentOf(await run(revoke));
    expect(first.api_key.revoked_at).toEqual(expect.any(String));
    const refused = await server.call("POST", "/users", { user: {} }, { key });
    expect(refused.status).toBe(401);
    expect(documentOf(await run(revoke))).toEqual(first);
  });

  it("without --json, the key is alone on the first line", async () => {
    const { code, stdout } = await run(["keys", "create"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^sk_test_[\w-]{82}\nStore it now: it cannot be shown again\.\n$/);
  });

  it("of an unknown account, or unknown themselves, are refused with a sentence", async () => {
    const [account, id, nonsense] = await Promise.all([
      run(["keys", "create", "--account", "Nobody"]),
      run(["keys", "revoke", UNKNOWN_ID]),
      run(["keys", "revoke", "nonsense"]),
    ]);
    expectSentence(account, "There is no account Nobody");
    expectSentence(id, `There is no API key ${UNKNOWN_ID}`);
    expectSentence(nonsense, "There is no API key nonsense");
  });
});

describe("users erase", () => {
  it("erases with a reason, once", async () => {
    const user = { beneficiary_type: "business", email: "gone@example.com", company_name: "Gone" };
    const { id } = (await server.call("POST", "/users", { user })).body.user;
    expectSentence(await run(["users", "erase", id]), "--reason");
    const args = ["users", "erase", id, "--reason", "asked to"];
    const shown = ["users", "retention", id, "--json"];
    expect(documentOf(await run(shown)).retention).toMatchObject({ status: "active", kept: [] });
    const { retention } = documentOf(await run([...args, "--json"]));
    expect(retention).toMatchObject({ user_id: id, status: "erased" });
    expect((await server.call("GET", `/users/${id}`)).status).toBe(404);
    expectSentence(await run(args), `There is no user ${id}`);
  });

  it("finds only users of the named account", async () => {
    const [nonsense, elsewhere] = await Promise.all([
      run(["users", "erase", "nonsense", "--reason", "x"]),
      run(["users", "erase", UNKNOWN_ID, "--reason", "x", "--account", "Nobody"]),
    ]);
    expectSentence(nonsense, "There is no user nonsense");
    expectSentence(elsewhere, "There is no account Nobody");
  });
});

describe("migrate", () => {
  it("lists the applied migrations", async () => {
    const { migrations } = documentOf(await run(["migrate", "--json"]));
    expect(migrations[0]).toEqual({
      name: "0001_create_installation.sql",
      applied_at: expect.any(String),
    });
  });

  it("as the first command on a database prints where the keys are, next to its JSON", async () => {
    const environment = { DATABASE_URL: empty.url, SLIPROAD_DATA_DIR: empty_dir };
    const first = await run(["migrate", "--json"], environment);
    expect(first.code).toBe(0);
    expect(JSON.parse(first.stdout).migrations.length).toBeGreaterThan(1);
    expect(first.stderr).toContain(`API key    in ${join(empty_dir, "first-start-secrets")}`);
    expect(first.stderr).toContain("Sign in    admin@sliproad.test");
    const secrets = await readFile(join(empty_dir, "first-start-secrets"), "utf8");
    const key = /^SLIPROAD_API_KEY=(sk_test_\S+)$/m.exec(secrets)?.[1];
    expect(key).toBeDefined();
    expect(first.stderr).not.toContain(key);
    expect(await readFile(join(empty_dir, "sandbox-api-key"), "utf8")).toBe(`${key}\n`);
    documentOf(await run(["migrate", "--json"], environment));
  });

  it("of a database that a newer version has migrated so that this one breaks is refused with a sentence", async () => {
    await empty.database.query(
      `insert into migrations (name, applied_at, checksum, breaks)
       values ('9999_from_tomorrow.sql', $1, '', true)`,
      [new Date()],
    );
    const ended = await run(["migrate"], { DATABASE_URL: empty.url, SLIPROAD_DATA_DIR: empty_dir });
    expectSentence(ended, "migrated by a newer version of Sliproad (9999_from_tomorrow.sql)");
  });
});

describe("doctor", () => {
  it("reports every check, as JSON and as text", async () => {
    const { ok, findings } = documentOf(await run(["doctor", "--json"]));
    expect(ok).toBe(true);
    expect(findings.map((finding: { check: string }) => finding.check)).toEqual([
      ...["settings", "node", "data directory", "disk", "database", "connections", "standby"],
      ...["clock", "worker", "watchers", "logs", "payouts", "rows", "webhooks", "deposits"],
      ...["proposals", "rates", "service", "ledger"],
    ]);
    const { code, stdout } = await run(["doctor"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^ok {4}settings: sandbox mode\n/);
    // The tests have a server without a standby.
    expect(stdout).toMatch(/\nWARN {2}standby: /);
    expect(stdout).toMatch(/\nNo errors found; check the warnings\.\n$/);
  });

  it("reports what is wrong and exits with 1", async () => {
    const [setting, database] = await Promise.all([
      run(["doctor", "--json"], { PORT: "x" }),
      run(["doctor", "--json"], { DATABASE_URL: "postgres://127.0.0.1:1/none" }),
    ]);
    expect(setting.code).toBe(1);
    expect(JSON.parse(setting.stdout)).toEqual({
      ok: false,
      findings: [
        { check: "settings", ok: false, finding: expect.stringMatching(/^PORT must be .*\.$/) },
      ],
    });
    expect(database.code).toBe(1);
    expect(JSON.parse(database.stdout).findings).toContainEqual({
      check: "database",
      ok: false,
      finding: expect.stringContaining("cannot be reached (ECONNREFUSED)"),
    });
  });
});

describe("verify", () => {
  it("exits with 0 without problems, and with 1 once a row was changed", async () => {
    const fine = documentOf(await run(["verify", "--json"]));
    expect(fine).toMatchObject({ ok: true, accounts: expect.any(Number), fault: null });
    const { database } = server.db;
    const [row] = await database.query<{ id: string; reason: string }>(
      "select id, reason from audit_entries order by id limit 1",
    );
    const update = "update audit_entries set reason = $2 where id = $1";
    await database.query(update, [row!.id, "another"]);
    const wrong = await run(["verify", "--json"]);
    const verified = await run(["verify"]);
    await database.query(update, [row!.id, row!.reason]);
    expect(wrong).toMatchObject({ code: 1, stderr: "" });
    const fault = expect.stringContaining(`audit entry ${row!.id}`);
    expect(JSON.parse(wrong.stdout)).toMatchObject({ ok: false, fault });
    expect(verified).toMatchObject({ code: 1, stdout: expect.stringMatching(/^Wrong: .*\.\n$/) });
  });

  it("--anchor accepts a log of the service", async () => {
    const file = join(server.data_dir, "service.log");
    const anchor = { account_id: server.account_id, log: "audit", number: "1", msg: "sealed" };
    const forged = { ...anchor, hash: "00".repeat(32), signature: "AA==" };
    await writeFile(file, `Sliproad is ready\n${JSON.stringify(forged)}\n`);
    const empty_log = join(server.data_dir, "empty.log");
    await writeFile(empty_log, "");
    const [wrong, missing, directory, nothing] = await Promise.all([
      run(["verify", "--anchor", file, "--json"]),
      run(["verify", "--anchor", `${file}.gone`]),
      run(["verify", "--anchor", server.data_dir]),
      run(["verify", "--anchor", empty_log]),
    ]);
    expect(wrong.code).toBe(1);
    expect(JSON.parse(wrong.stdout).fault).toContain("not signed by this installation");
    expectSentence(missing, "cannot be read");
    expectSentence(directory, "is a directory");
    expect(nothing.code).toBe(1);
    expect(nothing.stdout).toBe("Wrong: this file contains no anchor.\n");
  });

  it("--since says that it checked only a part", async () => {
    const [block] = await server.db.database.query<Record<string, Buffer | bigint>>(
      `select account_id, log, number, hash, signature from seal_blocks
       order by log, number limit 1`,
    );
    const { hash, signature, number, ...chain } = block!;
    const anchor = {
      ...{ ...chain, number: String(number), msg: "sealed" },
      hash: (hash as Buffer).toString("hex"),
      signature: (signature as Buffer).toString("base64"),
    };
    const file = join(server.data_dir, "anchors.log");
    await writeFile(file, `${JSON.stringify(anchor)}\n`);
    const [part, missing] = await Promise.all([
      run(["verify", "--since", file, "--json"]),
      run(["verify", "--since", `${file}.gone`]),
    ]);
    expect(documentOf(part)).toMatchObject({ ok: true, fault: null, is_whole: false });
    expectSentence(missing, "cannot be read");
  });
});

describe("with --json everything is one document on stdout", () => {
  const errorOf = ({ code, stdout }: Ended) => {
    expect(code).toBe(1);
    return JSON.parse(stdout).error;
  };

  it("a refusal, a mistyped option, a group without a command, an unreachable database", async () => {
    const [refused, mistyped, group, gone] = await Promise.all([
      run(["keys", "revoke", "nonsense", "--json"]),
      run(["keys", "list", "--jsno", "--json"]),
      run(["keys", "--json"]),
      run(["keys", "list", "--json"], { DATABASE_URL: "postgres://127.0.0.1:1/none" }),
    ]);
    expect(errorOf(refused)).toEqual({
      code: "refused",
      message: expect.stringMatching(/^There is no API key nonsense/),
    });
    expect(refused.stderr).toMatch(/^sliproad: There is no API key nonsense/);
    expect(errorOf(mistyped)).toEqual({
      code: "usage",
      message: "unknown option '--jsno' (Did you mean --json?); see --help.",
    });
    expect(errorOf(group).message).toMatch(/^add a command of keys: create, list, /);
    expect(errorOf(gone).message).toContain("cannot be reached");
  });

  it("help for an unknown command, and an option in place of a value, are refused", async () => {
    const [nothing, mistyped, valueless] = await Promise.all([
      run(["help", "nonsuch"]),
      run(["apps", "help", "creat"]),
      run(["apps", "create", "--name", "--json"]),
    ]);
    expect([nothing, mistyped, valueless].map(({ code }) => code)).toEqual([1, 1, 1]);
    expect(nothing.stderr).toMatch(/^sliproad: sliproad has no command nonsuch; there are .*\.\n$/);
    expect(mistyped.stderr).toBe("sliproad: apps has no command creat; did you mean create?\n");
    expect(valueless.stderr).toBe("sliproad: --name needs a value, but --json is an option.\n");
  });

  it("help, version, a script; and --json may precede the command", async () => {
    const [version, help, of_group, of_keys, script, before] = await Promise.all([
      run(["--version", "--json"]),
      run(["help", "--json"]),
      run(["apps", "help", "--json"]),
      run(["keys", "--help", "--json"]),
      run(["completion", "bash", "--json"]),
      run(["--json", "accounts", "list"]),
    ]);
    expect(documentOf(version)).toEqual({ version: expect.stringMatching(/^\d+\.\d+\.\d+$/) });
    expect(documentOf(help).help).toMatch(/^Usage: sliproad /);
    expect(documentOf(of_group).help).toMatch(/^Usage: sliproad apps /);
    expect(documentOf(of_keys).help).toMatch(/^Usage: sliproad keys /);
    expect(documentOf(script).completion).toMatchObject({ shell: "bash" });
    expect(documentOf(before).accounts.length).toBeGreaterThan(0);
  });

  it("an api or worker process that is ready, with its log on stderr", async () => {
    const check = async (half: string) => {
      const running = startCommand([half, "--json"], {
        DATABASE_URL: server.db.url,
        SLIPROAD_DATA_DIR: server.data_dir,
        PORT: "0",
        SLIPROAD_WORKER_PORT: "0",
      });
      await waitFor(() => running.printed().stdout.endsWith("}\n"));
      running.child.kill("SIGTERM");
      const { code, stdout } = await running.ended;
      expect(code).toBe(0);
      const url = half === "api" ? expect.stringMatching(/^http:/) : null;
      expect(JSON.parse(stdout).ready).toMatchObject({
        mode: "sandbox",
        url,
        first_start_secrets_file: null,
      });
    };
    await Promise.all(["api", "worker"].map(check));
  });
});

describe("a mistyped setting", () => {
  it("is reported by doctor and by start, with the nearest match", async () => {
    const wrong = { SLIPROAD_PROT: "1", SLIPROAD_MOED: "live" };
    const [doctor, start] = await Promise.all([
      run(["doctor"], wrong),
      run(["start"], { ...wrong, PORT: "70000" }),
    ]);
    expect(doctor.stdout).toMatch(
      /^WARN {2}settings: sandbox mode; SLIPROAD_PROT is not a known setting \(did you mean PORT\?\); /,
    );
    expect(start.stderr).toContain(
      "SLIPROAD_MOED is not a known setting (did you mean SLIPROAD_MODE?).",
    );
  });
});

describe("errors are reported in one sentence", () => {
  it.concurrent.each([
    [
      "an unknown option",
      ["keys", "list", "--jsno"],
      "'--jsno' (Did you mean --json?); see --help",
    ],
    [
      "a required option that is mistyped",
      ["accounts", "create", "--nmae", "Acme"],
      "unknown option '--nmae' (Did you mean --name?); see --help",
    ],
    ["an unknown command", ["kyes"], "unknown command 'kyes'"],
    ["a missing argument", ["keys", "revoke"], "missing required argument 'id'"],
    ["one argument too many", ["accounts", "list", "all"], "too many arguments"],
  ])("%s", async (_name, args, words) => {
    expectSentence(await run(args), words);
  });

  it("a database that cannot be reached or used", async () => {
    const password = new URL(server.db.url);
    password.password = "wrong";
    const [unreachable, locked, absent, nonsense] = await Promise.all([
      run(["keys", "list"], { DATABASE_URL: "postgres://127.0.0.1:1/none" }),
      run(["keys", "list"], { DATABASE_URL: password.href }),
      run(["keys", "list"], { DATABASE_URL: urlOfDatabase(server.db.url, "no_such_database") }),
      run(["keys", "list"], { DATABASE_URL: "my database" }),
    ]);
    expectSentence(unreachable, "127.0.0.1:1 cannot be reached (ECONNREFUSED)");
    expectSentence(locked, "password authentication failed");
    expectSentence(absent, 'database "no_such_database" does not exist');
    expectSentence(nonsense, "DATABASE_URL must be a URL such as");
  });

  it("no installation, an api or worker without a database, a broken file, a taken port", async () => {
    const taken = createServer().listen(0, "127.0.0.1");
    await new Promise((done) => taken.once("listening", done));
    const { port } = taken.address() as { port: number };
    const own = { DATABASE_URL: "", SLIPROAD_DATA_DIR: join(empty_dir, "none") };
    const broken = join(empty_dir, "broken.json");
    await writeFile(broken, "{");
    try {
      const [nowhere, half, file, busy] = await Promise.all([
        run(["accounts", "list"], own),
        run(["api"], own),
        run(["start"], { SLIPROAD_CATALOGUE_FILE: broken, PORT: "0" }),
        run(["api"], { PORT: String(port) }),
      ]);
      expectSentence(nowhere, "There is no installation in");
      expectSentence(half, "DATABASE_URL must be set");
      expectSentence(file, "SLIPROAD_CATALOGUE_FILE: ");
      expectSentence(busy, `Port ${port} on 127.0.0.1 is used by another program`);
    } finally {
      taken.close();
    }
  });

  it("a first start that fails has stored the key it created", async () => {
    const database = await createTestDatabase();
    const data_dir = await mkdtemp(join(tmpdir(), "sliproad-cli-"));
    const taken = createServer().listen(0, "127.0.0.1");
    await new Promise((done) => taken.once("listening", done));
    const { port } = taken.address() as { port: number };
    try {
      const ended = await run(["start"], {
        DATABASE_URL: database.url,
        SLIPROAD_DATA_DIR: data_dir,
        PORT: String(port),
      });
      expect(ended.code).toBe(1);
      expect(ended.stderr).toMatch(
        /^sliproad: Port \d+ on 127\.0\.0\.1 is used by another program; [^\n]+\.\n$/,
      );
      const file = join(data_dir, "first-start-secrets");
      expect(ended.stdout).toContain(`API key    in ${file}\n`);
      expect(await readFile(file, "utf8")).toMatch(/^SLIPROAD_API_KEY=sk_test_[\w-]{82}\n/);
    } finally {
      taken.close();
      await database.drop();
      await rm(data_dir, { recursive: true });
    }
  });
});
