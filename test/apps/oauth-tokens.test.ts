import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { removeMember } from "../../src/accounts/change-members.ts";
import { recordNewPassword } from "../../src/accounts/sign-in/set-password.ts";
import { forgetFirst } from "../../src/apps/oauth/provider.ts";
import { type ProbeServer, startProbeServer } from "../accounts/probe-server.ts";
import { changeMember } from "../harness/members.ts";
import {
  addApp,
  addMember,
  askFor,
  type Client,
  letIn,
  Person,
  post,
  REDIRECT_URI,
  refresh,
  type Tokens,
} from "../harness/oauth.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";

const SCOPE = "openid offline_access user:read invoices:read invoices:write";
const TOKEN_PATH = "/oauth/token";
const BY = { actor: "command line", reason: "test" } as const;
const CREDENTIALS = { grant_type: "client_credentials" };

let server: TestServer;
let probe: ProbeServer;
let person: Person;
let person_id: string;
let machine: Client;

/** The library may print warnings. */
const printed = [vi.spyOn(console, "warn"), vi.spyOn(console, "info")];

beforeAll(async () => {
  server = await startTestServer();
  probe = await startProbeServer(server.core);
  person_id = await addMember(server, server.account_id, "ada@example.test");
  person = await Person.signedIn(server, server.account_id, person_id);
  machine = await addApp(server, server.account_id, { flow: "client_credentials" });
});
afterAll(async () => {
  await probe?.close();
  await server?.close();
});

async function newTokens(scope = SCOPE): Promise<{ app: Client; tokens: Tokens }> {
  const app = await addApp(server, server.account_id);
  return { app, tokens: await letIn(server, person, app, scope, server.account_id) };
}

async function machineToken(scope?: string): Promise<string> {
  const answer = await post(server, TOKEN_PATH, machine, {
    ...CREDENTIALS,
    ...(scope === undefined ? {} : { scope }),
  });
  return answer.body.access_token;
}

function isActive(app: Client, token: string): Promise<boolean> {
  return post(server, "/oauth/introspect", app, { token }).then(({ body }) => body.active);
}

/** Pretends that the used refresh tokens of an application were used earlier. */
function ageUsedTokens(app: Client, seconds: number) {
  return server.db.database.query(
    `update oauth_artifacts set consumed_at = consumed_at - make_interval(secs => $2)
     where app_id = $1 and model = 'RefreshToken' and consumed_at is not null`,
    [app.id, seconds],
  );
}

test("a password reset by mail ends all tokens, and the person is asked again", async () => {
  const { app, tokens } = await newTokens();
  const link = { person_id, email: "ada@example.test", password_hash: "" };
  const { database } = server.core;
  const set = (action: "password.change" | "password.reset") =>
    database.transaction((tx) => recordNewPassword(tx, server.core, { ...link, action }));
  // Who changes it knows it.
  await set("password.change");
  const second = await refresh(server, app, tokens.refresh_token!);
  expect(second.status).toBe(200);
  await set("password.reset");
  expect((await refresh(server, app, second.body.refresh_token)).status).toBe(400);
  expect(await isActive(app, second.body.access_token)).toBe(false);
  // No events either.
  const kept = "select from app_grants where app_id = $1 and revoked_at is null";
  expect(await database.query(kept, [app.id])).toEqual([]);
  person = await Person.signedIn(server, server.account_id, person_id);
  const again = await person.visit(askFor(app, SCOPE).url);
  expect(again.url).toMatch(/^\/consent\//);
});

test("a browser remembers a hundred applications, in a session that does not grow", () => {
  const authorizations = Object.fromEntries(
    Array.from({ length: 150 }, (_, at) => [`app ${at}`, { grantId: `${at}` }]),
  );
  const session = { authorizations };
  forgetFirst(session);
  const left = Object.keys(session.authorizations);
  expect([left.length, left[0], left.at(-1)]).toEqual([100, "app 50", "app 149"]);
});

describe("refreshing", () => {
  test("every refresh returns a new refresh token and keeps earlier access tokens valid", async () => {
    const { app, tokens } = await newTokens();
    const next = await refresh(server, app, tokens.refresh_token!);
    expect(next.status).toBe(200);
    expect(next.body).toMatchObject({ expires_in: 86_400, scope: SCOPE });
    expect(next.body.refresh_token).not.toBe(tokens.refresh_token);
    for (const key of [tokens.access_token, next.body.access_token]) {
      expect((await server.call("GET", "/me", undefined, { key })).status).toBe(200);
    }
  });

  test("concurrent refreshes with one token each get valid tokens", async () => {
    const { app, tokens } = await newTokens();
    const answers = await Promise.all(
      [1, 2, 3].map(() => refresh(server, app, tokens.refresh_token!)),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    for (const { body } of answers) {
      expect((await refresh(server, app, body.refresh_token)).status).toBe(200);
    }
  });

  test("one token gives 120 in a minute; beyond that nothing is used up", async () => {
    const { app, tokens } = await newTokens();
    const seen: Awaited<ReturnType<typeof refresh>>[] = [];
    const minute = () => Math.floor(performance.now() / 60_000);
    // Counted by the minute of the process: another one begins again.
    for (let began = minute() - 1; seen.every(({ status }) => status === 200); ) {
      if (minute() !== began) seen.length = 0;
      began = minute();
      const ten = Array.from({ length: 10 }, () => refresh(server, app, tokens.refresh_token!));
      seen.push(...(await Promise.all(ten)));
      await ageUsedTokens(app, -5);
    }
    expect(seen.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(120);
    const refused = seen.find(({ status }) => status !== 200)!;
    expect([refused.status, refused.body.error]).toEqual([503, "temporarily_unavailable"]);
    const other = await newTokens();
    expect((await refresh(server, other.app, other.tokens.refresh_token!)).status).toBe(200);
    expect(await isActive(app, tokens.access_token)).toBe(true);
  });

  test("a consent ends however many tokens it has, and is found beside them", async () => {
    const { app, tokens } = await newTokens();
    const { database } = server.db;
    await database.query(
      `insert into oauth_artifacts
         (model, id_hash, payload, grant_id, app_id, account_id, person_id, expires_at)
       select model, sha256(id_hash || int4send(n)), payload, grant_id, app_id, account_id,
         person_id, expires_at
       from oauth_artifacts, generate_series(1, 30000) as n
       where app_id = $1 and model = 'AccessToken'`,
      [app.id],
    );
    await database.query("analyze oauth_artifacts");
    const plan = await database.query<Record<"QUERY PLAN", string>>(
      `explain (analyze, buffers, costs off, timing off)
       select exists (select from oauth_artifacts consent where consent.model = 'Grant'
         and consent.grant_id = artifact.grant_id)
       from oauth_artifacts artifact where app_id = $1 and model = 'RefreshToken'`,
      [app.id],
    );
    const text = plan.map((row) => row["QUERY PLAN"]).join("\n");
    expect(text).toContain("oauth_artifacts_of_consent");
    const revoked = await post(server, "/oauth/revoke", app, { token: tokens.refresh_token! });
    expect(revoked.status).toBe(200);
    expect(await isActive(app, tokens.access_token)).toBe(false);
    expect((await refresh(server, app, tokens.refresh_token!)).status).toBe(400);
    const [left] = await database.query<{ count: number }>(
      "select count(*)::int from oauth_artifacts where app_id = $1",
      [app.id],
    );
    expect(left!.count).toBeGreaterThan(20_000);
  });

  test("a token used again after the grace period ends the consent with all its tokens", async () => {
    const { app, tokens } = await newTokens();
    const next = await refresh(server, app, tokens.refresh_token!);
    await ageUsedTokens(app, 11);
    const reused = await refresh(server, app, tokens.refresh_token!);
    expect(reused.body.error).toBe("invalid_grant");
    expect((await refresh(server, app, next.body.refresh_token)).body.error).toBe("invalid_grant");
    const write = await probe.call("POST", "/probe", next.body.access_token);
    expect(write.status).toBe(401);
    const [grant] = await server.db.database.query<{ revoked_at: Date | null }>(
      "select revoked_at from app_grants where app_id = $1",
      [app.id],
    );
    expect(grant!.revoked_at).not.toBeNull();
  });

  test("a refresh may request fewer scopes, but not more", async () => {
    const { app, tokens } = await newTokens("offline_access invoices:read user:read");
    const refresh_token = tokens.refresh_token!;
    const fields = { grant_type: "refresh_token", refresh_token };
    const more = await post(server, TOKEN_PATH, app, { ...fields, scope: "invoices:write" });
    expect(more.body.error).toBe("invalid_scope");
    const fewer = await post(server, TOKEN_PATH, app, { ...fields, scope: "user:read" });
    expect(fewer.body.scope).toBe("user:read");
  });

  test("another application cannot refresh with it", async () => {
    const { app, tokens } = await newTokens();
    const thief = await addApp(server, server.account_id);
    const stolen = await refresh(server, thief, tokens.refresh_token!);
    expect(stolen.body.error).toBe("invalid_grant");
    expect((await refresh(server, app, tokens.refresh_token!)).status).toBe(200);
  });

  test("without offline_access there is no refresh token", async () => {
    const { tokens } = await newTokens("user:read");
    expect(tokens.refresh_token).toBeUndefined();
  });
});

describe("client credentials", () => {
  test("an account gets 600 tokens in a minute, whichever of its applications asks", async () => {
    const { account_id } = await server.addAccount("Many tokens");
    const flow = { flow: "client_credentials" } as const;
    const apps = [await addApp(server, account_id, flow), await addApp(server, account_id, flow)];
    const minute = () => Math.floor(performance.now() / 60_000);
    const statuses: number[] = [];
    for (let began = minute() - 1; Math.max(0, ...statuses) <= 200; ) {
      if (minute() !== began) statuses.length = 0;
      began = minute();
      const asked = Array.from({ length: 50 }, (_, at) =>
        post(server, TOKEN_PATH, apps[at % 2]!, CREDENTIALS),
      );
      statuses.push(...(await Promise.all(asked)).map(({ status }) => status));
    }
    const refused = statuses.filter((status) => status !== 200);
    expect(statuses.length - refused.length).toBeLessThanOrEqual(600);
    expect(refused[0]).toBe(503);
    expect(await machineToken()).toEqual(expect.any(String));
  });

  test("an application gets a token for its own account, with all scopes it is allowed", async () => {
    const answer = await post(server, TOKEN_PATH, machine, CREDENTIALS);
    expect(answer.body).toEqual({
      access_token: expect.any(String),
      expires_in: 86_400,
      scope: "user:read invoices:read invoices:write",
      token_type: "Bearer",
    });
    const key = answer.body.access_token;
    const me = await server.call("GET", "/me", undefined, { key });
    expect(me.body).toEqual({ user: null, account: { id: server.account_id, name: "demo" } });
  });

  test("an Idempotency-Key has no effect: every request gets its own token", async () => {
    const { id, secret } = machine;
    const request = async () => {
      const answer = await server.call("POST", TOKEN_PATH, undefined, {
        raw: `grant_type=client_credentials&client_id=${id}&client_secret=${secret}`,
        headers: {
          "content-type": "application/x-www-form-urlencoded",
          "idempotency-key": "token-twice",
        },
        key: null,
      });
      expect(answer.status).toBe(200);
      expect(answer.headers.get("idempotent-replayed")).toBeNull();
      return answer.body.access_token;
    };
    expect(await request()).not.toBe(await request());
  });

  test("credentials in a form, in JSON and in the header are the same", async () => {
    const fields = { ...CREDENTIALS, client_id: machine.id, client_secret: machine.secret };
    const audience = "accounts";
    expect((await post(server, TOKEN_PATH, null, { ...fields, audience })).status).toBe(200);
    const key = null;
    const json = await server.call("POST", TOKEN_PATH, { ...fields, audience }, { key });
    expect(json.status).toBe(200);
    const basic = Buffer.from(`${machine.id}:${machine.secret}`).toString("base64");
    const headers = { authorization: `Basic ${basic}` };
    const mixed = await server.call("POST", TOKEN_PATH, CREDENTIALS, { key, headers });
    expect(mixed.status).toBe(200);
  });

  test.each([
    ["another audience", { audience: "payments" }, 400, "invalid_target"],
    ["an unknown scope", { scope: "payments:write" }, 400, "invalid_scope"],
    ["a scope that needs a person", { scope: "openid" }, 400, "invalid_scope"],
    ["a wrong secret", { client_secret: "wrong" }, 401, "invalid_client"],
    ["an unknown application", { client_id: crypto.randomUUID() }, 401, "invalid_client"],
    ["no secret", { client_secret: "" }, 401, "invalid_client"],
    ["an unknown grant", { grant_type: "password" }, 400, "unsupported_grant_type"],
  ])("%s is refused in form and JSON alike", async (_what, fields, status, error) => {
    const all = { ...CREDENTIALS, client_id: machine.id, client_secret: machine.secret, ...fields };
    const form = await post(server, TOKEN_PATH, null, all);
    const json = await server.call("POST", TOKEN_PATH, all, { key: null });
    for (const answer of [form, json]) {
      expect(answer.status).toBe(status);
      expect(answer.body.error).toBe(error);
      expect(answer.headers.get("x-request-id")).toEqual(expect.any(String));
    }
  });

  test.each(["audience=accounts&audience=accounts", "scope=user:read&scope=invoices:read"])(
    "%s is refused: each is sent once",
    async (twice) => {
      const { id, secret } = machine;
      const body = `grant_type=client_credentials&client_id=${id}&client_secret=${secret}&${twice}`;
      const headers = { "content-type": "application/x-www-form-urlencoded" };
      const answer = await fetch(`${server.url}${TOKEN_PATH}`, { method: "POST", headers, body });
      expect(answer.status).toBe(400);
      expect(await answer.json()).toMatchObject({ error: "invalid_request" });
    },
  );

  test("an unreadable body gets an OAuth error, too", async () => {
    const options = { key: null, raw: "{" };
    const broken = await server.call("POST", TOKEN_PATH, undefined, options);
    expect(broken.body.error).toBe("invalid_request");
    const list = await server.call("POST", TOKEN_PATH, [1], { key: null });
    expect(list.body.error).toBe("invalid_request");
    const nested = await server.call("POST", TOKEN_PATH, { scope: ["x"] }, { key: null });
    expect(nested.body.error).toBe("invalid_request");
    const headers = { "content-type": "text/plain" };
    const text = await server.call("POST", TOKEN_PATH, undefined, { ...options, headers });
    expect(text.status).toBe(415);
    const long = await server.call("POST", TOKEN_PATH, undefined, {
      key: null,
      raw: JSON.stringify({ scope: "x".repeat(60_000) }),
    });
    expect(long.status).toBe(413);
    expect(long.body.error).toBe("invalid_request");
    const short = await server.app.server.inject({
      method: "POST",
      url: TOKEN_PATH,
      headers: { "content-type": "application/x-www-form-urlencoded", "content-length": "5" },
      payload: "scope=user:read",
    });
    expect(short.statusCode).toBe(400);
    expect(short.json().error).toBe("invalid_request");
  });

  test("an application has one flow, and the other is refused", async () => {
    const web = await addApp(server, server.account_id);
    const answer = await post(server, TOKEN_PATH, web, CREDENTIALS);
    expect(answer.status).toBe(400);
    expect(answer.body.access_token).toBeUndefined();
    const query = new URLSearchParams({ client_id: machine.id, response_type: "code" });
    const page = await person.visit(`/authorize?${query}`);
    expect(page.status).toBe(400);
    expect(page.location).toBeNull();
  });

  test("a new secret works at once, and the old one stops working", async () => {
    const app = await addApp(server, server.account_id, { flow: "client_credentials" });
    expect((await post(server, TOKEN_PATH, app, CREDENTIALS)).status).toBe(200);
    const rotated = await person.call("POST", `/apps/${app.id}/rotate_client_secret`, {});
    const secret = rotated.body.client_secret;
    expect((await post(server, TOKEN_PATH, app, CREDENTIALS)).status).toBe(401);
    expect((await post(server, TOKEN_PATH, { ...app, secret }, CREDENTIALS)).status).toBe(200);
  });

  test("a deleted application and its tokens end at once", async () => {
    const app = await addApp(server, server.account_id, { flow: "client_credentials" });
    const { body } = await post(server, TOKEN_PATH, app, CREDENTIALS);
    const gone = await server.call("POST", `/apps/${app.id}/delete`);
    expect(gone.status).toBe(200);
    expect((await post(server, TOKEN_PATH, app, CREDENTIALS)).status).toBe(401);
    expect((await probe.call("POST", "/probe", body.access_token)).status).toBe(401);
    expect((await server.call("POST", `/apps/${app.id}/delete`)).status).toBe(404);
    const entries = await server.db.database.query(
      "select action from audit_entries where action = 'app.delete' and record = $1",
      [`app:${app.id}`],
    );
    expect(entries).toHaveLength(1);
  });
});

describe("introspection and revocation", () => {
  test("an application can introspect its own tokens only", async () => {
    const { app, tokens } = await newTokens();
    const own = await post(server, "/oauth/introspect", app, { token: tokens.access_token });
    expect(own.body).toMatchObject({
      active: true,
      client_id: app.id,
      sub: person_id,
      scope: SCOPE,
      token_type: "Bearer",
      iss: server.url,
    });
    expect(own.body.exp - own.body.iat).toBe(86_400);
    expect(await isActive(app, tokens.refresh_token!)).toBe(true);
    expect(await isActive(machine, tokens.access_token)).toBe(false);
    expect(await isActive(app, "nonsense")).toBe(false);
    const unknown = await post(server, "/oauth/introspect", null, { token: tokens.access_token });
    expect(unknown.status).toBe(400);
  });

  test("a revoked token stops a write at once, and a read within a second", async () => {
    const { app, tokens } = await newTokens();
    const key = tokens.access_token;
    expect((await probe.call("GET", "/probe", key)).status).toBe(200);
    expect((await probe.call("POST", "/probe", key)).status).toBe(200);
    expect((await post(server, "/oauth/revoke", app, { token: key })).status).toBe(200);
    // Still cached for reads, so that this tests the write.
    expect((await probe.call("POST", "/probe", key)).status).toBe(401);
    await waitFor(async () => (await probe.call("GET", "/probe", key)).status === 401, 1_500);
    expect(await isActive(app, key)).toBe(false);
  });

  test("a revoked refresh token ends the consent", async () => {
    const { app, tokens } = await newTokens();
    await post(server, "/oauth/revoke", app, { token: tokens.refresh_token! });
    expect((await probe.call("POST", "/probe", tokens.access_token)).status).toBe(401);
    const [grant] = await server.db.database.query<{ revoked_at: Date | null }>(
      "select revoked_at from app_grants where app_id = $1",
      [app.id],
    );
    expect(grant!.revoked_at).not.toBeNull();
    const [entry] = await server.db.database.query<{ actor: string }>(
      "select actor from audit_entries where action = 'app_grant.revoke' and record = $1",
      [`app:${app.id}`],
    );
    expect(entry!.actor).toBe(`app:${app.id}`);
  });

  test("an application cannot revoke another application's token", async () => {
    const { tokens } = await newTokens();
    await post(server, "/oauth/revoke", machine, { token: tokens.access_token });
    expect((await probe.call("POST", "/probe", tokens.access_token)).status).toBe(200);
  });

  test("an expired token is refused", async () => {
    const key = await machineToken();
    expect((await probe.call("POST", "/probe", key)).status).toBe(200);
    await server.db.database.query(
      "update oauth_artifacts set expires_at = expires_at - interval '1 day' where app_id = $1",
      [machine.id],
    );
    expect((await probe.call("POST", "/probe", key)).status).toBe(401);
  });

  test("a member's consents end when they leave the account", async () => {
    const email = "leaver@example.test";
    const account_id = (await server.addAccount("Short stay")).account_id;
    const leaver_id = await addMember(server, account_id, email);
    const leaver = await Person.signedIn(server, account_id, leaver_id);
    const app = await addApp(server, server.account_id);
    const tokens = await letIn(server, leaver, app, SCOPE, account_id);
    expect((await probe.call("POST", "/probe", tokens.access_token)).status).toBe(200);
    const leaver_key = { account_id, person_id: leaver_id };
    const { core } = server;
    const leave = () =>
      core.database.transaction((tx) => removeMember(tx, leaver_key, BY, core.clock.now()));
    await expect(leave()).rejects.toMatchObject({ code: "invalid_transition" });
    await addMember(server, account_id, "stayer@example.test");
    await leave();
    expect((await leaver.get("/dashboard")).location).toContain("/sign-in");
    expect((await probe.call("POST", "/probe", tokens.access_token)).status).toBe(401);
    expect((await refresh(server, app, tokens.refresh_token!)).body.error).toBe("invalid_grant");
    expect(await isActive(app, tokens.access_token)).toBe(false);
  });

  test("tokens from before a person left stay invalid when they return and consent again", async () => {
    const account_id = (await server.addAccount("Second stay")).account_id;
    const email = "returner@example.test";
    const returner_id = await addMember(server, account_id, email);
    await addMember(server, account_id, "keeper@example.test");
    const before = await Person.signedIn(server, account_id, returner_id);
    const app = await addApp(server, server.account_id);
    const old = await letIn(server, before, app, SCOPE, account_id);
    const { core } = server;
    await core.database.transaction((tx) =>
      removeMember(tx, { account_id, person_id: returner_id }, BY, core.clock.now()),
    );
    expect(await addMember(server, account_id, email)).toBe(returner_id);
    const after = await Person.signedIn(server, account_id, returner_id);
    const less = "offline_access invoices:read";
    const now = await letIn(server, after, app, less, account_id);
    expect(now.scope).toBe(less);
    expect((await probe.call("GET", "/probe", now.access_token)).status).toBe(200);

    expect((await probe.call("POST", "/probe", old.access_token)).status).toBe(401);
    expect(await isActive(app, old.access_token)).toBe(false);
    expect((await refresh(server, app, old.refresh_token!)).body.error).toBe("invalid_grant");
  });

  test("a write is refused at once after the role of the person was lowered", async () => {
    const account_id = (await server.addAccount("Lowered role")).account_id;
    const lowered_id = await addMember(server, account_id, "lowered@example.test");
    const lowered = await Person.signedIn(server, account_id, lowered_id);
    const app = await addApp(server, server.account_id);
    const tokens = await letIn(server, lowered, app, SCOPE, account_id);
    const write = () => probe.call("POST", "/probe", tokens.access_token);
    // From now on the server remembers the caller, and the scopes, for a second.
    expect((await write()).status).toBe(200);
    await changeMember(server.db.database, lowered_id, { role: "approver" });
    expect([401, 403]).toContain((await write()).status);
    const { access_token, scope } = (await refresh(server, app, tokens.refresh_token!)).body;
    expect(scope).not.toContain("invoices:write");
    expect((await probe.call("POST", "/probe", access_token)).status).toBe(403);
  });

  test("a person's new role limits the scopes of their existing tokens", async () => {
    const account_id = (await server.addAccount("Changing roles")).account_id;
    const changed_id = await addMember(server, account_id, "changed@example.test");
    const changed = await Person.signedIn(server, account_id, changed_id);
    const app = await addApp(server, server.account_id);
    const tokens = await letIn(server, changed, app, SCOPE, account_id);
    await changeMember(server.db.database, changed_id, { role: "approver" });
    expect((await probe.call("POST", "/probe", tokens.access_token)).status).toBe(403);
    expect((await probe.call("GET", "/probe", tokens.access_token)).status).toBe(200);

    const less = SCOPE.replace(" invoices:write", "");
    const token = tokens.access_token;
    expect((await post(server, "/oauth/introspect", app, { token })).body.scope).toBe(less);
    const next = await refresh(server, app, tokens.refresh_token!);
    expect(next.body).toMatchObject({ scope: less });
    const asked = { scope: SCOPE, response_type: "code", client_id: app.id, prompt: "none" };
    const silent = await changed.visit(
      `/authorize?${new URLSearchParams({
        ...asked,
        redirect_uri: REDIRECT_URI,
        code_challenge: "x".repeat(43),
        code_challenge_method: "S256",
      })}`,
    );
    expect(silent.location).toContain("error=consent_required");
  });
});

describe("a token as a caller", () => {
  test("a route accepts only tokens with its scope", async () => {
    const reader = await machineToken("invoices:read");
    const read = await probe.call("GET", "/probe", reader);
    expect(read.status).toBe(200);
    expect(read.body).toMatchObject({ account_id: server.account_id, app_id: machine.id });
    const write = await probe.call("POST", "/probe", reader);
    expect(write.status).toBe(403);
    expect(write.body).toMatchObject({ error_code: "insufficient_scope", status: 403 });
    expect(write.headers.get("www-authenticate")).toContain('scope="invoices:write"');
    const me = await server.call("GET", "/me", undefined, { key: reader });
    expect(me.status).toBe(403);
  });

  test("routes without a scope accept API keys only", async () => {
    const key = await machineToken();
    expect((await probe.call("GET", "/probe/keys-only", key)).status).toBe(403);
    for (const path of ["/users", "/payment_detail_requirements"]) {
      const answer = await server.call("GET", path, undefined, { key });
      expect(answer.status).toBe(403);
      expect(answer.body.error_code).toBe("insufficient_scope");
    }
  });

  test("an API key has all scopes", async () => {
    expect((await probe.call("GET", "/probe", server.key)).status).toBe(200);
    expect((await probe.call("POST", "/probe", server.key)).status).toBe(200);
    const me = await server.call("GET", "/me");
    expect(me.body).toEqual({ user: null, account: { id: server.account_id, name: "demo" } });
  });

  test("the same Idempotency-Key returns the first response again, also with a newer token", async () => {
    const headers = { "idempotency-key": "token-1" };
    const first = await probe.call("POST", "/probe", await machineToken(), headers);
    const again = await probe.call("POST", "/probe", await machineToken(), headers);
    expect(again.body).toEqual(first.body);
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    const other = await probe.call("POST", "/probe", await machineToken());
    expect(other.body).not.toEqual(first.body);
  });

  test("the first success with a token marks the application as used permanently", async () => {
    const app = await addApp(server, server.account_id, { flow: "client_credentials" });
    const usedAt = async () => {
      const [row] = await server.db.database.query<{ used_at: Date | null }>(
        "select used_at from apps where id = $1",
        [app.id],
      );
      return row!.used_at;
    };
    const fields = { ...CREDENTIALS, scope: "invoices:read" };
    const key = (await post(server, TOKEN_PATH, app, fields)).body.access_token;
    expect((await probe.call("POST", "/probe", key)).status).toBe(403);
    expect(await usedAt()).toBeNull();
    expect((await probe.call("GET", "/probe", key)).status).toBe(200);
    const first = await usedAt();
    expect(first).not.toBeNull();
    await probe.call("GET", "/probe", key);
    expect(await usedAt()).toEqual(first);
  });

  test("limits count per token, as per key", async () => {
    const limited = await startProbeServer(server.core, 2);
    try {
      const [one, two] = [await machineToken(), await machineToken()];
      const call = (key: string) => limited.call("GET", "/probe", key);
      // Repeated until all three requests fall into the same second.
      await waitFor(async () => {
        const answers = await Promise.all([call(one), call(one), call(one)]);
        return answers.some(({ status }) => status === 429);
      });
      const other = await call(two);
      expect(other.headers.get("ratelimit-remaining")).toBe("1");
    } finally {
      await limited.close();
    }
  });
});

test("the library prints nothing on the console", () => {
  expect([console.warn, console.info].every((method) => vi.isMockFunction(method))).toBe(true);
  expect(printed.flatMap(({ mock }) => mock.calls)).toEqual([]);
});
