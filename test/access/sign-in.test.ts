import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { addPageScope, requireSession, sendPage } from "../../src/access/page-scope.ts";
import { hashPassword, verifyPassword } from "../../src/access/passwords.ts";
import { html } from "../../src/platform/http/html.ts";
import { type AccessServer, PASSWORD, startAccessServer } from "./access-server.ts";
import { HttpVisitor } from "./http-visitor.ts";

const ADMIN = "ada@example.test";
const ACCOUNTANT = "otto@example.test";
const BOTH = "both@example.test";
const NAME = "sliproad_session";

let server: AccessServer;
let operator_id: string;
let second_id: string;
let person_id: string;
let addresses = 0;
let minutes = 0;

beforeAll(async () => {
  server = await startAccessServer({
    public_url: "http://127.0.0.1:4000",
    extend: (app, deps) =>
      addPageScope(app, deps, (scope) => {
        scope.get("/admins", { onRequest: requireSession("admin") }, (_request, reply) =>
          sendPage(reply, html`<p>for admins</p>`),
        );
        scope.get("/broken", () => {
          throw new Error("a secret of the inside");
        });
      }),
  });
  operator_id = await server.addAccount("First & Co", true);
  second_id = await server.addAccount("Second");
  person_id = await server.addMember(operator_id, ADMIN, "admin");
  await server.addMember(operator_id, ACCOUNTANT, "accountant");
  await server.addMember(operator_id, BOTH, "admin");
  await server.addMember(second_id, BOTH.toUpperCase(), "developer");
});

afterAll(() => server.close());

// The limits count on this clock. It stands still, in another minute for every test: no test
// meets the attempts of another, and none is cut in two by the end of a minute.
beforeEach(() => {
  minutes += 2;
  vi.spyOn(performance, "now").mockImplementation(() => minutes * 60_000);
});
afterEach(() => {
  vi.restoreAllMocks();
});

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
  test("begins with the right e-mail, in any case, and password, and shows the dashboard", async () => {
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

  test("is a cookie of 12 hours that scripts and other sites do not get", async () => {
    const answer = await visitor().signIn(ADMIN);
    const cookie = answer.cookies.find(({ name }) => name === NAME);
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: "Lax", path: "/", maxAge: 43_200 });
    expect(cookie?.secure).toBeUndefined();
    expect(cookie?.value).toMatch(/^[A-Za-z0-9_-]{43}$/);
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

  test("gets a new token at every sign-in, and the one before ends", async () => {
    const ada = visitor();
    ada.cookies.set(NAME, "p".repeat(43));
    await ada.signIn(ADMIN);
    const first = ada.cookies.get(NAME)!;
    expect(first).not.toBe("p".repeat(43));
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

  test("ends 12 hours after the sign-in, and the next sign-in removes it", async () => {
    const ada = visitor();
    await ada.signIn(ADMIN);
    const difference = vi.spyOn(server.deps.clock, "difference_ms");
    difference.mockReturnValue(12 * 3_600_000 - 60_000);
    expect((await ada.get("/dashboard")).statusCode).toBe(200);
    difference.mockReturnValue(12 * 3_600_000);
    expect((await ada.get("/dashboard")).statusCode).toBe(303);
    await visitor().signIn(ADMIN);
    const rows = await server.deps.database.query("select 1 from sessions");
    expect(rows).toHaveLength(1);
  });

  test("ends at sign-out, which the audit log tells", async () => {
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

  test("starts in the oldest account and moves only to one of the same person", async () => {
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
  test("in the same words for an unknown e-mail and for a wrong password", async () => {
    const answers = [];
    for (const email of [ADMIN, "nobody@example.test"]) {
      const answer = await visitor().signIn(email, { password: "wrong" });
      const form = answer.body.replaceAll(email, "").replace(/name="csrf" value="[^"]*"/, "");
      answers.push({ status: answer.statusCode, form });
    }
    expect(answers[0]!.status).toBe(401);
    expect(answers[0]!.form).toContain('role="alert">E-mail or password is wrong.');
    expect(answers[1]).toEqual(answers[0]);
    const [unknown, known] = await listAudit("session.refuse");
    expect(known).toMatchObject({ account_id: operator_id, record: `person:${person_id}` });
    expect(unknown).toMatchObject({ account_id: operator_id, record: "person:unknown" });
  });

  test("with 429 and Retry-After at the 11th attempt from one address", async () => {
    const guesser = visitor();
    for (let attempt = 1; attempt <= 10; attempt += 1) {
      const answer = await guesser.signIn(`guess${attempt}@example.test`, { password: "wrong" });
      expect(answer.statusCode).toBe(401);
    }
    const answer = await guesser.signIn("guess11@example.test");
    expect(answer.statusCode).toBe(429);
    expect(answer.headers["retry-after"]).toBe("60");
    expect(answer.body).toContain("Wait 60 seconds");
  });

  test("at the 11th attempt on one e-mail, from whatever address, even with the password", async () => {
    const email = "often@example.test";
    await server.addMember(second_id, email, "approver");
    for (let attempt = 1; attempt <= 10; attempt += 1) {
      await visitor().signIn(email, { password: "wrong" });
    }
    expect((await visitor().signIn(email)).statusCode).toBe(429);
    minutes += 1;
    expect((await visitor().signIn(email)).statusCode).toBe(303);
  });

  test("without the token of its own form", async () => {
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

  test("for a person who belongs to no account any more, and their session ends", async () => {
    const email = "left@example.test";
    const left_id = await server.addMember(second_id, email, "admin");
    const left = visitor();
    await left.signIn(email);
    await server.deps.database.query("delete from members where person_id = $1", [left_id]);
    expect((await left.get("/dashboard")).statusCode).toBe(303);
    expect((await left.signIn(email)).statusCode).toBe(401);
  });
});

describe("a page", () => {
  test("leads to sign-in and back to where one wanted to go", async () => {
    const ada = visitor();
    const answer = await ada.get("/dashboard");
    expect(answer.statusCode).toBe(303);
    expect(answer.headers.location).toBe("/sign-in?next=/dashboard");
    const signed_in = await ada.signIn(ADMIN, { next: "/admins?page=2" });
    expect(signed_in.headers.location).toBe("/admins?page=2");
    expect((await ada.get("/")).headers.location).toBe("/dashboard");
  });

  test.each([
    "//evil.example",
    "/\\evil.example",
    "\\\\evil.example",
    "https://evil.example/",
    "https:evil.example",
    "/\t/evil.example",
    "/.//evil.example",
    "/a/..//evil.example",
    "javascript:alert(1)",
    "evil.example",
  ])("never leads to another site: next=%j", async (next) => {
    const ada = visitor();
    await ada.signIn(BOTH);
    const query = new URLSearchParams({ next }).toString();
    expect((await ada.get(`/sign-in?${query}`)).headers.location).toBe("/dashboard");
    const form = await visitor().get(`/sign-in?${query}`);
    expect(form.body).toContain('name="next" value="/dashboard"');
    const answer = await visitor().signIn(BOTH, { next });
    expect(answer.headers.location).toBe("/dashboard");
  });

  test("for another role is a 403 page", async () => {
    const otto = visitor();
    await otto.signIn(ACCOUNTANT);
    const answer = await otto.get("/admins");
    expect(answer.statusCode).toBe(403);
    expect(answer.headers["content-type"]).toBe("text/html; charset=utf-8");
    expect(answer.body).toContain("Your role in this account does not open this page.");
    const ada = visitor();
    await ada.signIn(ADMIN);
    expect((await ada.get("/admins")).statusCode).toBe(200);
  });

  test("shows keys and audit log to admins and developers only", async () => {
    const ada = visitor();
    await ada.signIn(ADMIN);
    expect((await ada.get("/dashboard")).body).toContain("member.create");
    const otto = visitor();
    await otto.signIn(ACCOUNTANT);
    const shown = (await otto.get("/dashboard")).body;
    expect(shown).not.toContain("member.create");
    expect(shown).toContain("Admins and developers of this account see them here.");
  });

  test("forbids scripts, frames and foreign forms", async () => {
    const { headers } = await visitor().get("/sign-in");
    expect(headers["content-security-policy"]).toBe(
      "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; " +
        "img-src 'self' data:; base-uri 'none'",
    );
    expect(headers["x-content-type-options"]).toBe("nosniff");
    expect(headers["referrer-policy"]).toBe("same-origin");
  });

  test("escapes what people typed", async () => {
    const email = `"><script>alert('x')</script>@example.test`;
    const answer = await visitor().signIn(email, { password: "wrong" });
    expect(answer.body).not.toContain("<script>");
    expect(answer.body).toContain("&quot;&gt;&lt;script&gt;alert(&#39;x&#39;)");
  });

  test("tells an error as a page to people and as JSON to programs, and no secrets", async () => {
    const ada = visitor();
    const unknown = await ada.get("/nowhere");
    expect(unknown.statusCode).toBe(404);
    expect(unknown.body).toContain("There is no such page");
    const broken = await ada.get("/broken");
    expect(broken.statusCode).toBe(500);
    expect(broken.body).not.toContain("secret");
    expect(broken.body).toContain(broken.headers["x-request-id"]);
    const for_program = await ada.get("/nowhere", { accept: "application/json" });
    expect(for_program.json()).toMatchObject({ error_code: "route_not_found", status: 404 });
  });

  test("links a stylesheet that the browser may keep", async () => {
    const path = /href="(\/assets\/pages\.css\?[^"]+)"/.exec(
      (await visitor().get("/sign-in")).body,
    );
    const answer = await visitor().get(path![1]!);
    expect(answer.headers["content-type"]).toBe("text/css; charset=utf-8");
    expect(answer.headers["cache-control"]).toContain("immutable");
    expect((await visitor().get("/assets/pages.css")).headers["cache-control"]).toBe("no-cache");
  });
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
  test("is stored as argon2id with OWASP's parameters, and so is the e-mail sealed", async () => {
    const [person] = await server.deps.database.query<{ password_hash: string; row: string }>(
      "select password_hash, people::text || encode(email, 'escape') as row from people limit 1",
    );
    expect(person!.password_hash).toMatch(
      /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/,
    );
    expect(person!.row).not.toContain("example.test");
  });

  test("is salted, and verifies in whichever form its accents were typed", async () => {
    const password_hash = await hashPassword("schlüssel-bund");
    expect(await hashPassword("schlüssel-bund")).not.toBe(password_hash);
    expect(await verifyPassword(password_hash, "schlu\u0308ssel-bund")).toBe(true);
    expect(await verifyPassword(password_hash, "schluessel-bund")).toBe(false);
    expect(await verifyPassword(null, "schlüssel-bund")).toBe(false);
  });

  test("waits its turn, and a queue that is full refuses rather than grows", async () => {
    const outcomes = await Promise.allSettled(
      Array.from({ length: 70 }, () => verifyPassword(null, "x")),
    );
    const refused = outcomes.filter(({ status }) => status === "rejected");
    expect(refused).toHaveLength(2);
    expect(refused[0]).toMatchObject({ reason: { code: "unavailable", retry_after_seconds: 5 } });
    expect(await verifyPassword(null, "x")).toBe(false);
  });

  test("never reaches the log, nor does its hash, the e-mail or a session token", async () => {
    const ada = visitor();
    await ada.signIn(ADMIN);
    await ada.get("/broken");
    const log = server.log.join("");
    expect(log).toContain('"route":"/sign-in"');
    for (const secret of [PASSWORD, "argon2", "example.test", ada.cookies.get(NAME)!]) {
      expect(log.includes(secret)).toBe(false);
    }
  });
});
