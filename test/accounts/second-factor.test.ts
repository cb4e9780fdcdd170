import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { stepOfCode } from "../../src/accounts/second-factor/totp.ts";
import { HttpVisitor } from "../harness/http-visitor.ts";
import { changeMember } from "../harness/members.ts";
import { PASSWORD } from "../harness/password.ts";
import { type AccessServer, startAccessServer } from "./access-server.ts";
import { ENROL, enrol } from "./authenticator.ts";
import { whilePasswordIsSet } from "./new-password.ts";
import { useRateClock } from "./rate-clock.ts";

const SECURITY = "/dashboard/security";
const FACTOR = "/second-factor";

const rate_clock = useRateClock();
let server: AccessServer;
let account_id: string;
let people = 0;

beforeAll(async () => {
  const environment = { SLIPROAD_SECOND_FACTOR: "required" };
  server = await startAccessServer({ public_url: "http://127.0.0.1:4000", environment });
  account_id = await server.addAccount("First", true);
});
afterAll(() => server.close());

function visitor(): HttpVisitor {
  people += 1;
  return new HttpVisitor(server.app, `198.51.100.${people}`);
}

/** A member who is signed in, without a second factor. */
async function addPerson(role: "admin" | "developer" = "developer") {
  const email = `person-${crypto.randomUUID()}@example.test`;
  const person_id = await server.addMember(account_id, email, role);
  const person = visitor();
  await person.signIn(email);
  return { email, person_id, person };
}

async function addEnrolled(role: "admin" | "developer" = "developer") {
  const added = await addPerson(role);
  return { ...added, ...(await enrol(added.person)) };
}

/** A browser in which the password was given. */
async function halfSignedIn(email: string): Promise<HttpVisitor> {
  const other = visitor();
  const answer = await other.signIn(email);
  expect(answer.headers.location).toBe(`${FACTOR}?next=/dashboard`);
  await other.get(FACTOR);
  return other;
}

async function actionsOf(person_id: string): Promise<unknown[]> {
  const rows = await server.deps.database.query(
    "select action from audit_entries where record = $1 order by id",
    [`person:${person_id}`],
  );
  return rows.map(({ action }) => action);
}

// RFC 6238, appendix B, for SHA-1; the last six of its eight digits.
test.each([
  [59, "287082"],
  [1_111_111_109, "081804"],
  [1_111_111_111, "050471"],
  [1_234_567_890, "005924"],
  [2_000_000_000, "279037"],
  [20_000_000_000, "353130"],
])("the code at %i s is that of RFC 6238", (seconds, code) => {
  const seed = Buffer.from("12345678901234567890");
  const at = (moved: number) => new Date((seconds + moved) * 1000);
  const step = BigInt(Math.floor(seconds / 30));
  expect(stepOfCode(seed, code, at(0))).toBe(step);
  // The step before and after are accepted, as what they are; others are not.
  expect(stepOfCode(seed, code, at(30))).toBe(step);
  expect(stepOfCode(seed, code, at(-30))).toBe(step);
  expect(stepOfCode(seed, code, at(60))).toBeNull();
  expect(stepOfCode(seed, code, at(-60))).toBeNull();
});

describe("with a second factor", () => {
  test("the password alone opens no page; the code does, with another session", async () => {
    const { email, person_id, app } = await addEnrolled();
    const other = await halfSignedIn(email);
    for (const path of ["/dashboard", SECURITY, ENROL]) {
      expect((await other.get(path)).headers.location).toMatch(/^\/second-factor\?next=/);
    }
    const before = other.cookies.get("sliproad_session");
    await other.get(FACTOR);
    const answer = await other.post(FACTOR, { code: app.code(1), next: "/dashboard" });
    expect(answer.headers.location).toBe("/dashboard");
    expect(other.cookies.get("sliproad_session")).not.toBe(before);
    expect((await other.get("/dashboard")).statusCode).toBe(200);
    expect(await actionsOf(person_id)).toEqual([
      ...["member.create", "session.create", "second_factor.create"],
      ...["session.password", "session.create"],
    ]);
  });

  test("a code is accepted once, also by requests at the same time", async () => {
    const { email, app } = await addEnrolled();
    const code = app.code(1);
    const browsers = [];
    for (let at = 0; at < 5; at += 1) browsers.push(await halfSignedIn(email));
    const answers = await Promise.all(browsers.map((one) => one.post(FACTOR, { code })));
    expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([303, 401, 401, 401, 401]);
    const late = await halfSignedIn(email);
    const replayed = await late.post(FACTOR, { code });
    expect(replayed.statusCode).toBe(401);
    expect(replayed.body).toContain("was used already");
    // Nor is an earlier one, though its step would still be accepted.
    expect((await late.post(FACTOR, { code: app.code(-1) })).statusCode).toBe(401);
  });

  test("each of ten recovery codes signs in once, in any spelling, also at the same time", async () => {
    const { email, person_id, codes } = await addEnrolled();
    expect(new Set(codes).size).toBe(10);
    const [first, second, last] = codes as [string, string, string];
    const both = [await halfSignedIn(email), await halfSignedIn(email)];
    const spelled = first.toLowerCase().replaceAll("-", " ");
    const answers = await Promise.all(both.map((one) => one.post(FACTOR, { code: spelled })));
    expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([303, 401]);
    const third = await halfSignedIn(email);
    expect((await third.post(FACTOR, { code: second })).statusCode).toBe(303);
    expect((await third.get(SECURITY)).body).toMatch(/Recovery codes left<\/dt><dd>8</);
    // Nor does one confirm anything without a mail.
    await third.get("/confirm");
    expect((await third.post("/confirm", { code: last })).statusCode).toBe(303);
    const rows = await server.deps.database.query<{ row: string }>(
      "select t::text || encode(seed, 'escape') as row from totp_factors t",
    );
    expect(rows.some(({ row }) => codes.some((code) => row.includes(code)))).toBe(false);
    const mails = await server.deps.database.query("select 1 from mails where kind = $1", [
      "recovery_code_used",
    ]);
    expect(mails).toHaveLength(3);
    expect((await actionsOf(person_id)).filter((one) => one === "session.refuse")).toHaveLength(1);
  });

  test("a code sent while a new password is set signs nobody in", async () => {
    const { email, person_id, app } = await addEnrolled();
    const intruder = await halfSignedIn(email);
    const answer = await whilePasswordIsSet(server.deps.database, person_id, () =>
      intruder.post(FACTOR, { code: app.code(1) }),
    );
    expect(answer.statusCode).toBe(401);
    expect((await intruder.get("/dashboard")).statusCode).toBe(303);
  });

  test("codes of another person are refused", async () => {
    const [one, two] = [await addEnrolled(), await addEnrolled()];
    const browser = await halfSignedIn(one.email);
    for (const code of [two.app.code(1), two.codes[0]!, "000000 ", "", "x".repeat(24)]) {
      expect((await browser.post(FACTOR, { code })).statusCode).toBe(401);
    }
  });

  test("wrong codes are limited like wrong passwords", async () => {
    const { email, app } = await addEnrolled();
    const browser = await halfSignedIn(email);
    let status = 401;
    for (let at = 0; at < 15 && status === 401; at += 1) {
      status = (await browser.post(FACTOR, { code: "123456" })).statusCode;
    }
    expect(status).toBe(429);
    expect((await browser.post(FACTOR, { code: app.code(1) })).statusCode).toBe(429);
    rate_clock.addMinute();
    expect((await browser.post(FACTOR, { code: app.code(1) })).statusCode).toBe(303);
  });

  test("twenty wrong codes a day are all that the password permits; recovery codes still work", async () => {
    const { email, app, codes } = await addEnrolled();
    const statuses: number[] = [];
    for (let at = 0; at < 3; at += 1) {
      const browser = await halfSignedIn(email);
      for (let code = 0; code < 8; code += 1) {
        statuses.push((await browser.post(FACTOR, { code: "123456" })).statusCode);
      }
    }
    expect(statuses.filter((status) => status === 401)).toHaveLength(20);
    rate_clock.addMinute();
    const owner = await halfSignedIn(email);
    expect((await owner.post(FACTOR, { code: app.code(1) })).statusCode).toBe(429);
    expect((await owner.post(FACTOR, { code: codes[0]! })).statusCode).toBe(303);
  });

  test("removing it needs the password and a code, and ends all other sessions", async () => {
    const { email, person, app, codes } = await addEnrolled();
    const other = await halfSignedIn(email);
    await other.post(FACTOR, { code: app.code(1) });
    await person.get(SECURITY);
    for (const fields of [
      { password: "wrong", code: codes[0]! },
      { password: PASSWORD, code: "000000" },
      { password: PASSWORD, code: "" },
    ]) {
      expect((await person.post(`${ENROL}/remove`, fields)).statusCode).toBe(401);
    }
    const removed = await person.post(`${ENROL}/remove`, { password: PASSWORD, code: codes[0]! });
    expect(removed.headers.location).toBe(`${SECURITY}?done=removed`);
    expect((await person.get("/dashboard")).statusCode).toBe(200);
    expect((await other.get("/dashboard")).headers.location).toMatch(/^\/sign-in/);
    expect((await visitor().signIn(email)).headers.location).toBe("/dashboard");
  });

  test("new recovery codes replace those before", async () => {
    const { email, person, app, codes } = await addEnrolled();
    await person.get(SECURITY);
    const fields = { password: PASSWORD, code: app.code(1) };
    const renewed = await person.post(`${SECURITY}/recovery-codes`, fields);
    expect(renewed.statusCode).toBe(200);
    const [fresh] = /[0-9A-Z]{4}(-[0-9A-Z]{4}){5}/.exec(renewed.body)!;
    const browser = await halfSignedIn(email);
    expect((await browser.post(FACTOR, { code: codes[0]! })).statusCode).toBe(401);
    expect((await browser.post(FACTOR, { code: fresh })).statusCode).toBe(303);
  });
});

describe("a role that votes", () => {
  test("must set up a second factor before anything else, at every sign-in", async () => {
    const { email, person } = await addPerson("admin");
    for (const path of ["/dashboard", SECURITY, "/sign-in"]) {
      expect((await person.get(path)).headers.location).toMatch(
        /^\/dashboard\/security\/second-factor\?next=/,
      );
    }
    await enrol(person);
    expect((await person.get("/dashboard")).statusCode).toBe(200);
    const late = visitor();
    expect((await late.signIn(email)).headers.location).toBe(`${FACTOR}?next=/dashboard`);
  });

  test("must do it at the next request when the role is given to a member", async () => {
    const { person, person_id } = await addPerson();
    expect((await person.get("/dashboard")).statusCode).toBe(200);
    await changeMember(server.deps.database, person_id, { role: "approver" });
    expect((await person.get("/dashboard")).headers.location).toMatch(/security\/second-factor/);
  });

  test("cannot set it up long after the password was given", async () => {
    const { person } = await addPerson("admin");
    vi.spyOn(server.deps.clock, "difference_ms").mockReturnValue(11 * 60_000);
    expect((await person.get(ENROL)).headers.location).toMatch(/^\/sign-in\?.*again=1/);
  });
});

test("with SLIPROAD_SECOND_FACTOR=all every role must set one up", async () => {
  const strict = await startAccessServer({
    public_url: "http://127.0.0.1:4000",
    environment: { SLIPROAD_SECOND_FACTOR: "all" },
  });
  const strict_account_id = await strict.addAccount("Strict", true);
  await strict.addMember(strict_account_id, "dev@example.test", "developer");
  const browser = new HttpVisitor(strict.app, "198.51.100.250");
  await browser.signIn("dev@example.test");
  expect((await browser.get("/dashboard")).headers.location).toMatch(/security\/second-factor/);
  await enrol(browser);
  expect((await browser.get("/dashboard")).statusCode).toBe(200);
  await strict.close();
});

describe("setting up a second factor", () => {
  test("needs a correct code, and a seed that was offered to the same session", async () => {
    const { person } = await addPerson();
    const { person: other } = await addPerson();
    const page = await person.get(ENROL);
    const seed = /name="seed" value="([^"]+)"/.exec(page.body)![1]!;
    const wrong = await person.post(ENROL, { seed, code: "000000" });
    const wide = await person.post(ENROL, { seed, code: "１２３４５６" });
    expect(wide.statusCode).toBe(422);
    expect(wrong.statusCode).toBe(422);
    expect(wrong.body).toContain("This code is not correct");
    await other.get(ENROL);
    for (const foreign of [seed, "forged", ""]) {
      const answer = await other.post(ENROL, { seed: foreign, code: "000000" });
      expect(answer.headers.location).toMatch(/^\/dashboard\/security\/second-factor\?/);
    }
    expect((await other.get(SECURITY)).body).toContain("Not set up");
  });

  test("ends the sessions that have none", async () => {
    const { email, person } = await addPerson();
    const other = visitor();
    await other.signIn(email);
    expect((await other.get("/dashboard")).statusCode).toBe(200);
    await enrol(person);
    expect((await other.get("/dashboard")).headers.location).toMatch(/^\/sign-in/);
  });
});

describe("confirming who you are", () => {
  const later = () => vi.spyOn(server.deps.clock, "difference_ms").mockReturnValue(11 * 60_000);

  test("takes the password or a code, gives the session another token, and is limited", async () => {
    const { person, app } = await addEnrolled();
    await person.get("/confirm?next=/dashboard/security");
    expect((await person.post("/confirm", { password: "wrong" })).statusCode).toBe(401);
    expect((await person.post("/confirm", { code: "000000" })).statusCode).toBe(401);
    const before = person.cookies.get("sliproad_session")!;
    const next = "/dashboard/security";
    const confirmed = await person.post("/confirm", { code: app.code(1), next });
    expect(confirmed.headers.location).toBe(next);
    const thief = visitor();
    thief.cookies.set("sliproad_session", before);
    expect((await thief.get("/dashboard")).statusCode).toBe(303);
    await person.get("/confirm");
    const by_password = await person.post("/confirm", { password: PASSWORD, next });
    expect(by_password.headers.location).toBe(next);
    let status = 401;
    await person.get("/confirm");
    for (let at = 0; at < 25 && status === 401; at += 1) {
      status = (await person.post("/confirm", { password: "wrong" })).statusCode;
    }
    expect(status).toBe(429);
  });

  test("never leads to another site", async () => {
    const { person } = await addPerson();
    await person.get("/confirm");
    const answer = await person.post("/confirm", { password: PASSWORD, next: "//evil.example" });
    expect(answer.headers.location).toBe("/dashboard");
  });

  test("is valid for ten minutes", async () => {
    const { person } = await addPerson();
    later();
    const page = await person.get("/dashboard");
    expect(page.statusCode).toBe(200);
    expect((await person.get("/confirm?next=/dashboard")).body).toContain("Confirm it is you");
  });
});

describe("sessions", () => {
  test("are listed with device and network, and end one by one or all at once", async () => {
    const { email, person_id, person } = await addPerson();
    const [phone, laptop] = [visitor(), visitor()];
    await phone.signIn(email);
    await laptop.signIn(email);
    const page = await person.get(SECURITY);
    expect(page.body.match(/Unknown browser/g)).toHaveLength(3);
    expect(page.body).toContain("This session");
    expect(page.body).toContain(`198.51.100.${people}`);
    const ids = [...page.body.matchAll(/name="session_id" value="([^"]+)"/g)].map(([, id]) => id!);
    expect(ids).toHaveLength(2);
    await person.post(`${SECURITY}/sessions/end`, { session_id: ids[0]! });
    const statuses = async () => [
      (await phone.get("/dashboard")).statusCode,
      (await laptop.get("/dashboard")).statusCode,
    ];
    expect((await statuses()).sort()).toEqual([200, 303]);
    await person.post(`${SECURITY}/sessions/end-others`, {});
    expect(await statuses()).toEqual([303, 303]);
    expect((await person.get("/dashboard")).statusCode).toBe(200);
    expect((await actionsOf(person_id)).slice(-2)).toEqual(["session.end", "session.end_others"]);
  });

  test("of other people cannot be ended", async () => {
    const [one, two] = [await addPerson(), await addPerson()];
    const [row] = await server.deps.database.query<{ id: string }>(
      "select id from sessions where person_id = $1",
      [two.person_id],
    );
    await one.person.get(SECURITY);
    for (const session_id of [row!.id, "nothing"]) {
      const answer = await one.person.post(`${SECURITY}/sessions/end`, { session_id });
      expect(answer.statusCode).toBe(404);
    }
    expect((await two.person.get("/dashboard")).statusCode).toBe(200);
  });

  test("other than this one end when the password is changed, which needs the current one", async () => {
    const { email, person_id, person } = await addPerson();
    const other = visitor();
    await other.signIn(email);
    await person.get(SECURITY);
    const change = (current: string, password: string) =>
      person.post(`${SECURITY}/password`, { current, password });
    expect((await change("wrong", "a good long sentence")).statusCode).toBe(401);
    expect((await change(PASSWORD, "password1234")).statusCode).toBe(422);
    expect((await other.get("/dashboard")).statusCode).toBe(200);
    const changed = await change(PASSWORD, "a good long sentence");
    expect(changed.headers.location).toBe(`${SECURITY}?done=password`);
    expect((await person.get("/dashboard")).statusCode).toBe(200);
    expect((await other.get("/dashboard")).statusCode).toBe(303);
    expect((await visitor().signIn(email)).statusCode).toBe(401);
    const again = await visitor().signIn(email, { password: "a good long sentence" });
    expect(again.statusCode).toBe(303);
    expect(await actionsOf(person_id)).toContain("password.change");
  });
});
