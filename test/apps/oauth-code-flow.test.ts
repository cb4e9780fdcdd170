import { createPublicKey, createVerify } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SESSIONS } from "../../src/accounts/sign-in/session-store.ts";
import { authenticatorOf } from "../accounts/authenticator.ts";
import {
  addApp,
  addMember,
  askFor,
  type Client,
  comeBack,
  exchangeCode,
  letIn,
  Person,
  post,
  REDIRECT_URI,
} from "../harness/oauth.ts";
import { PASSWORD } from "../harness/password.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { vouch } from "../harness/vouch.ts";

const EMAIL = "ada@example.test";
const ALL = "openid email offline_access user:read invoices:read invoices:write";

let server: TestServer;
let client: Client;
let person_id: string;
let branch_id: string;

beforeAll(async () => {
  server = await startTestServer();
  person_id = await addMember(server, server.account_id, EMAIL);
  branch_id = (await server.addAccount("Northern branch")).account_id;
  await addMember(server, branch_id, EMAIL, "accountant");
  client = await addApp(server, server.account_id);
});
afterAll(() => server?.close());

function signedIn(): Promise<Person> {
  return Person.signedIn(server, server.account_id, person_id);
}

/** Consents for the first account and returns to the application. */
async function allow(person: Person, url: string, account_id = server.account_id) {
  const page = await person.visit(url);
  expect(page.url).toMatch(/^\/consent\//);
  return person.follow(await person.post(page.url, { account_id, decision: "allow" }));
}

describe("the authorization code flow", () => {
  test("a person who is not signed in signs in, consents, and the code is exchanged for tokens", async () => {
    const person = new Person(server);
    const app = await addApp(server, server.account_id, { name: "Paper Kite" });
    const { url, verifier, state } = askFor(app, ALL, { nonce: "n-1", audience: "accounts" });
    const form = await person.visit(url);
    expect(form.url).toBe("/sign-in");
    const next = /name="next" value="([^"]*)"/.exec(form.text)![1]!;
    expect(next).toMatch(/^\/consent\//);
    const consent = await person.follow(await person.signIn(EMAIL, next));
    expect(consent.text).toContain("Allow Paper Kite to use your account?");
    expect(consent.text).toContain("an application of <strong>demo</strong>");
    expect(consent.text).toContain("Create and change invoices and salaries of the account");
    expect(consent.text).toContain("client.example.test");
    const account_id = server.account_id;
    const answer = await person.post(consent.url, { account_id, decision: "allow" });
    const back = comeBack(await person.follow(answer));
    expect(back.state).toBe(state);
    expect(back.iss).toBe(server.url);

    const tokens = await exchangeCode(server, app, back.code!, verifier);
    expect(tokens.status).toBe(200);
    expect(tokens.headers.get("cache-control")).toContain("no-store");
    expect(tokens.body).toMatchObject({ token_type: "Bearer", expires_in: 86_400, scope: ALL });
    const claims = await readIdToken(tokens.body.id_token);
    expect(claims).toMatchObject({ iss: server.url, aud: app.id, sub: person_id, nonce: "n-1" });

    const key = tokens.body.access_token;
    const me = await server.call("GET", "/me", undefined, { key });
    expect(me.body).toEqual({
      user: { sub: person_id, email: EMAIL, role: "admin" },
      account: { id: account_id, name: "demo" },
    });
    const userinfo = await server.call("GET", "/userinfo", undefined, { key });
    expect(userinfo.body).toEqual({ sub: person_id, email: EMAIL });
  });

  test("a person with a second factor gives it before anything is granted, also where consent is known", async () => {
    const email = "two.steps@example.test";
    const two_steps_id = await addMember(server, server.account_id, email);
    const known = await Person.signedIn(server, server.account_id, two_steps_id);
    await allow(known, askFor(client, "openid").url);
    const page = await known.get("/dashboard/security/second-factor");
    const app = authenticatorOf(/Key: <code>([A-Z2-7 ]+)<\/code>/.exec(page.text)![1]!);
    const seed = /name="seed" value="([^"]+)"/.exec(page.text)![1]!;
    await known.post("/dashboard/security/second-factor", { seed, code: app.code() });

    const person = new Person(server);
    const { url } = askFor(client, "openid");
    const form = await person.visit(url);
    const next = /name="next" value="([^"]*)"/.exec(form.text)![1]!;
    const second = await person.follow(await person.signIn(email, next));
    expect(second.text).toContain("<h1>Second factor</h1>");
    // Neither the request nor its consent page takes the password alone.
    expect((await person.visit(url)).location).toBeNull();
    expect((await person.visit(next)).text).toContain("<h1>Second factor</h1>");
    const done = await person.follow(
      await person.post("/second-factor", { code: app.code(1), next }),
    );
    expect(done.location).toMatch(/^https:\/\/client\.example\.test\/callback\?code=/);
  });

  test("consent is remembered, without prompt=consent also for refresh tokens", async () => {
    const person = await signedIn();
    const app = await addApp(server, server.account_id);
    await allow(person, askFor(app, ALL).url);
    const other_browser = await signedIn();
    const again = askFor(app, ALL);
    const { code } = comeBack(await other_browser.visit(again.url));
    const tokens = await exchangeCode(server, app, code!, again.verifier);
    expect(tokens.body.refresh_token).toEqual(expect.any(String));
    // A scope that was not granted before needs consent.
    const more = await addApp(server, server.account_id);
    await allow(person, askFor(more, "openid").url);
    expect((await person.visit(askFor(more, "openid user:read").url)).url).toMatch(/^\/consent/);
  });

  test("consent is remembered only for the redirect URI that its page named", async () => {
    const person = await signedIn();
    const other_uri = "https://other.example.test/callback";
    const redirect_uris = [REDIRECT_URI, other_uri];
    const app = await addApp(server, server.account_id, { redirect_uris });
    await allow(person, askFor(app, ALL).url);
    expect(comeBack(await person.visit(askFor(app, ALL).url)).code).toEqual(expect.any(String));
    const elsewhere = await person.visit(askFor(app, ALL, { redirect_uri: other_uri }).url);
    expect(elsewhere.url).toMatch(/^\/consent\//);
    expect(elsewhere.text).toContain("other.example.test");
    // A consent to less at another address takes over nothing that was given at the first one.
    await allow(person, askFor(app, "openid", { redirect_uri: other_uri }).url);
    const more = await person.visit(askFor(app, ALL, { redirect_uri: other_uri }).url);
    expect(more.url).toMatch(/^\/consent\//);
    await allow(person, askFor(app, ALL).url);
    // Changed after the consent, by whoever may.
    const moved = { app: { redirect_uris: [other_uri] } };
    expect((await server.call("PATCH", `/apps/${app.id}`, moved)).status).toBe(200);
    const again = await person.visit(askFor(app, ALL, { redirect_uri: other_uri }).url);
    expect(again.url).toMatch(/^\/consent\//);
  });

  test("the form_post page runs only its own script", async () => {
    const person = await signedIn();
    const app = await addApp(server, server.account_id);
    await allow(person, askFor(app, "openid").url);
    const page = await person.visit(askFor(app, "openid", { response_mode: "form_post" }).url);
    expect(page.text).toContain(`action="${REDIRECT_URI}"`);
    expect(page.policy).toMatch(/^default-src 'none';script-src .*'sha256-[^']+';/);
  });

  test("prompt=consent asks again, prompt=none never does", async () => {
    const person = await signedIn();
    const app = await addApp(server, server.account_id);
    const silent = askFor(app, "openid", { prompt: "none" });
    expect(comeBack(await person.visit(silent.url)).error).toBe("consent_required");
    expect(comeBack(await new Person(server).visit(silent.url)).error).toBe("login_required");
    await allow(person, askFor(app, "openid").url);
    expect(comeBack(await person.visit(silent.url)).code).toEqual(expect.any(String));
    const loud = askFor(app, "openid", { prompt: "consent" });
    expect((await person.visit(loud.url)).url).toMatch(/^\/consent\//);
  });

  test("prompt=login requires a new sign-in and continues as the person who signs in", async () => {
    const other_email = "bo@example.test";
    const other_id = await addMember(server, server.account_id, other_email);
    const person = await signedIn();
    const app = await addApp(server, server.account_id);
    await allow(person, askFor(app, "openid user:read").url);
    const asking = askFor(app, "openid user:read", { prompt: "login" });
    const form = await person.visit(asking.url);
    expect(form.url).toBe("/sign-in");
    const next = /name="next" value="([^"]*)"/.exec(form.text)![1]!;
    const page = await person.follow(await person.signIn(other_email, next));
    expect(page.text).toContain(`Signed in as ${other_email}`);
    const fields = { account_id: server.account_id, decision: "allow" };
    const back = await person.follow(await person.post(page.url, fields));
    const tokens = await exchangeCode(server, app, comeBack(back).code!, asking.verifier);
    const me = await server.call("GET", "/me", undefined, { key: tokens.body.access_token });
    expect(me.body.user.sub).toBe(other_id);
  });

  test("prompt=login with the same person continues with a later auth_time", async () => {
    const person = await signedIn();
    const app = await addApp(server, server.account_id);
    await allow(person, askFor(app, "openid").url);
    const form = await person.visit(askFor(app, "openid", { prompt: "login" }).url);
    const next = /name="next" value="([^"]*)"/.exec(form.text)![1]!;
    const back = await person.follow(await person.signIn(EMAIL, next));
    expect(comeBack(back).code).toEqual(expect.any(String));
  });

  test("the token acts for the chosen account, with one grant for each", async () => {
    const person = await signedIn();
    const app = await addApp(server, server.account_id);
    const tokens = await letIn(server, person, app, "user:read", branch_id);
    const key = tokens.access_token;
    const me = await server.call("GET", "/me", undefined, { key });
    expect(me.body.account).toEqual({ id: branch_id, name: "Northern branch" });
    const grants = await server.db.database.query(
      "select account_id, person_id, app_account_id from app_grants where app_id = $1",
      [app.id],
    );
    const app_account_id = server.account_id;
    expect(grants).toEqual([{ account_id: branch_id, person_id, app_account_id }]);
    const audit = await server.db.database.query(
      "select actor from audit_entries where account_id = $1 and action = 'app_grant.create'",
      [branch_id],
    );
    expect(audit).toEqual([{ actor: `member:${person_id}` }]);
  });

  test("a native application is called back by its custom scheme and always asks for consent", async () => {
    const redirect_uri = "com.example.kite:/callback";
    const app = await addApp(server, server.account_id, { redirect_uris: [redirect_uri] });
    const person = await signedIn();
    const asking = askFor(app, "user:read", { redirect_uri });
    const back = await allow(person, asking.url);
    expect(back.location).toMatch(/^com\.example\.kite:\/callback\?code=/);
    const code = new URL(back.location!).searchParams.get("code")!;
    const answer = await exchangeCode(server, app, code, asking.verifier, { redirect_uri });
    expect(answer.status).toBe(200);
    const again = await person.visit(askFor(app, "user:read", { redirect_uri }).url);
    expect(again.url).toMatch(/^\/consent\//);
  });

  test("a native application may listen on any loopback port, a web application may not", async () => {
    const person = await signedIn();
    const ask = async (redirect_uris: string[], redirect_uri: string) => {
      const app = await addApp(server, server.account_id, { redirect_uris });
      return (await person.visit(askFor(app, "user:read", { redirect_uri }).url)).status;
    };
    const here = "http://127.0.0.1:5000/callback";
    const program = ["com.example.kite:/callback", here];
    expect(await ask(program, "http://127.0.0.1:61234/callback")).toBe(200);
    expect(await ask(program, "http://127.0.0.1:61234/other")).toBe(400);
    expect(await ask(program, "http://localhost:5000/callback")).toBe(400);
    expect(await ask([here], here)).toBe(200);
    expect(await ask([here], "http://127.0.0.1:61234/callback")).toBe(400);
  });

  test("after a sign-out the next request needs a sign-in, and the tokens stay valid", async () => {
    const person = await signedIn();
    const app = await addApp(server, server.account_id);
    const tokens = await letIn(server, person, app, "user:read", server.account_id);
    await person.get("/dashboard/security");
    await person.post("/sign-out", {});
    expect((await person.visit(askFor(app, "user:read").url)).url).toBe("/sign-in");
    const me = await server.call("GET", "/me", undefined, { key: tokens.access_token });
    expect(me.status).toBe(200);
  });
});

describe("consent", () => {
  test("denying returns access_denied to the application and grants nothing", async () => {
    const person = await signedIn();
    const app = await addApp(server, server.account_id);
    const asking = askFor(app, "user:read");
    const page = await person.visit(asking.url);
    const denied = await person.follow(await person.post(page.url, { decision: "deny" }));
    expect(comeBack(denied)).toMatchObject({ error: "access_denied", state: asking.state });
    const grants = await server.db.database.query("select from app_grants where app_id = $1", [
      app.id,
    ]);
    expect(grants).toEqual([]);
  });

  test("needs the password or a second factor of the last ten minutes", async () => {
    const person = await signedIn();
    const app = await addApp(server, server.account_id);
    const page = await person.visit(askFor(app, "user:read offline_access").url);
    expect(page.url).toMatch(/^\/consent\//);
    const age = "update sessions set confirmed_at = confirmed_at - interval '11 minutes'";
    await server.db.database.query(`${age} where person_id = $1`, [person_id]);
    await vouch(server.db.database, SESSIONS);
    const fields = { account_id: server.account_id, decision: "allow" };
    const confirm = `/confirm?next=${page.url}`;
    expect((await person.post(page.url, fields)).location).toBe(confirm);
    const grants = () =>
      server.db.database.query("select from app_grants where app_id = $1", [app.id]);
    expect(await grants()).toEqual([]);
    expect((await person.get(page.url)).location).toBe(confirm);
    await person.get(confirm);
    const again = await person.follow(
      await person.post("/confirm", { password: PASSWORD, next: page.url }),
    );
    expect(again.url).toBe(page.url);
    comeBack(await person.follow(await person.post(page.url, fields)));
    expect(await grants()).toHaveLength(1);
  });

  test("a person can choose only their own accounts, and only if their role allows it", async () => {
    const person = await signedIn();
    const stranger = await server.addAccount("Strangers");
    const app = await addApp(server, server.account_id);
    const page = await person.visit(askFor(app, "invoices:write").url);
    expect(page.text).toContain(server.account_id);
    // An accountant there, who may not create invoices.
    expect(page.text).not.toContain(branch_id);
    for (const account_id of [stranger.account_id, branch_id, "nonsense", ""]) {
      const answer = await person.post(page.url, { account_id, decision: "allow" });
      expect(answer.status).toBe(403);
    }
    const read = await person.visit(askFor(app, "invoices:read").url);
    expect(read.text).toContain(branch_id);
  });

  test("a consent that cannot be stored completely is not stored at all", async () => {
    const { database } = server.db;
    const app = await addApp(server, server.account_id);
    const person = await signedIn();
    const page = await person.visit(askFor(app, "user:read").url);
    const fields = { account_id: server.account_id, decision: "allow" };
    await database.query(
      "alter table oauth_artifacts add constraint broken check (model <> 'Grant') not valid",
    );
    expect((await person.post(page.url, fields)).status).toBe(500);
    await database.query("alter table oauth_artifacts drop constraint broken");
    const grants = () =>
      database.query("select person_id from app_grants where app_id = $1", [app.id]);
    expect(await grants()).toEqual([]);
    comeBack(await person.follow(await person.post(page.url, fields)));
    expect(await grants()).toEqual([{ person_id }]);
  });

  test("a forged form, another browser and a second answer do nothing", async () => {
    const person = await signedIn();
    const app = await addApp(server, server.account_id);
    const page = await person.visit(askFor(app, "user:read").url);
    const fields = { account_id: server.account_id, decision: "allow" };
    expect((await person.post(page.url, { ...fields, csrf: "forged" })).status).toBe(403);
    const other = await signedIn();
    await other.get("/dashboard/security");
    expect((await other.get(page.url)).status).toBe(410);
    expect((await other.post(page.url, fields)).status).toBe(410);
    await person.follow(await person.post(page.url, fields));
    expect((await person.post(page.url, fields)).status).toBe(410);
  });
});

describe("requests that are refused", () => {
  test.each([
    ["no PKCE", { code_challenge: undefined, code_challenge_method: undefined }, "invalid_request"],
    ["plain PKCE", { code_challenge_method: "plain" }, "invalid_request"],
    ["another audience", { audience: "payments" }, "invalid_target"],
    ["an unknown scope", { scope: "openid payments:write" }, "invalid_scope"],
    ["no scope", { scope: undefined }, "invalid_scope"],
    ["a token in the address", { response_type: "token" }, "unsupported_response_type"],
  ])("%s: the error is sent to the application, with its state", async (_what, fields, error) => {
    const person = await signedIn();
    const asking = askFor(client, "openid", fields);
    const back = comeBack(await person.visit(asking.url));
    expect(back).toMatchObject({ error, state: asking.state, iss: server.url });
  });

  test.each([
    ["a redirect address that is not the application's", { redirect_uri: "https://evil.test/" }],
    ["a redirect address with more behind it", { redirect_uri: `${REDIRECT_URI}/more` }],
    ["an application that does not exist", { client_id: crypto.randomUUID() }],
    ["nonsense as an application", { client_id: "'; drop table apps" }],
  ])("%s: a page shows the error, without a redirect", async (_what, fields) => {
    const person = await signedIn();
    const page = await person.visit(askFor(client, "openid", fields).url);
    expect(page.status).toBe(400);
    expect(page.location).toBeNull();
    expect(page.text).toContain("This request cannot be carried out");
  });

  test("a wrong secret, verifier or redirect URI gets no tokens, and the code still works", async () => {
    const person = await signedIn();
    const { url, verifier } = askFor(client, "user:read");
    const { code } = comeBack(await allow(person, url));
    const wrong_secret = await exchangeCode(
      server,
      { ...client, secret: "wrong" },
      code!,
      verifier,
    );
    expect(wrong_secret.status).toBe(401);
    expect(wrong_secret.body.error).toBe("invalid_client");
    const wrong_verifier = await exchangeCode(server, client, code!, "x".repeat(43));
    expect(wrong_verifier.body.error).toBe("invalid_grant");
    const redirect_uri = "https://client.example.test/other";
    const wrong_uri = await exchangeCode(server, client, code!, verifier, { redirect_uri });
    expect(wrong_uri.body.error).toBe("invalid_grant");
    const other_app = await addApp(server, server.account_id);
    const stolen = await exchangeCode(server, other_app, code!, verifier);
    expect(stolen.body.error).toBe("invalid_grant");
    expect((await exchangeCode(server, client, code!, verifier)).status).toBe(200);
  });

  test("an expired code gets no tokens", async () => {
    const person = await signedIn();
    const app = await addApp(server, server.account_id);
    const { url, verifier } = askFor(app, "user:read");
    const { code } = comeBack(await allow(person, url));
    await server.db.database.query(
      `update oauth_artifacts set expires_at = expires_at - interval '61 seconds'
       where model = 'AuthorizationCode' and app_id = $1`,
      [app.id],
    );
    const answer = await exchangeCode(server, app, code!, verifier);
    expect(answer.body.error).toBe("invalid_grant");
  });

  test("a code used twice gets no tokens the second time, and its first tokens end", async () => {
    const person = await signedIn();
    const app = await addApp(server, server.account_id);
    const { url, verifier } = askFor(app, "user:read offline_access");
    const { code } = comeBack(await allow(person, url));
    const first = await exchangeCode(server, app, code!, verifier);
    expect(first.status).toBe(200);
    const second = await exchangeCode(server, app, code!, verifier);
    expect(second.body.error).toBe("invalid_grant");
    const { refresh_token, access_token } = first.body;
    const fields = { grant_type: "refresh_token", refresh_token };
    expect((await post(server, "/oauth/token", app, fields)).body.error).toBe("invalid_grant");
    const me = await server.call("GET", "/me", undefined, { key: access_token });
    expect(me.status).toBe(401);
  });

  test("a code used twice ends the whole consent, including earlier tokens", async () => {
    const person = await signedIn();
    const app = await addApp(server, server.account_id);
    const earlier = askFor(app, "user:read offline_access");
    const bought = comeBack(await allow(person, earlier.url));
    const { body } = await exchangeCode(server, app, bought.code!, earlier.verifier);
    const later = askFor(app, "user:read offline_access");
    const { code } = comeBack(await person.visit(later.url));
    const exchange = () => exchangeCode(server, app, code!, later.verifier);
    expect([(await exchange()).status, (await exchange()).status]).toEqual([200, 400]);
    const fields = { grant_type: "refresh_token", refresh_token: body.refresh_token };
    expect((await post(server, "/oauth/token", app, fields)).body.error).toBe("invalid_grant");
    // The person must consent again.
    const again = await person.visit(askFor(app, "user:read").url);
    expect(again.url).toMatch(/^\/consent\//);
  });

  test("when a code is used twice at the same time, at most one request gets tokens", async () => {
    const person = await signedIn();
    const app = await addApp(server, server.account_id);
    const { url, verifier } = askFor(app, "user:read");
    const { code } = comeBack(await allow(person, url));
    const answers = await Promise.all(
      [1, 2, 3, 4].map(() => exchangeCode(server, app, code!, verifier)),
    );
    const bought = answers.filter(({ status }) => status === 200);
    expect(bought.length).toBeLessThanOrEqual(1);
    const refused = answers.filter(({ body }) => body.error === "invalid_grant");
    expect(bought.length + refused.length).toBe(4);
  });
});

async function readIdToken(id_token: string): Promise<Record<string, unknown>> {
  const { body } = await server.call("GET", "/.well-known/jwks.json", undefined, { key: null });
  const [head, payload, signature] = id_token.split(".") as [string, string, string];
  const { kid } = JSON.parse(Buffer.from(head, "base64url").toString());
  const jwk = body.keys.find((key: { kid: string }) => key.kid === kid);
  const verifier = createVerify("RSA-SHA256").update(`${head}.${payload}`);
  const key = createPublicKey({ key: jwk, format: "jwk" });
  expect(key.asymmetricKeyDetails?.modulusLength).toBe(3072);
  expect(verifier.verify(key, signature, "base64url")).toBe(true);
  return JSON.parse(Buffer.from(payload, "base64url").toString());
}
