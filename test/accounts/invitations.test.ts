import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { removeMember } from "../../src/accounts/change-members.ts";
import { createMember } from "../../src/accounts/create-member.ts";
import type { Role } from "../../src/accounts/model.ts";
import { hashEmail } from "../../src/accounts/person-email.ts";
import { startSession } from "../../src/accounts/sign-in/sessions.ts";
import { TRIM_SIGN_IN_TASK } from "../../src/accounts/sign-in/tasks.ts";
import { findPerson, lockPersonById } from "../../src/accounts/store.ts";
import { readOutbox } from "../../src/partners/mail/sandbox.ts";
import { HttpVisitor } from "../harness/http-visitor.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";
import { isPersonAwaited, whilePasswordIsSet } from "./new-password.ts";
import { useRateClock } from "./rate-clock.ts";

const BY = { actor: "command line", reason: "test" } as const;
const CHOSEN = "four words and a fifth";

useRateClock();
let server: TestServer;
let visitors = 0;

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

function visitor(): HttpVisitor {
  visitors += 1;
  return new HttpVisitor(server.app.server, `203.0.113.${visitors}`);
}

async function invite(email: string, account_id = server.account_id, role: Role = "approver") {
  const { database, index_key, clock } = server.core;
  const input = { account_id, email, role, ...BY } as const;
  const member = await database.transaction((tx) =>
    createMember(tx, index_key, input, clock.now()),
  );
  server.app.worker.wake();
  return member;
}

async function mailsTo(email: string) {
  const { database, index_key } = server.core;
  const mails = await readOutbox(database, index_key, new Date());
  return mails.filter(({ to }) => to === email);
}

/** The path of the newest link that was sent to the address. */
function linkTo(email: string, subject: RegExp): Promise<string> {
  return waitFor(async () => {
    const mail = (await mailsTo(email)).find((one) => subject.test(one.subject));
    const link = mail && /(\/set-password\?token=\S+)/.exec(mail.text)?.[1];
    return link ?? null;
  });
}

async function choose(path: string, password = CHOSEN) {
  const person = visitor();
  // A form of ours, with whose token even a link that has ended can be sent.
  await person.get("/forgot-password");
  const shown = await person.get(path);
  const token = new URL(path, "http://localhost").searchParams.get("token")!;
  const answer = await person.post("/set-password", { token, password });
  return { person, shown, answer };
}

async function requestReset(email: string) {
  const person = visitor();
  await person.get("/forgot-password");
  return person.post("/forgot-password", { email });
}

describe("an invitation", () => {
  test("lets the person choose a password that nobody else sees, stored as argon2id, and sign in", async () => {
    const email = "invited@example.test";
    const { person_id } = await invite(email);
    const before = await findPerson(server.db.database, hashEmail(server.core.index_key, email));
    expect(before!.password_hash).toBeNull();
    const path = await linkTo(email, /^Invitation to demo/);
    const { person, shown, answer } = await choose(path);
    expect(shown.body).toContain(email);
    expect(answer.headers.location).toBe("/sign-in?done=password");
    expect((await person.signIn(email, { password: CHOSEN })).statusCode).toBe(303);
    const [stored] = await server.db.database.query<{ password_hash: string; row: string }>(
      `select password_hash, people::text || encode(email, 'escape') as row
       from people where id = $1`,
      [person_id],
    );
    // With OWASP's parameters.
    expect(stored!.password_hash).toMatch(
      /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/,
    );
    expect(stored!.row).not.toContain("example.test");
    const entries = await server.db.database.query(
      "select action from audit_entries where record = $1 order by id",
      [`person:${person_id}`],
    );
    expect(entries.map(({ action }) => action)).toEqual([
      ...["member.create", "password.set", "session.create"],
    ]);
  });

  test("is in the outbox for admins only, as its links set the passwords of all", async () => {
    for (const [role, status] of [
      ["developer", 403],
      ["admin", 200],
    ] as const) {
      const email = `${role}@example.test`;
      await invite(email, server.account_id, role);
      const { person } = await choose(await linkTo(email, /^Invitation/));
      await person.signIn(email, { password: CHOSEN });
      expect((await person.get("/dashboard/outbox")).statusCode).toBe(status);
    }
  });

  test("has a link that works once, however often it is opened before", async () => {
    const email = "once@example.test";
    await invite(email);
    const path = await linkTo(email, /^Invitation/);
    for (let opened = 0; opened < 3; opened += 1) {
      expect((await visitor().get(path)).statusCode).toBe(200);
    }
    const both = await Promise.all([choose(path), choose(path, "another set of words")]);
    const locations = both.map(({ answer }) => answer.headers.location);
    expect(locations.filter((location) => location === "/sign-in?done=password")).toHaveLength(1);
    expect((await visitor().get(path)).statusCode).toBe(410);
    expect((await choose(path)).answer.statusCode).toBe(410);
  });

  test("has a link that ends after one hour", async () => {
    const email = "late@example.test";
    await invite(email);
    const path = await linkTo(email, /^Invitation/);
    const difference = vi.spyOn(server.core.clock, "difference_ms");
    difference.mockReturnValue(3_600_000 - 30_000);
    expect((await visitor().get(path)).statusCode).toBe(200);
    difference.mockReturnValue(3_600_000 + 1_000);
    expect((await visitor().get(path)).statusCode).toBe(410);
    expect((await choose(path)).answer.statusCode).toBe(410);
    difference.mockRestore();
  });

  test("is stored without the link, and the outbox is sealed and emptied when it expires", async () => {
    const email = "sealed@example.test";
    await invite(email);
    const token = (await linkTo(email, /^Invitation/)).split("=")[1]!;
    const { database } = server.db;
    const rows = await database.query<{ row: string }>(
      `select t::text || encode(content, 'escape') as row from sandbox_outbox t
       union all select t::text || encode(token_hash, 'escape') from password_links t
       union all select t::text || encode(address, 'escape') from mails t`,
    );
    expect(rows.length).toBeGreaterThan(1);
    expect(rows.some(({ row }) => row.includes(token) || row.includes(email))).toBe(false);
    await database.query("update sandbox_outbox set expires_at = $1", [new Date(0)]);
    await database.query("update password_links set expires_at = $1", [new Date(0)]);
    await database.query("update tasks set due_at = $1 where kind = $2", [
      ...[new Date(0), TRIM_SIGN_IN_TASK],
    ]);
    server.app.worker.wake();
    await waitFor(async () => {
      const left = await database.query(
        "select id::text from sandbox_outbox union all select person_id::text from password_links",
      );
      return left.length === 0 || null;
    });
  });

  test("of a person who has a password already is a notice without a link", async () => {
    const email = "known@example.test";
    await invite(email);
    await choose(await linkTo(email, /^Invitation/));
    const { account_id } = await server.addAccount("Second account");
    await invite(email, account_id);
    const [mail] = await waitFor(async () => {
      const found = await mailsTo(email);
      return found.some(({ subject }) => /member of Second account/.test(subject)) ? found : null;
    });
    expect(mail!.text).toContain("/sign-in");
    expect(mail!.text).not.toContain("set-password");
  });
});

describe("a reset link", () => {
  test("sets a new password, ends all sessions and the other links", async () => {
    const email = "reset@example.test";
    await invite(email);
    const { person } = await choose(await linkTo(email, /^Invitation/));
    await person.signIn(email, { password: CHOSEN });
    expect((await person.get("/dashboard")).statusCode).toBe(200);
    await requestReset(email);
    const first = await linkTo(email, /^Reset/);
    await requestReset(` ${email.toUpperCase()} `);
    await waitFor(async () => (await linkTo(email, /^Reset/)) !== first || null);
    const { answer } = await choose(first, "entirely different words");
    expect(answer.statusCode).toBe(303);
    expect((await person.get("/dashboard")).statusCode).toBe(303);
    expect((await visitor().get(await linkTo(email, /^Reset/))).statusCode).toBe(410);
    expect((await visitor().signIn(email, { password: CHOSEN })).statusCode).toBe(401);
    const again = await visitor().signIn(email, { password: "entirely different words" });
    expect(again.statusCode).toBe(303);
    await waitFor(async () => {
      const mails = await mailsTo(email);
      return mails.some(({ subject }) => /was changed/.test(subject)) || null;
    });
  });

  test("keeps out whoever signs in with the old password while it is used", async () => {
    const email = "raced@example.test";
    const { person_id } = await invite(email);
    await choose(await linkTo(email, /^Invitation/));
    const intruder = visitor();
    const answer = await whilePasswordIsSet(server.db.database, person_id, () =>
      intruder.signIn(email, { password: CHOSEN }),
    );
    expect(answer.statusCode).toBe(401);
  });

  test("also ends the session of a sign-in that began before it and ends after it", async () => {
    const email = "overtaken@example.test";
    const { account_id, person_id } = await invite(email);
    const { database, index_key } = server.core;
    let chosen: ReturnType<typeof choose> | undefined;
    const path = await linkTo(email, /^Invitation/);
    await database.transaction(async (tx) => {
      await lockPersonById(tx, person_id);
      chosen = choose(path);
      await waitFor(async () => (await isPersonAwaited(server.db.database)) || null);
      startSession(tx, index_key, { account_id, person_id }, new Date());
    });
    expect((await chosen!).answer.statusCode).toBe(303);
    const left = await database.query("select from sessions where person_id = $1", [person_id]);
    expect(left).toEqual([]);
  });

  test("is asked for with the same answer for a known and an unknown e-mail, and sent to members only", async () => {
    const email = "exists@example.test";
    await invite(email);
    await linkTo(email, /^Invitation/);
    const [known, unknown] = [await requestReset(email), await requestReset("nobody@example.test")];
    expect(known.body).toContain("Check your mail");
    expect(unknown.body).toBe(known.body);
    expect(unknown.statusCode).toBe(known.statusCode);
    await linkTo(email, /^Reset/);
    // Mail is sent in the order it was asked for, so this one shows that the other was dropped.
    await waitFor(async () => {
      const rows = await server.db.database.query("select 1 from mails");
      return rows.length === 0 || null;
    });
    expect(await mailsTo("nobody@example.test")).toEqual([]);
  });

  test("is sent five times an hour at most; the page says the same, and the links still work", async () => {
    const email = "flooded@example.test";
    await invite(email);
    await linkTo(email, /^Invitation/);
    for (let asked = 1; asked <= 7; asked += 1) {
      expect((await requestReset(email)).body).toContain("Check your mail");
    }
    const links = await waitFor(async () => {
      const resets = (await mailsTo(email)).filter(({ subject }) => /^Reset/.test(subject));
      return resets.length >= 5 ? resets : null;
    });
    expect(links).toHaveLength(5);
    const path = /(\/set-password\?token=\S+)/.exec(links.at(-1)!.text)![1]!;
    expect((await choose(path)).answer.statusCode).toBe(303);
  });
});

test("made-up links are refused after thirty in a minute, also with a valid one, elsewhere not", async () => {
  const email = "guessed@example.test";
  await invite(email);
  const path = await linkTo(email, /^Invitation/);
  const guesser = visitor();
  await guesser.get("/forgot-password");
  const token = () => randomBytes(32).toString("base64url");
  const statuses: number[] = [];
  for (let tried = 0; tried < 20; tried += 1) {
    statuses.push((await guesser.get(`/set-password?token=${token()}`)).statusCode);
    const sent = await guesser.post("/set-password", { token: token(), password: CHOSEN });
    statuses.push(sent.statusCode);
  }
  expect(new Set(statuses)).toEqual(new Set([410, 429]));
  const refused = await guesser.get(path);
  expect(refused.statusCode).toBe(429);
  expect(Number(refused.headers["retry-after"])).toBeGreaterThan(0);
  expect((await choose(path)).answer.statusCode).toBe(303);
});

test("who is removed and invited again cannot use the old password, session or link", async () => {
  const email = "again@example.test";
  const { database, clock } = server.core;
  const { account_id, person_id } = await invite(email);
  const { person } = await choose(await linkTo(email, /^Invitation/));
  await person.signIn(email, { password: CHOSEN });
  await requestReset(email);
  const old_link = await linkTo(email, /^Reset/);
  await database.transaction((tx) => removeMember(tx, { account_id, person_id }, BY, clock.now()));
  expect((await invite(email)).person_id).toBe(person_id);
  expect((await person.get("/dashboard")).statusCode).toBe(303);
  expect((await visitor().signIn(email, { password: CHOSEN })).statusCode).toBe(401);
  expect((await visitor().get(old_link)).statusCode).toBe(410);
});

describe("a new password is refused", () => {
  let path: string;
  beforeAll(async () => {
    await invite("marianne.weber@example.test");
    path = await linkTo("marianne.weber@example.test", /^Invitation/);
  });

  test.each([
    ["short words", "at least 12"],
    ["x".repeat(201), "at most 200"],
    ["aaaaaaaaaaaaaa", "simple sequence"],
    ["abcabcabcabcabc", "simple sequence"],
    ["qwertyuiopqwerty", "simple sequence"],
    ["345678901234", "simple sequence"],
    ["zyxwvutsrqponm", "simple sequence"],
    ["918273645546372819", "letters"],
    ["Password2026!", "too common"],
    ["P@ssw0rd!!!!", "too common"],
    ["!!liverpool1892", "too common"],
    ["dragon-dragon-9", "too common"],
    ["marianne.weber@example.test", "e-mail address"],
    ["Marianne-Weber-1984", "e-mail address"],
    ["sliproad-2026!", "name Sliproad"],
  ])("%s", async (password, reason) => {
    const { answer } = await choose(path, password);
    expect(answer.statusCode).toBe(422);
    expect(answer.body).toContain(reason);
  });

  test("but three words pass, with spaces and letters of any script", async () => {
    const { answer } = await choose(path, "дождь über horses");
    expect(answer.statusCode).toBe(303);
  });
});
