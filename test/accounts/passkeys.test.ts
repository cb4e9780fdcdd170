import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { removeMember } from "../../src/accounts/change-members.ts";
import { passkeySite } from "../../src/accounts/passkeys/model.ts";
import { PASSKEYS as PASSKEY_ROWS } from "../../src/accounts/passkeys/store.ts";
import { resetFactor } from "../../src/accounts/second-factor/reset-factor.ts";
import { startSession } from "../../src/accounts/sign-in/sessions.ts";
import { trimSignInTask } from "../../src/accounts/sign-in/tasks.ts";
import { HttpVisitor } from "../harness/http-visitor.ts";
import { PASSWORD } from "../harness/password.ts";
import { type Lies, SoftwareAuthenticator } from "../harness/software-authenticator.ts";
import { vouch } from "../harness/vouch.ts";
import { type AccessServer, startAccessServer } from "./access-server.ts";
import { ENROL, enrol } from "./authenticator.ts";
import { whilePasswordIsSet } from "./new-password.ts";
import { useRateClock } from "./rate-clock.ts";

const ORIGIN = "https://pay.example";
const SECURITY = "/dashboard/security";
const PASSKEYS = `${SECURITY}/passkeys`;
const FACTOR = "/second-factor";
const SIGN_IN = "/sign-in/passkey";
const SESSION = "__Host-sliproad_session";
const BY = { actor: "command line", reason: "set up by a test" } as const;

const rate_clock = useRateClock();
let server: AccessServer;
let account_id: string;
let people = 0;

beforeAll(async () => {
  const environment = { SLIPROAD_SECOND_FACTOR: "required" };
  server = await startAccessServer({ public_url: ORIGIN, environment });
  account_id = await server.addAccount("First", true);
});
afterAll(() => server.close());

function visitor(): HttpVisitor {
  people += 1;
  return new HttpVisitor(server.app, `198.51.100.${people}`);
}

async function addPerson(role: "admin" | "developer" = "developer", account = account_id) {
  const email = `person-${crypto.randomUUID()}@example.test`;
  const person_id = await server.addMember(account, email, role);
  const person = visitor();
  // Without the password, whose hash takes most of the time of a sign-in.
  const { database, index_key } = server.deps;
  const session = { account_id: account, person_id };
  const token = await database.transaction(async (tx) =>
    startSession(tx, index_key, session, new Date()),
  );
  person.cookies.set(SESSION, token);
  return { email, person_id, person };
}

async function challengeOf(who: HttpVisitor, path: string) {
  const answer = await who.post(`${path}/challenge`, {});
  expect(answer.statusCode).toBe(200);
  return answer.json();
}

async function register(
  who: HttpVisitor,
  device: SoftwareAuthenticator,
  { name = "Laptop", ...lies }: Lies & { name?: string } = {},
) {
  await who.get(`${PASSKEYS}/new`);
  const options = await challengeOf(who, PASSKEYS);
  return who.post(PASSKEYS, { name, credential: device.create(options, lies) });
}

/** A member with one passkey, which is the only second factor, and the recovery codes. */
async function addKeyed(role: "admin" | "developer" = "developer", account = account_id) {
  const added = await addPerson(role, account);
  const device = new SoftwareAuthenticator(ORIGIN);
  const done = await register(added.person, device);
  expect(done.statusCode).toBe(200);
  const codes = [...done.body.matchAll(/<code>([0-9A-Z-]{29})<\/code>/g)].map(([, code]) => code!);
  await added.person.get(SECURITY);
  return { ...added, device, codes };
}

/** Signs in with a passkey alone, in a browser that was never used before. */
async function signInWith(device: SoftwareAuthenticator, lies: Lies = {}, who = visitor()) {
  await who.get("/sign-in");
  const credential = device.get(await challengeOf(who, SIGN_IN), lies);
  return { who, credential, answer: await who.post(SIGN_IN, { credential }) };
}

async function halfSignedIn(email: string): Promise<HttpVisitor> {
  const other = visitor();
  expect((await other.signIn(email)).headers.location).toBe(`${FACTOR}?next=/dashboard`);
  await other.get(FACTOR);
  return other;
}

async function auditOf(person_id: string): Promise<{ action: string; detail: string }[]> {
  return server.deps.database.query(
    "select action, detail::text from audit_entries where record = $1 order by id",
    [`person:${person_id}`],
  );
}

async function actionsOf(person_id: string): Promise<string[]> {
  return (await auditOf(person_id)).map(({ action }) => action);
}

async function countOf(table: string, person_id: string): Promise<number> {
  const text = `select from ${table} where person_id = $1`;
  return (await server.deps.database.query(text, [person_id])).length;
}

const later = (minutes: number) =>
  vi.spyOn(server.deps.clock, "difference_ms").mockReturnValue(minutes * 60_000);

describe("a passkey alone", () => {
  let keyed: ReturnType<typeof addKeyed> | undefined;

  test("signs in, names nobody before, and counts as password and second factor", async () => {
    const { person_id, device } = await addKeyed("admin");
    const who = visitor();
    const page = await who.get("/sign-in");
    expect(page.body).toContain("Sign in with a passkey");
    const options = await challengeOf(who, SIGN_IN);
    expect(options).toMatchObject({ rpId: "pay.example", userVerification: "required" });
    expect(options.allowCredentials ?? []).toEqual([]);
    const answer = await who.post(SIGN_IN, { credential: device.get(options) });
    expect(answer.headers.location).toBe("/dashboard");
    expect(answer.cookies.find(({ name }) => name === SESSION)).toMatchObject({ maxAge: 43_200 });
    expect((await who.get("/dashboard")).statusCode).toBe(200);
    // It is a proof of the last ten minutes too.
    expect((await who.get(`${PASSKEYS}/new`)).statusCode).toBe(200);
    const last = (await auditOf(person_id)).at(-1)!;
    expect(last.action).toBe("session.create");
    expect(JSON.parse(last.detail)).toEqual({ second_factor: "passkey", password: "not asked" });
  });

  test("signs in once with each challenge, also by requests at the same time", async () => {
    const { device } = await addKeyed();
    const { who, credential, answer } = await signInWith(device);
    expect(answer.statusCode).toBe(303);
    await who.get("/sign-in?again=1");
    expect((await who.post(SIGN_IN, { credential })).statusCode).toBe(401);
    const fresh = device.get(await challengeOf(who, SIGN_IN));
    const both = await Promise.all([1, 2].map(() => who.post(SIGN_IN, { credential: fresh })));
    expect(both.map(({ statusCode }) => statusCode).sort()).toEqual([303, 401]);
  });

  test("signs nobody in while a new password is set", async () => {
    const { person_id, device } = await addKeyed();
    const intruder = visitor();
    await intruder.get("/sign-in");
    const credential = device.get(await challengeOf(intruder, SIGN_IN));
    const answer = await whilePasswordIsSet(server.deps.database, person_id, () =>
      intruder.post(SIGN_IN, { credential }),
    );
    expect(answer.statusCode).toBe(401);
    expect(answer.body).toContain("Your password is new");
  });

  test("is refused with a challenge of another browser, or one of five minutes ago", async () => {
    const { device } = await addKeyed();
    const [asked, other] = [visitor(), visitor()];
    await asked.get("/sign-in");
    await other.get("/sign-in");
    const stolen = device.get(await challengeOf(asked, SIGN_IN));
    expect((await other.post(SIGN_IN, { credential: stolen })).statusCode).toBe(401);
    const late = device.get(await challengeOf(asked, SIGN_IN));
    later(5);
    expect((await asked.post(SIGN_IN, { credential: late })).statusCode).toBe(401);
  });

  test.each<[string, Lies]>([
    ["from another origin", { origin: "https://pay.example.evil" }],
    ["from another port", { origin: "https://pay.example:8443" }],
    ["for another site", { rp_id: "evil.example" }],
    ["without verification of the person", { is_verified: false }],
    ["with a challenge of its own", { challenge: "A".repeat(43) }],
    ["of another ceremony", { type: "webauthn.create" }],
    ["that names another person", { user_handle: "AAAA" }],
    ["that names nobody", { user_handle: null }],
  ])("is refused %s, with the same answer", async (_, lies) => {
    keyed ??= addKeyed();
    const { device, person_id } = await keyed;
    const { answer } = await signInWith(device, lies);
    expect(answer.statusCode).toBe(401);
    expect(answer.body).toContain("This passkey was not accepted.");
    expect((await actionsOf(person_id)).at(-1)).toBe("session.refuse");
  });

  test("is refused when nobody, or nobody here, has it; nothing is learned from the answer", async () => {
    const stranger = new SoftwareAuthenticator(ORIGIN);
    stranger.create({ challenge: "", rp: { id: "pay.example" }, user: { id: "AAAA" } });
    const unknown = await signInWith(stranger);
    const { device, person_id } = await addKeyed();
    const wrong = await signInWith(device, { is_verified: false });
    const textOf = (body: string) => body.replace(/name="csrf" value="[^"]*"/g, "");
    expect(unknown.answer.statusCode).toBe(401);
    expect(textOf(unknown.answer.body)).toBe(textOf(wrong.answer.body));
    for (const credential of [
      "",
      "{}",
      "[]",
      "null",
      '{"id":"AA","response":{}}',
      "x".repeat(900),
    ]) {
      expect((await wrong.who.post(SIGN_IN, { credential })).statusCode).toBe(401);
    }
    await server.deps.database.query("delete from members where person_id = $1", [person_id]);
    expect((await signInWith(device)).answer.statusCode).toBe(401);
  });

  test("is refused and reported when its counter does not grow", async () => {
    const { device, person_id } = await addKeyed();
    device.counter = 10;
    expect((await signInWith(device)).answer.statusCode).toBe(303);
    for (const counter of [11, 3, 0]) {
      expect((await signInWith(device, { counter })).answer.statusCode).toBe(401);
    }
    const reports = (await auditOf(person_id)).filter(({ action }) => action === "passkey.refuse");
    expect(reports.map(({ detail }) => JSON.parse(detail).counter)).toEqual([11, 3, 0]);
    const mails = await server.deps.database.query("select from mails where kind = $1", [
      "passkey_copied",
    ]);
    expect(mails).toHaveLength(3);
    expect((await signInWith(device, { counter: 50 })).answer.statusCode).toBe(303);
  });

  test("that keeps no counter works again and again", async () => {
    const { device } = await addKeyed();
    for (let at = 0; at < 2; at += 1) {
      expect((await signInWith(device, { counter: 0 })).answer.statusCode).toBe(303);
    }
  });

  test("is limited by network, and failures by person, as passwords are", async () => {
    const { device } = await addKeyed();
    const who = visitor();
    let status = 401;
    for (let at = 0; at < 15 && status === 401; at += 1) {
      status = (await signInWith(device, { is_verified: false }, who)).answer.statusCode;
    }
    expect(status).toBe(429);
    for (let at = 0; at < 30; at += 1) await who.post(`${SIGN_IN}/challenge`, {});
    expect((await who.post(`${SIGN_IN}/challenge`, {})).statusCode).toBe(429);
    rate_clock.addMinute();
    expect((await signInWith(device, {}, who)).answer.statusCode).toBe(303);
  });
});

describe("after the password", () => {
  test("the passkey is asked for, and ends the sign-in with another session", async () => {
    const { email, person_id, device } = await addKeyed();
    const other = await halfSignedIn(email);
    expect((await other.get("/dashboard")).headers.location).toMatch(/^\/second-factor/);
    const page = await other.get(FACTOR);
    expect(page.body).toContain("Use your passkey");
    const options = await challengeOf(other, FACTOR);
    expect(options.allowCredentials).toHaveLength(1);
    const before = other.cookies.get(SESSION);
    const answer = await other.post(FACTOR, { credential: device.get(options) });
    expect(answer.headers.location).toBe("/dashboard");
    expect(other.cookies.get(SESSION)).not.toBe(before);
    expect((await other.get("/dashboard")).statusCode).toBe(200);
    expect(JSON.parse((await auditOf(person_id)).at(-1)!.detail)).toEqual({
      second_factor: "passkey",
    });
  });

  test("a recovery code replaces a lost passkey", async () => {
    const { email, codes } = await addKeyed();
    expect(codes).toHaveLength(10);
    const other = await halfSignedIn(email);
    expect((await other.post(FACTOR, { code: codes[0]! })).statusCode).toBe(303);
    expect((await other.get(SECURITY)).body).toMatch(/Recovery codes left<\/dt><dd>9</);
  });

  test("passkeys of other people and of other accounts are refused", async () => {
    const elsewhere = await server.addAccount("Second");
    const victim = await addKeyed();
    for (const thief of [await addKeyed(), await addKeyed("admin", elsewhere)]) {
      const browser = await halfSignedIn(victim.email);
      const { allowCredentials: _, ...options } = await challengeOf(browser, FACTOR);
      const answer = await browser.post(FACTOR, { credential: thief.device.get(options) });
      expect(answer.statusCode).toBe(401);
      expect((await browser.get("/dashboard")).statusCode).toBe(303);
    }
  });

  test("a challenge is good for one purpose and one session", async () => {
    const { email, person, device } = await addKeyed();
    const [one, two] = [await halfSignedIn(email), await halfSignedIn(email)];
    const stolen = device.get(await challengeOf(one, FACTOR));
    expect((await two.post(FACTOR, { credential: stolen })).statusCode).toBe(401);
    await person.get("/confirm");
    const confirming = device.get(await challengeOf(person, "/confirm"));
    expect((await two.post(FACTOR, { credential: confirming })).statusCode).toBe(401);
    await two.get("/sign-in?again=1");
    const signing = device.get(await challengeOf(two, SIGN_IN));
    await two.get(FACTOR);
    expect((await two.post(FACTOR, { credential: signing })).statusCode).toBe(401);
  });
});

describe("adding a passkey", () => {
  let refused: ReturnType<typeof addPerson> | undefined;

  test("satisfies a role that needs a second factor, and ends other sessions", async () => {
    const { email, person, person_id } = await addPerson("admin");
    const other = visitor();
    await other.signIn(email);
    expect((await person.get("/dashboard")).headers.location).toMatch(/second-factor/);
    expect((await person.get(ENROL)).body).toContain("Use a passkey instead");
    const device = new SoftwareAuthenticator(ORIGIN);
    expect((await register(person, device)).body).toContain("Your recovery codes");
    expect((await person.get("/dashboard")).statusCode).toBe(200);
    expect((await other.get("/dashboard")).headers.location).toMatch(/^\/sign-in/);
    expect(await actionsOf(person_id)).toContain("passkey.create");
    const page = await person.get(SECURITY);
    expect(page.body).toMatch(/Laptop<\/a><\/td>.*Never/s);
  });

  test("needs the second factor of the last ten minutes, or the password if there is none", async () => {
    const { person } = await addKeyed();
    const options = await challengeOf(person, PASSKEYS);
    later(11);
    const device = new SoftwareAuthenticator(ORIGIN);
    const path = `/confirm?next=${PASSKEYS}/new&factor=1`;
    expect((await person.get(`${PASSKEYS}/new`)).headers.location).toBe(path);
    expect((await person.post(`${PASSKEYS}/challenge`, {})).headers.location).toBe(path);
    const credential = device.create(options);
    expect((await person.post(PASSKEYS, { name: "x", credential })).headers.location).toBe(path);
    const { person: pending } = await addPerson("admin");
    later(22);
    const location = (await pending.get(`${PASSKEYS}/new`)).headers.location;
    expect(location).toMatch(/^\/sign-in\?.*again=1/);
  });

  test("is not added with the password by somebody who has a second factor", async () => {
    const { person, person_id, device: owners } = await addKeyed();
    later(11);
    const path = `/confirm?next=${PASSKEYS}/new&factor=1`;
    const page = await person.get(path);
    expect(page.body).not.toContain('name="password"');
    expect(page.body).toContain("the second factor that you have");
    const next = `${PASSKEYS}/new`;
    await person.post("/confirm", { password: PASSWORD, next });
    // The session is confirmed for everything else.
    expect((await person.get(next)).headers.location).toBe(path);
    expect((await person.post(`${PASSKEYS}/challenge`, {})).headers.location).toBe(path);
    const app_path = `/confirm?next=${ENROL}&factor=1`;
    expect((await person.get(ENROL)).headers.location).toBe(app_path);
    expect((await person.post(ENROL, { seed: "x", code: "1" })).headers.location).toBe(app_path);

    await person.get(path);
    const wrong = await person.post("/confirm", { code: "000000", next, factor: "1" });
    expect(wrong.statusCode).toBe(401);
    expect(wrong.body).not.toContain('name="password"');
    const credential = owners.get(await challengeOf(person, "/confirm"));
    expect((await person.post("/confirm", { credential, next })).headers.location).toBe(next);
    expect((await register(person, new SoftwareAuthenticator(ORIGIN))).statusCode).toBe(303);
    expect(await countOf("passkeys", person_id)).toBe(2);
  });

  test("is not added in a session that no second factor was given in", async () => {
    const { person, person_id } = await addKeyed();
    const token = await server.deps.database.transaction(async (tx) =>
      startSession(tx, server.deps.index_key, { account_id, person_id }, new Date()),
    );
    const thief = visitor();
    thief.cookies.set(SESSION, token);
    const path = `/confirm?next=${PASSKEYS}/new&factor=1`;
    expect((await thief.get(`${PASSKEYS}/new`)).headers.location).toBe(path);
    await person.get(SECURITY);
    expect((await register(person, new SoftwareAuthenticator(ORIGIN))).statusCode).toBe(303);
  });

  test.each<[string, Lies & { name?: string }]>([
    ["from another origin", { origin: "https://evil.example" }],
    ["for another site", { rp_id: "evil.example" }],
    ["without verification of the person", { is_verified: false }],
    ["with a challenge of its own", { challenge: "A".repeat(43) }],
    ["of another ceremony", { type: "webauthn.get" }],
    // Its certificates contain URLs, which nobody may make the service request.
    ["with an attestation that was not asked for", { format: "apple" }],
    ["without a name", { name: "  " }],
    ["with a name that is too long", { name: "x".repeat(61) }],
  ])("is refused %s", async (_, lies) => {
    refused ??= addPerson();
    const { person, person_id } = await refused;
    const answer = await register(person, new SoftwareAuthenticator(ORIGIN), lies);
    expect(answer.statusCode).toBe(422);
    expect(answer.body).toContain('role="alert"');
    expect(await countOf("passkeys", person_id)).toBe(0);
  });

  test("keeps recovery codes of before, excludes known devices, and stops at twenty", async () => {
    const { person, person_id, device } = await addKeyed();
    const second = await register(person, new SoftwareAuthenticator(ORIGIN), { name: "Phone" });
    expect(second.headers.location).toBe(`${SECURITY}?done=passkey`);
    expect(await countOf("recovery_codes", person_id)).toBe(10);
    await person.get(`${PASSKEYS}/new`);
    const options = await challengeOf(person, PASSKEYS);
    expect(options.excludeCredentials).toHaveLength(2);
    const credential = device.create(options);
    expect((await person.post(PASSKEYS, { name: "Tablet", credential })).statusCode).toBe(303);
    // Nobody else can add the same one.
    const thief = await addPerson();
    await thief.person.get(`${PASSKEYS}/new`);
    const { challenge } = await challengeOf(thief.person, PASSKEYS);
    const clientDataJSON = Buffer.from(
      JSON.stringify({ type: "webauthn.create", challenge, origin: ORIGIN }),
    ).toString("base64url");
    const copied = JSON.parse(credential);
    copied.response.clientDataJSON = clientDataJSON;
    const fields = { name: "Stolen", credential: JSON.stringify(copied) };
    const refused = await thief.person.post(PASSKEYS, fields);
    expect(refused.statusCode).toBe(422);
    expect(refused.body).toContain("was added before");
    await server.deps.database.query(
      `insert into passkeys select person_id, gen_random_uuid(), uuid_send(gen_random_uuid()),
         public_key, 0, '{}', name, created_at, null, true
       from passkeys, generate_series(1, 17) where person_id = $1 and credential_id = $2`,
      [person_id, Buffer.from(JSON.parse(credential).id, "base64url")],
    );
    await vouch(server.deps.database, PASSKEY_ROWS);
    expect((await register(person, new SoftwareAuthenticator(ORIGIN))).body).toContain(
      "You have 20 passkeys",
    );
  });

  test("stores neither key nor name in clear, nor a key that another row can use", async () => {
    const [one, two] = [await addKeyed(), await addKeyed()];
    await register(one.person, one.device, { name: "Very secret name" });
    const rows = await server.deps.database.query<{ row: string }>(
      "select encode(name, 'escape') || encode(public_key, 'escape') as row from passkeys",
    );
    expect(rows.some(({ row }) => row.includes("secret"))).toBe(false);
    // Whoever can write to the database gives the victim a passkey of their own.
    await server.deps.database.query("update passkeys set person_id = $1 where person_id = $2", [
      one.person_id,
      two.person_id,
    ]);
    expect((await signInWith(two.device)).answer.statusCode).toBe(401);
  });
});

describe("a passkey", () => {
  const pathOf = async (who: HttpVisitor) => {
    const page = await who.get(SECURITY);
    return /href="([^"]+passkeys\/[0-9a-f-]{36})"/.exec(page.body)![1]!;
  };

  test("is renamed by its owner only", async () => {
    const [one, two] = [await addKeyed(), await addKeyed()];
    const path = await pathOf(one.person);
    await one.person.get(path);
    expect((await one.person.post(`${path}/rename`, { name: "" })).statusCode).toBe(422);
    const renamed = await one.person.post(`${path}/rename`, { name: "Blue key" });
    expect(renamed.headers.location).toBe(`${SECURITY}?done=renamed`);
    expect((await one.person.get(SECURITY)).body).toContain("Blue key");
    expect(await actionsOf(one.person_id)).toContain("passkey.rename");
    await two.person.get(SECURITY);
    for (const other of [path, `${PASSKEYS}/nothing`]) {
      expect((await two.person.get(other)).statusCode).toBe(404);
      expect((await two.person.post(`${other}/rename`, { name: "Mine" })).statusCode).toBe(404);
      const proofs = { password: PASSWORD, code: two.codes[0]! };
      expect((await two.person.post(`${other}/remove`, proofs)).statusCode).toBe(404);
    }
    expect(await countOf("passkeys", one.person_id)).toBe(1);
  });

  test("is removed with the password and a second factor, and the codes go with the last", async () => {
    const { email, person, person_id, device, codes } = await addKeyed();
    const path = await pathOf(person);
    await person.get(path);
    const proof = async () => device.get(await challengeOf(person, SECURITY));
    const refused: Record<string, string>[] = [
      { password: PASSWORD },
      { password: PASSWORD, code: "000000" },
      { password: "wrong", code: codes[0]! },
      { password: "wrong", credential: await proof() },
      { password: PASSWORD, credential: "{}" },
    ];
    for (const fields of refused) {
      expect((await person.post(`${path}/remove`, fields)).statusCode).toBe(401);
    }
    const { who: other } = await signInWith(device);
    await person.get(path);
    const removed = await person.post(`${path}/remove`, {
      password: PASSWORD,
      credential: await proof(),
    });
    expect(removed.headers.location).toBe(`${SECURITY}?done=unkeyed`);
    expect((await other.get("/dashboard")).headers.location).toMatch(/^\/sign-in/);
    expect(await countOf("recovery_codes", person_id)).toBe(0);
    expect(await actionsOf(person_id)).toContain("passkey.remove");
    expect((await signInWith(device)).answer.statusCode).toBe(401);
    expect((await visitor().signIn(email)).headers.location).toBe("/dashboard");
  });

  test("stays, with the recovery codes, when the authenticator app is removed, and reversed", async () => {
    const { person, person_id, device } = await addKeyed("admin");
    const { codes } = await enrol(person);
    await person.get(SECURITY);
    const proofs = { password: PASSWORD, code: codes[0]! };
    const removed = await person.post(`${ENROL}/remove`, proofs);
    expect(removed.headers.location).toBe(`${SECURITY}?done=removed`);
    expect(await countOf("recovery_codes", person_id)).toBe(9);
    expect((await person.get("/dashboard")).statusCode).toBe(200);
    const { app } = await enrol(person);
    const path = await pathOf(person);
    await person.get(path);
    const fields = { password: PASSWORD, code: app.code(1) };
    expect((await person.post(`${path}/remove`, fields)).statusCode).toBe(303);
    expect(await countOf("recovery_codes", person_id)).toBe(10);
    expect((await person.get("/dashboard")).statusCode).toBe(200);
    expect((await signInWith(device)).answer.statusCode).toBe(401);
    const kinds = await server.deps.database.query<{ kind: string }>(
      "select distinct kind from mails where kind = any($1) order by kind",
      [["app_removed", "passkey_added", "passkey_removed"]],
    );
    expect(kinds).toHaveLength(3);
  });

  test("confirms who you are", async () => {
    const { person, device } = await addKeyed();
    later(11);
    const page = await person.get("/confirm?next=/dashboard/security");
    expect(page.body).toContain("Use your passkey");
    const before = person.cookies.get(SESSION)!;
    const wrong = device.get(await challengeOf(person, "/confirm"), { is_verified: false });
    expect((await person.post("/confirm", { credential: wrong })).statusCode).toBe(401);
    const credential = device.get(await challengeOf(person, "/confirm"));
    const next = "/dashboard/security";
    const confirmed = await person.post("/confirm", { credential, next });
    expect(confirmed.headers.location).toBe(next);
    expect(person.cookies.get(SESSION)).not.toBe(before);
    expect((await person.get(`${PASSKEYS}/new`)).statusCode).toBe(200);
  });

  test("signs in alone after a new password once it was used after it", async () => {
    const { email, person, device } = await addKeyed();
    const password = "a good long sentence";
    const change = { current: PASSWORD, password };
    expect((await person.post(`${SECURITY}/password`, change)).statusCode).toBe(303);
    expect((await person.get(SECURITY)).body).toContain("After the password");
    for (let at = 0; at < 2; at += 1) {
      const { answer } = await signInWith(device);
      expect(answer.statusCode).toBe(401);
      expect(answer.body).toContain("Your password is new.");
    }
    const browser = visitor();
    await browser.signIn(email, { password });
    await browser.get(FACTOR);
    const credential = device.get(await challengeOf(browser, FACTOR));
    expect((await browser.post(FACTOR, { credential })).statusCode).toBe(303);
    expect((await signInWith(device)).answer.statusCode).toBe(303);
  });

  test("ends with a reset of the second factor, and with the last membership", async () => {
    const { database, index_key, clock } = server.deps;
    const [reset, gone] = [await addKeyed(), await addKeyed()];
    await database.transaction(async (tx) => {
      const person = { ...reset, account_id, waits_to_vote: false };
      resetFactor(tx, index_key, person, BY, clock.now());
      await removeMember(tx, { account_id, person_id: gone.person_id }, BY, clock.now());
    });
    for (const { device, person_id, person } of [reset, gone]) {
      expect(await countOf("passkeys", person_id)).toBe(0);
      expect((await person.get("/dashboard")).statusCode).toBe(303);
      expect((await signInWith(device)).answer.statusCode).toBe(401);
    }
  });
});

test("challenges are stored as hashes, and deleted once they have expired", async () => {
  const { database, clock } = server.deps;
  const who = visitor();
  await who.get("/sign-in");
  const { challenge } = await challengeOf(who, SIGN_IN);
  const rows = () =>
    database.query<{ row: string }>(
      "select encode(challenge_hash, 'base64') as row from passkey_challenges",
    );
  const hash = Buffer.from(challenge, "base64url").toString("base64");
  expect((await rows()).length).toBeGreaterThan(0);
  expect((await rows()).map(({ row }) => row)).not.toContain(hash);
  later(6);
  const set = { now: new Date(), repeatAll: async () => {} };
  await trimSignInTask({ database, clock }).handle(set as never);
  expect(await rows()).toEqual([]);
});

test.each([
  ["https://pay.example", "pay.example"],
  ["https://pay.example:8443/base", "pay.example"],
  ["http://localhost:4000", "localhost"],
  ["http://127.0.0.1:4000", null],
  ["https://192.0.2.1", null],
  ["https://[2001:db8::1]", null],
  ["http://pay.example", null],
  ["", null],
])("passkeys of %s belong to %s", (public_url, rp_id) => {
  expect(passkeySite(public_url)?.rp_id ?? null).toBe(rp_id);
});
