import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { listMembers } from "../../src/accounts/store.ts";
import { PROPOSAL_LIFE_MS } from "../../src/approvals/model.ts";
import { readOutbox } from "../../src/partners/mail/sandbox.ts";
import { HOUR_MS } from "../../src/platform/durations.ts";
import { enrol } from "../accounts/authenticator.ts";
import { addMember, type TestMember } from "../approvals/proposal-fixture.ts";
import { type Ended, runCommand } from "../harness/command-line.ts";
import { changeMember } from "../harness/members.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";
import { advance, findFault, settle } from "../offramps/story.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

let SAME: { DATABASE_URL: string; SLIPROAD_DATA_DIR: string };
beforeAll(() => {
  SAME = { DATABASE_URL: server.db.url, SLIPROAD_DATA_DIR: server.data_dir };
});
const create = (...args: string[]) => runCommand(["members", "create", ...args], SAME);

function memberIn({ code, stdout, stderr }: Ended) {
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return JSON.parse(stdout).member;
}

it("a new member is invited by mail; nobody sees a password, and the audit log records it", async () => {
  const args = ["--email", "second@example.test", "--role", "approver"];
  const member = memberIn(await create(...args, "--reason", "second approver", "--json"));
  expect(Object.keys(member)).toEqual(["account_id", "person_id", "email", "role"]);
  server.app.worker.wake();
  const mails = await waitFor(async () => {
    const shown = await runCommand(["outbox", "--to", "second@example.test", "--json"], SAME);
    const found = JSON.parse(shown.stdout).mails;
    return found.length > 0 ? found : null;
  });
  expect(mails).toHaveLength(1);
  expect(mails[0].text).toMatch(/^http:\S+\/set-password\?token=[A-Za-z0-9_-]{43}$/m);
  const entries = await server.db.database.query(
    "select actor, reason from audit_entries where action = 'member.create' and record = $1",
    [`person:${member.person_id}`],
  );
  expect(entries).toEqual([{ actor: "command line", reason: "second approver" }]);

  const twice = await create(...args);
  expect(twice.code).toBe(1);
  expect(twice.stderr).toContain("is already a member of the account");
});

it("an existing person becomes a member of a second account", async () => {
  const { account_id } = await server.addAccount("Second");
  const args = ["--email", "known@example.test", "--role", "admin", "--json"];
  const other = await server.addAccount("First of two");
  const first = memberIn(await create(...args, "--account", other.account_id));
  const second = memberIn(await create(...args, "--account", account_id));
  expect(second).toMatchObject({ account_id, person_id: first.person_id });
});

it("reset-factor removes the second factor of somebody who lost it, and ends their sessions", async () => {
  const { account_id } = await server.addAccount("Lost phones");
  const email = "lost@example.test";
  const { visitor } = await addMember(server, "developer", account_id, email);
  await enrol(visitor);
  const args = ["members", "reset-factor", "--email", email, "--account", account_id];
  const done = await runCommand([...args, "--reason", "lost the phone"], SAME);
  // The operator has two voters here: both confirm it.
  const [, id] = /^Proposed\. Two members must confirm proposal (\S+) /.exec(done.stdout)!;
  expect((await visitor.get("/dashboard")).statusCode).toBe(200);
  for (const voter of [await addMember(server, "admin"), await addMember(server, "approver")]) {
    await voter.confirm(id!);
  }
  await settle(server);
  expect((await visitor.get("/dashboard")).headers.location).toMatch(/^\/sign-in/);
  expect((await visitor.signIn(email)).headers.location).toBe("/dashboard");
  const entries = await server.db.database.query(
    "select actor, reason from audit_entries where action = 'second_factor.reset'",
  );
  expect(entries).toEqual([{ actor: `proposal:${id}`, reason: "lost the phone" }]);
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
  const former = await addMember(server, "admin", account_id, first);
  const latter = await addMember(server, "accountant", account_id, second);
  const operator = await addMember(server, "approver");
  // One of two members can vote: one of the operator's is the other.
  const confirmed = async (by: TestMember, { stdout }: Ended) => {
    const { id } = JSON.parse(stdout).proposal;
    await by.confirm(id);
    await operator.confirm(id);
    const find = "select from proposals where id = $1 and status = 'done'";
    await waitFor(async () => (await server.db.database.query(find, [id])).length > 0);
  };
  for (const refused of [
    await run("remove", "--email", first),
    await run("set-role", "--email", first, "--role", "approver"),
  ]) {
    expect(refused.stderr).toContain("last admin");
    expect(refused.code).toBe(1);
  }
  const promoted = await run("set-role", "--email", second, "--role", "admin", "--json");
  expect(memberIn(promoted)).toMatchObject({ account_id, role: "admin" });
  await confirmed(former, promoted);
  await changeMember(server.db.database, former.person_id, { role: "accountant" });
  await confirmed(latter, await run("remove", "--email", first, "--reason", "left", "--json"));
  const listed = JSON.parse((await run("list", "--json")).stdout).members;
  expect(listed).toMatchObject([{ email: second, role: "admin" }]);
  expect((await run("remove", "--email", first)).stderr).toContain("is not a member of");
  const entries = await server.db.database.query(
    `select action, reason from audit_entries
     where account_id = $1 and action <> 'member.create' and action like 'member.%'
       and reason <> 'a test' order by at`,
    [account_id],
  );
  expect(entries).toEqual([
    { action: "member.set_role", reason: "on the command line" },
    { action: "member.remove", reason: "left" },
  ]);
});

it("once two members can vote, every change is a proposal that both must confirm", async () => {
  const { account_id } = await server.addAccount("Two voters");
  const [ada, ben, dev] = [
    await addMember(server, "admin", account_id),
    await addMember(server, "admin", account_id),
    await addMember(server, "developer", account_id),
  ];
  const run = (verb: string, ...args: string[]) =>
    runCommand(["members", verb, ...args, "--account", account_id], {
      DATABASE_URL: server.db.url,
      SLIPROAD_DATA_DIR: server.data_dir,
    });
  const [added, removed, demoted] = await Promise.all([
    run("create", "--email", "three@example.test", "--role", "admin", "--json"),
    run("remove", "--email", dev.email, "--json"),
    run("set-role", "--email", ben.email, "--role", "developer"),
  ]);
  expect(demoted.stdout).toMatch(/^Proposed\. Two members must confirm proposal /);
  const ids = [added, removed].map(({ stdout }) => JSON.parse(stdout).proposal.id);
  const invitations = async () => {
    const mails = await readOutbox(server.db.database, server.core.index_key, new Date());
    return mails.filter(({ to }) => to === "three@example.test").length;
  };
  for (const id of ids) await ben.confirm(id);
  await settle(server);
  expect(await invitations()).toBe(0);
  const members = async () =>
    (await listMembers(server.db.database, account_id)).map(({ person_id }) => person_id);
  expect(await members()).toEqual([ada.person_id, ben.person_id, dev.person_id]);
  for (const id of ids) await ada.confirm(id);
  await settle(server);
  expect(await members()).toEqual([ada.person_id, ben.person_id, expect.any(String)]);
  expect(await invitations()).toBe(1);
});

describe("where only two members can vote", () => {
  async function openTwo() {
    const { account_id } = await server.addAccount(`Two ${crypto.randomUUID()}`);
    const [ada, ben] = [
      await addMember(server, "admin", account_id),
      await addMember(server, "admin", account_id),
    ];
    const remove = async (email: string, ...more: string[]) => {
      const args = ["members", "remove", "--email", email, "--account", account_id, "--json"];
      const ended = await runCommand([...args, ...more], {
        DATABASE_URL: server.db.url,
        SLIPROAD_DATA_DIR: server.data_dir,
      });
      return JSON.parse(ended.stdout).proposal.id as string;
    };
    const members = async () =>
      (await listMembers(server.db.database, account_id)).map(({ person_id }) => person_id);
    return { ada, ben, remove, members };
  }

  it("one is removed after 72 hours, if the other confirmed it and nobody rejected it", async () => {
    const { ada, ben, remove, members } = await openTwo();
    const id = await remove(ben.email);
    expect((await ben.open()).body).toContain("It takes effect after 72 hours");
    await ada.confirm(id);
    await advance(server, PROPOSAL_LIFE_MS - HOUR_MS);
    expect(await members()).toContain(ben.person_id);
    await advance(server, HOUR_MS);
    expect(await members()).toEqual([ada.person_id]);
    expect(await findFault(server)).toBeNull();
  });

  it("one is not removed without the other's confirmation, or against a rejection", async () => {
    const { ada, ben, remove, members } = await openTwo();
    const [unconfirmed, own, rejected] = [
      await remove(ben.email),
      await remove(ada.email),
      await remove(ben.email, "--reason", "again"),
    ];
    await ada.confirm(own);
    await ada.confirm(rejected);
    await ben.reject(rejected);
    await advance(server, PROPOSAL_LIFE_MS);
    expect(await members()).toEqual([ada.person_id, ben.person_id]);
    const rows = await server.db.database.query(
      "select status from proposals where id = any($1::uuid[]) order by status",
      [[unconfirmed, own, rejected]],
    );
    expect(rows.map(({ status }) => status)).toEqual(["lapsed", "lapsed", "rejected"]);
  });

  it("one of the operator's members can give the second vote", async () => {
    const { ada, ben, remove, members } = await openTwo();
    const operator = await addMember(server, "approver");
    const id = await remove(ben.email, "--with-operator");
    await ada.confirm(id);
    await operator.confirm(id);
    await settle(server);
    expect(await members()).toEqual([ada.person_id]);
  });
});

it("the help says when a new role applies: tokens are looked up once a second", async () => {
  const { stdout } = await runCommand(["members", "--help"], {});
  expect(stdout).toMatch(/set-role .*within a second/);
});
