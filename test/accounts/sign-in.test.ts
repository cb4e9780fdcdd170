import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { hashEmail } from "../../src/accounts/person-email.ts";
import { createSignInLimits } from "../../src/accounts/sign-in/attempt-limits.ts";
import { readDevice } from "../../src/accounts/sign-in/known-device.ts";
import { findPasswordTurn, signIn } from "../../src/accounts/sign-in/sign-in.ts";
import { HttpVisitor } from "../harness/http-visitor.ts";
import { PASSWORD } from "../harness/password.ts";
import { type AccessServer, startAccessServer } from "./access-server.ts";
import { useRateClock } from "./rate-clock.ts";
import { statementsOf } from "./statements.ts";

const ADMIN = "ada@example.test";
const BOTH = "both@example.test";
const NAME = "sliproad_session";

const rate_clock = useRateClock();
let server: AccessServer;
let operator_id: string;
let second_id: string;
let person_id: string;
let addresses = 0;

beforeAll(async () => {
  server = await startAccessServer({ public_url: "http://127.0.0.1:4000" });
  operator_id = await server.addAccount("First & Co", true);
  second_id = await server.addAccount("Second");
  person_id = await server.addMember(operator_id, ADMIN, "admin");
  await server.addMember(operator_id, BOTH, "admin");
  await server.addMember(second_id, BOTH.toUpperCase(), "developer");
});

afterAll(() => server.close());

function visitor(): HttpVisitor {
  addresses += 1;
  return new HttpVisitor(server.app, `203.0.113.${addresses}`);
}

function listAudit(action: string): Promise<Record<string, unknown>[]> {
  return server.deps.database.query(
    "select account_id, actor, record from audit_entries where action = $1 order by id desc",
    [action],
  );
}

describe("a session", () => {
  test("starts with the correct password and an e-mail in any letter case", async () => {
    const ada = visitor();
    const answer = await ada.signIn(" ADA@Example.test ");
    expect(answer.statusCode).toBe(303);
    expect(answer.headers.location).toBe("/dashboard");
    const dashboard = await ada.get("/dashboard");
    expect(dashboard.statusCode).toBe(200);
    expect(dashboard.body).toContain("First &amp; Co");
    expect(dashboard.body).toContain(ADMIN);
    expect(dashboard.body).toContain("Sandbox");
    expect(dashboard.headers["cache-control"]).toBe("no-store");
  });

  test("is a cookie of 12 hours that scripts and other sites cannot read", async () => {
    const answer = await visitor().signIn(ADMIN);
    const cookie = answer.cookies.find(({ name }) => name === NAME);
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: "Lax", path: "/", maxAge: 43_200 });
    expect(cookie?.secure).toBeUndefined();
    expect(cookie?.value).toMatch(/^[A-Za-z0-9_-]{76}$/);
  });

  test("is stored as a keyed hash only", async () => {
    const ada = visitor();
    await ada.signIn(ADMIN);
    const token = ada.cookies.get(NAME)!;
    const rows = await server.deps.database.query<{ row: string }>(
      "select sessions::text || encode(token_hash, 'escape') as row from sessions",
    );
    expect(rows.length).toBeGreaterThan(0);
    expect(rows.some(({ row }) => row.includes(token))).toBe(false);
  });

  test("gets a new token at every sign-in, and the previous one ends", async () => {
    const ada = visitor();
    ada.cookies.set(NAME, "p".repeat(76));
    await ada.signIn(ADMIN);
    const first = ada.cookies.get(NAME)!;
    expect(first).not.toBe("p".repeat(76));
    const thief = visitor();
    thief.cookies.set(NAME, first);
    expect((await thief.get("/dashboard")).statusCode).toBe(200);
    // The form of a tab that was opened before.
    const tab = visitor();
    await tab.get("/sign-in");
    tab.cookies.set(NAME, first);
    expect((await tab.post("/sign-in", { email: ADMIN, password: PASSWORD })).statusCode).toBe(303);
    expect(tab.cookies.get(NAME)).not.toBe(first);
    expect((await thief.get("/dashboard")).statusCode).toBe(303);
  });

  test("ends an hour after it was last used", async () => {
    const ada = visitor();
    await ada.signIn(ADMIN);
    const difference = vi.spyOn(server.deps.clock, "difference_ms");
    for (const minutes of [55, 110]) {
      difference.mockReturnValue(minutes * 60_000);
      expect((await ada.get("/dashboard")).statusCode).toBe(200);
    }
    difference.mockReturnValue(175 * 60_000);
    expect((await ada.get("/dashboard")).statusCode).toBe(303);
  });

  test("records its last use once a minute, not with every request", async () => {
    const ada = visitor();
    await ada.signIn(ADMIN);
    const query = vi.spyOn(server.deps.database, "query");
    const writes = () => query.mock.calls.filter(([text]) => /^update sessions/.test(text)).length;
    for (let at = 0; at < 5; at += 1) await ada.get("/dashboard");
    expect(writes()).toBe(0);
    vi.spyOn(server.deps.clock, "difference_ms").mockReturnValue(61_000);
    for (let at = 0; at < 5; at += 1) await ada.get("/dashboard");
    expect(writes()).toBe(1);
  });

  test("ends 12 hours after the sign-in, and the next sign-in deletes it", async () => {
    const ada = visitor();
    await ada.signIn(ADMIN);
    const difference = vi.spyOn(server.deps.clock, "difference_ms");
    for (let minutes = 50; minutes < 720; minutes += 50) {
      difference.mockReturnValue(minutes * 60_000);
      expect((await ada.get("/dashboard")).statusCode).toBe(200);
    }
    difference.mockReturnValue(12 * 3_600_000);
    expect((await ada.get("/dashboard")).statusCode).toBe(303);
    await visitor().signIn(ADMIN);
    const rows = await server.deps.database.query("select 1 from sessions");
    expect(rows).toHaveLength(1);
  });

  test("ends at sign-out, which is in the audit log", async () => {
    const ada = visitor();
    await ada.signIn(ADMIN);
    const token = ada.cookies.get(NAME)!;
    await ada.get("/dashboard");
    const answer = await ada.post("/sign-out", {});
    expect(answer.headers.location).toBe("/sign-in");
    expect(ada.cookies.has(NAME)).toBe(false);
    ada.cookies.set(NAME, token);
    expect((await ada.get("/dashboard")).statusCode).toBe(303);
    const actor = `member:${person_id}`;
    expect((await listAudit("session.create"))[0]).toMatchObject({ actor });
    expect((await listAudit("session.delete"))[0]).toMatchObject({
      account_id: operator_id,
      actor,
      record: `person:${person_id}`,
    });
  });

  test("starts in the account that the person joined first, however old another one is", async () => {
    const email = "joined@example.test";
    const joined_id = await server.addMember(second_id, email, "admin");
    await server.addMember(operator_id, email, "admin");
    const joined = visitor();
    await joined.signIn(email);
    expect((await joined.get("/dashboard")).body).toContain("<h1>Second</h1>");
    const [last] = await listAudit("session.create");
    expect(last).toMatchObject({ account_id: second_id, actor: `member:${joined_id}` });
  });

  test("moves only to an account of the same person", async () => {
    const both = visitor();
    await both.signIn(BOTH);
    expect((await both.get("/dashboard")).body).toContain("<h1>First &amp; Co</h1>");
    const forged = await both.post("/dashboard/account", { account_id: second_id, csrf: "x" });
    expect(forged.statusCode).toBe(403);
    expect((await both.post("/dashboard/account", { account_id: second_id })).statusCode).toBe(303);
    expect((await both.get("/dashboard")).body).toContain("<h1>Second</h1>");
    expect((await listAudit("session.switch_account"))[0]).toMatchObject({ account_id: second_id });
    const ada = visitor();
    await ada.signIn(ADMIN);
    await ada.get("/dashboard");
    const foreign = await ada.post("/dashboard/account", { account_id: second_id });
    expect(foreign.statusCode).toBe(403);
    expect((await ada.get("/dashboard")).body).toContain("<h1>First &amp; Co</h1>");
  });
});

describe("a sign-in is refused", () => {
  test("with the same message, after the same statements, for an unknown e-mail and a wrong password", async () => {
    const answers = [];
    for (const email of [ADMIN, "nobody@example.test"]) {
      const answer = await visitor().signIn(email, { password: "wrong" });
      const form = answer.body.replaceAll(email, "").replace(/name="csrf" value="[^"]*"/, "");
      answers.push({ status: answer.statusCode, form });
    }
    expect(answers[0]!.status).toBe(401);
    expect(answers[0]!.form).toContain('role="alert">Incorrect e-mail or password.');
    expect(answers[1]).toEqual(answers[0]);
    const statements = [];
    for (const email of [ADMIN, "nobody@example.test"]) {
      const guesser = visitor();
      await guesser.get("/sign-in");
      const guess = () => guesser.post("/sign-in", { email, password: "wrong" });
      statements.push(await statementsOf(server.deps.database, guess));
    }
    expect(statements[0]!.length).toBeGreaterThan(5);
    expect(statements[1]).toEqual(statements[0]);
    const [unknown, known] = await listAudit("session.refuse");
    expect(known).toMatchObject({ account_id: operator_id, record: `person:${person_id}` });
    expect(unknown).toMatchObject({ account_id: operator_id, record: "person:unknown" });
  });

  test("with 429 and Retry-After at the 31st attempt from one IP address", async () => {
    const guesser = visitor();
    for (let attempt = 1; attempt <= 30; attempt += 1) {
      const answer = await guesser.signIn(`guess${attempt}@example.test`, { password: "wrong" });
      expect(answer.statusCode).toBe(401);
    }
    const answer = await guesser.signIn("guess31@example.test");
    expect(answer.statusCode).toBe(429);
    expect(answer.headers["retry-after"]).toBe("60");
    expect(answer.body).toContain("Wait 60 seconds");
  });

  test("counted per /64, because one IPv6 client usually has all of these addresses", async () => {
    const from = (address: string, at: number) =>
      new HttpVisitor(server.app, address).signIn(`six${at}@example.test`, { password: "wrong" });
    for (let at = 1; at <= 30; at += 1) {
      expect((await from(`2001:db8:0:1::${at}`, at)).statusCode).toBe(401);
    }
    expect((await from("2001:db8:0:1:ffff::1", 31)).statusCode).toBe(429);
    expect((await from("2001:db8:0:2::1", 32)).statusCode).toBe(401);
  });

  test("at the 11th attempt on one e-mail from one IP address, but not from another", async () => {
    const email = "often@example.test";
    await server.addMember(second_id, email, "approver");
    const guesser = visitor();
    for (let attempt = 1; attempt <= 10; attempt += 1) {
      await guesser.signIn(email, { password: "wrong" });
    }
    expect((await guesser.signIn(email)).statusCode).toBe(429);
    expect((await visitor().signIn(email)).statusCode).toBe(303);
    rate_clock.addMinute();
    expect((await guesser.signIn(email)).statusCode).toBe(303);
  });

  test("after 50 wrong passwords for one e-mail in an hour, from many networks; correct ones do not count", async () => {
    const email = "target@example.test";
    const { deps } = server;
    const limits = createSignInLimits(deps);
    const key = hashEmail(deps.index_key, email).toString("base64");
    const origin = { device: "Firefox on Linux", network: "a" };
    const attempt = (password: string, at: number) =>
      signIn(
        { ...deps, limits },
        {
          ...{ email, password, origin, address: `a${at}`, now: new Date() },
          ...{ device_token: undefined, previous_token: undefined },
        },
      );
    await server.addMember(second_id, email, "approver");
    for (let at = 0; at < 3; at += 1) {
      expect(await attempt(PASSWORD, at)).toHaveProperty("token");
    }
    for (let at = 0; at < 50; at += 1) await (await limits.by_email.begin(key)).end(true);
    expect(await attempt(PASSWORD, 500)).toMatchObject({ code: "too_many_requests" });
    for (let minutes = 0; minutes < 60; minutes += 1) rate_clock.addMinute();
    expect(await attempt(PASSWORD, 501)).toHaveProperty("token");
  });

  test("but strangers cannot lock out the owner of a browser that signed in before", async () => {
    const email = "owner@example.test";
    await server.addMember(second_id, email, "approver");
    const owner = new HttpVisitor(server.app, "198.51.100.7");
    expect((await owner.signIn(email)).statusCode).toBe(303);
    // Strangers fail often, from the owner's own network too.
    const { deps } = server;
    const limits = createSignInLimits(deps);
    const key = hashEmail(deps.index_key, email).toString("base64");
    for (let at = 0; at < 30; at += 1) await limits.by_address.take("198.51.100.7");
    for (let at = 0; at < 10; at += 1) {
      await limits.by_email_and_address.take(`${key} 198.51.100.7`);
    }
    for (let at = 0; at < 50; at += 1) await (await limits.by_email.begin(key)).end(true);
    expect((await visitor().signIn(email)).statusCode).toBe(429);
    expect((await owner.signIn(email)).statusCode).toBe(303);
    // The cookie is of no use to guess passwords with, nor for another person.
    const thief = visitor();
    const device = owner.cookies.get("sliproad_device")!;
    thief.cookies.set("sliproad_device", device);
    expect((await thief.signIn(email, { password: "wrong" })).statusCode).toBe(401);
    for (let at = 0; at < 19; at += 1) {
      await (await limits.by_device.begin(`${key} ${device.split(".")[1]}`)).end(true);
    }
    expect((await thief.signIn(email)).statusCode).toBe(429);
    expect(readDevice(deps.index_key, email, device, new Date())).not.toBeNull();
    expect(readDevice(deps.index_key, ADMIN, device, new Date())).toBeNull();
    expect(readDevice(deps.index_key, email, `${device.slice(0, -1)}x`, new Date())).toBeNull();
    const in_91_days = new Date(Date.now() + 91 * 86_400_000);
    expect(readDevice(deps.index_key, email, device, in_91_days)).toBeNull();
  });

  test("without its form's CSRF token", async () => {
    const ada = visitor();
    await ada.get("/sign-in");
    for (const csrf of ["", "forged", "A".repeat(43)]) {
      const answer = await ada.post("/sign-in", { email: ADMIN, password: PASSWORD, csrf });
      expect(answer.statusCode).toBe(403);
      expect(answer.body).toContain("This form is out of date");
    }
    ada.cookies.set("sliproad_form", "B".repeat(43));
    const answer = await ada.post("/sign-in", { email: ADMIN, password: PASSWORD });
    expect(answer.statusCode).toBe(403);
  });

  test("for a person who no longer belongs to an account, and their session ends", async () => {
    const email = "left@example.test";
    const left_id = await server.addMember(second_id, email, "admin");
    const left = visitor();
    await left.signIn(email);
    await server.deps.database.query("delete from members where person_id = $1", [left_id]);
    expect((await left.get("/dashboard")).statusCode).toBe(303);
    expect((await left.signIn(email)).statusCode).toBe(401);
  });
});

test("members' passwords wait for the turn of the account that they joined first", async () => {
  expect(await findPasswordTurn(server.deps.database, person_id)).toBe(operator_id);
  const nobody = crypto.randomUUID();
  expect(await findPasswordTurn(server.deps.database, nobody)).toBe(nobody);
});

test("a reset link is asked for with the same statements for a known and an unknown e-mail", async () => {
  const statements = [];
  for (const email of [ADMIN, "nobody@example.test"]) {
    const person = visitor();
    await person.get("/forgot-password");
    const ask = () => person.post("/forgot-password", { email });
    statements.push(await statementsOf(server.deps.database, ask));
  }
  expect(statements[0]!.some((text) => /insert into mails/.test(text))).toBe(true);
  expect(statements[1]).toEqual(statements[0]);
});

describe("under https", () => {
  test("cookies are secure and bound to this host", async () => {
    const secure = await startAccessServer({ public_url: "https://pay.example" });
    try {
      await secure.addMember(await secure.addAccount("demo", true), ADMIN, "admin");
      const ada = new HttpVisitor(secure.app);
      const answer = await ada.signIn(ADMIN);
      expect(answer.statusCode).toBe(303);
      const cookie = answer.cookies.find(({ name }) => name === "__Host-sliproad_session");
      expect(cookie).toMatchObject({ secure: true, httpOnly: true, sameSite: "Lax", path: "/" });
      expect(ada.cookies.has("__Host-sliproad_form")).toBe(true);
    } finally {
      await secure.close();
    }
  });
});

describe("a password", () => {
  test("never reaches the log, nor does its hash, the e-mail or a session token", async () => {
    const ada = visitor();
    await ada.signIn(ADMIN);
    await ada.get("/dashboard");
    const token = "T".repeat(43);
    await ada.get(`/set-password?token=${token}`);
    const log = server.log.join("");
    expect(log).toContain('"route":"/sign-in"');
    for (const secret of [PASSWORD, token, "argon2", "example.test", ada.cookies.get(NAME)!]) {
      expect(log.includes(secret)).toBe(false);
    }
  });
});
