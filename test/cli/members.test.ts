import { afterAll, beforeAll, expect, it } from "vitest";
import { type Ended, runCommand } from "../harness/command-line.ts";
import { HttpVisitor } from "../harness/http-visitor.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

const create = (...args: string[]) =>
  runCommand(["members", "create", ...args], {
    DATABASE_URL: server.db.url,
    SLIPROAD_DATA_DIR: server.data_dir,
  });

function memberIn({ code, stdout, stderr }: Ended) {
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return JSON.parse(stdout).member;
}

it("a new member signs in with the password that was shown once; the audit log records it", async () => {
  const args = ["--email", "second@example.test", "--role", "approver"];
  const member = memberIn(await create(...args, "--reason", "second approver", "--json"));
  expect(member).toMatchObject({ account_id: server.account_id, role: "approver" });
  const visitor = new HttpVisitor(server.app.server);
  const { password } = member;
  expect((await visitor.signIn("second@example.test", { password })).statusCode).toBe(303);
  const entries = await server.db.database.query(
    "select actor, reason from audit_entries where action = 'member.create' and record = $1",
    [`person:${member.person_id}`],
  );
  expect(entries).toEqual([{ actor: "command line", reason: "second approver" }]);

  const twice = await create(...args);
  expect(twice.code).toBe(1);
  expect(twice.stderr).toContain("is already a member of the account");
});

it("an existing person keeps their password in a second account", async () => {
  const { account_id } = await server.addAccount("Second");
  const args = ["--email", "known@example.test", "--role", "admin", "--json"];
  const first = memberIn(await create(...args));
  const second = memberIn(await create(...args, "--account", account_id));
  expect(second).toMatchObject({ account_id, person_id: first.person_id, password: null });
});

it("reports what is wrong with a role, an e-mail address or an account", async () => {
  const [role, email, account, none] = await Promise.all([
    create("--email", "a@example.test", "--role", "king"),
    create("--email", "nothing", "--role", "admin"),
    create("--email", "a@example.test", "--role", "admin", "--account", "Nobody"),
    create("--email", "a@example.test"),
  ]);
  expect(role.stderr).toMatch(/^sliproad: .*finance_manager/);
  expect(email.stderr).toMatch(/^sliproad: Send a valid e-mail address/);
  expect(account.stderr).toMatch(/^sliproad: There is no account Nobody/);
  expect(none.stderr).toMatch(/^sliproad: .*--role/);
  expect([role, email, account, none].map(({ code }) => code)).toEqual([1, 1, 1, 1]);
});

it("commands change roles and end memberships, but an account keeps an admin", async () => {
  const { account_id } = await server.addAccount("Coming and going");
  const run = (verb: string, ...args: string[]) =>
    runCommand(["members", verb, ...args, "--account", account_id], {
      DATABASE_URL: server.db.url,
      SLIPROAD_DATA_DIR: server.data_dir,
    });
  const [first, second] = ["one@example.test", "two@example.test"];
  memberIn(await create("--email", first, "--role", "admin", "--account", account_id, "--json"));
  memberIn(
    await create("--email", second, "--role", "accountant", "--account", account_id, "--json"),
  );
  for (const refused of [
    await run("remove", "--email", first),
    await run("set-role", "--email", first, "--role", "approver"),
  ]) {
    expect(refused.stderr).toContain("last admin");
    expect(refused.code).toBe(1);
  }
  const admin = memberIn(await run("set-role", "--email", second, "--role", "admin", "--json"));
  expect(admin).toMatchObject({ account_id, role: "admin" });
  memberIn(await run("remove", "--email", first, "--reason", "left", "--json"));
  const listed = JSON.parse((await run("list", "--json")).stdout).members;
  expect(listed).toMatchObject([{ email: second, role: "admin" }]);
  expect((await run("remove", "--email", first)).stderr).toContain("is not a member of");
  const entries = await server.db.database.query(
    `select action, reason from audit_entries
     where account_id = $1 and action <> 'member.create' and action like 'member.%' order by at`,
    [account_id],
  );
  expect(entries).toEqual([
    { action: "member.set_role", reason: "on the command line" },
    { action: "member.remove", reason: "left" },
  ]);
});

it("the help says when a new role applies: tokens are looked up once a second", async () => {
  const { stdout } = await runCommand(["members", "--help"], {});
  expect(stdout).toMatch(/set-role .*within a second/);
});
