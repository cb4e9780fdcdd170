import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { checkApp } from "../../src/apps/check-app.ts";
import { addApp, addMember, letIn, Person, post, refresh } from "../harness/oauth.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { emit, idle, addApp as setUpApp } from "../webhooks/webhook-fixture.ts";

const SCOPE = "offline_access user:read";

let server: TestServer;
let admin: Person;
let admin_id: string;

beforeAll(async () => {
  server = await startTestServer();
  admin_id = await addMember(server, server.account_id, "ada@example.test");
  admin = await Person.signedIn(server, server.account_id, admin_id);
});
afterAll(() => server?.close());

const NEW_APP = {
  name: "Paper <Kite>",
  flow: "client_credentials",
  webhook_url: "https://hooks.example.test/in",
};

async function listShown(person: Person): Promise<string> {
  const answer = await person.call("GET", "/apps");
  expect(answer.status).toBe(200);
  return answer.text;
}

describe("applications of the account", () => {
  test("an admin creates one, sees its secrets once, and it works", async () => {
    const input = { ...NEW_APP, events: ["offramp_update"] };
    const created = await admin.call("POST", "/apps", { app: input });
    expect(created.status).toBe(200);
    const { client_secret, webhook_secret } = created.body;
    expect(created.body.app.name).toBe(NEW_APP.name);
    expect(webhook_secret).toMatch(/^whsec_/);
    const app = { id: created.body.app.client_id, secret: client_secret };
    const fields = { grant_type: "client_credentials" };
    expect((await post(server, "/oauth/token", app, fields)).status).toBe(200);
    const later = await listShown(admin);
    expect(later).toContain(app.id);
    expect(later).not.toContain(app.secret);
    expect(later).not.toContain(webhook_secret);
    const [row] = await server.db.database.query("select flow, events from apps where id = $1", [
      app.id,
    ]);
    expect(row).toEqual({ flow: "client_credentials", events: ["offramp_update"] });
    const [entry] = await server.db.database.query(
      "select actor from audit_entries where action = 'app.create' and record = $1",
      [`app:${app.id}`],
    );
    expect(entry).toEqual({ actor: `member:${admin_id}` });
  });

  test("an admin deletes one, and it no longer exists", async () => {
    const app = await addApp(server, server.account_id, { flow: "client_credentials" });
    expect(await listShown(admin)).toContain(app.id);
    expect((await admin.call("POST", `/apps/${app.id}/delete`, {})).status).toBe(200);
    expect(await listShown(admin)).not.toContain(app.id);
    const fields = { grant_type: "client_credentials" };
    expect((await post(server, "/oauth/token", app, fields)).status).toBe(401);
  });

  test("pending deliveries of a paused one are settled when an admin deletes it", async () => {
    const { id } = await setUpApp(server, { webhook_url: "https://hooks.example.test/paused" });
    await server.call("POST", `/apps/${id}/pause`);
    await emit(server, {});
    await idle(server);
    const statuses = () =>
      server.db.database.query("select status from webhook_deliveries where app_id = $1", [id]);
    expect(await statuses()).toEqual([{ status: "pending" }]);
    expect((await admin.call("POST", `/apps/${id}/delete`, {})).status).toBe(200);
    await idle(server);
    expect(await statuses()).toEqual([{ status: "skipped" }]);
    expect((await admin.call("POST", `/apps/${id}/delete`, {})).status).toBe(404);
  });

  test.each([
    ["no name", { name: " " }, "app.name", 400],
    ["data", redirect("data:text/html,x"), "app.redirect_uris[0]"],
    ["a fragment", redirect("https://shop.example.test/#x"), "app.redirect_uris[0]"],
    ["a script", redirect("javascript:alert(1)"), "app.redirect_uris[0]"],
    ["an unknown flow", { flow: "implicit" }, "app.flow"],
    ["an address that is none", { webhook_url: "ftp://x.test" }, "app.webhook_url"],
    ["a short secret", { webhook_secret: "short" }, "app.webhook_secret"],
  ])(
    "%s is refused with a message that names the field",
    async (_what, fields, field, status = 422) => {
      const refused = await admin.call("POST", "/apps", { app: { ...NEW_APP, ...fields } });
      expect(refused.status).toBe(status);
      expect(refused.body.errors).toMatchObject([{ field, message: expect.any(String) }]);
    },
  );

  test("in live mode, a code is sent by https, to loopback, or to a custom scheme", () => {
    const rules = { mode: "live" as const, refuseUrl: () => null };
    const isGood = (uri: string) =>
      checkApp({ redirect_uris: [uri] }, rules, "").problems.length === 0;
    expect(isGood("https://shop.example.test/callback")).toBe(true);
    expect(isGood("http://localhost:3000/callback")).toBe(true);
    expect(isGood("http://[::1]:3000/callback")).toBe(true);
    expect(isGood("com.example.shop:/callback")).toBe(true);
    expect(isGood("http://shop.example.test/callback")).toBe(false);
    expect(isGood("http://localhost.example.test/callback")).toBe(false);
    expect(isGood("https://user@shop.example.test/callback")).toBe(false);
    expect(isGood("/callback")).toBe(false);
    expect(isGood("https://shop.example.test\\@other.example.test/callback")).toBe(false);
  });

  test.each([
    ...["http:a.example", "https:/a.example", "https:a.example/x", "HTTP:localhost/x"],
    ...["https:?x", "http:/localhost:3000/callback"],
  ])("%s, which browsers would fix, is not a valid redirect URI", (uri) => {
    const rules = { mode: "sandbox" as const, refuseUrl: () => null };
    expect(checkApp({ redirect_uris: [uri] }, rules, "").problems).toMatchObject([
      { message: "Send an absolute URL such as https://example.com/callback." },
    ]);
  });

  test.each([
    [" https://hooks.example.test/in", "Remove the spaces"],
    ["https://hooks.example.test/in\n", "Remove the spaces"],
    ["https://hooks.example.test/a b", "Remove the spaces"],
    ["https://hooks.example.test/a\u0001", "Remove the spaces"],
    ["https://hooks.example.test/a\u007f", "Remove the spaces"],
    ["https:\\\\hooks.example.test/in", "Remove the \\"],
    ["https://hooks.example.test\\in", "Remove the \\"],
    ["https:hooks.example.test/in", "https://"],
    ["https:///hooks.example.test/in", "https://"],
    ["https://hooks.example.test/in#part", "Remove the #"],
    ["https://hooks.example.test/in#", "Remove the #"],
  ])("the webhook URL %j is refused with advice", (webhook_url, words) => {
    const rules = { mode: "sandbox" as const, refuseUrl: () => null };
    const { problems } = checkApp({ webhook_url }, rules, "app.");
    expect(problems).toMatchObject([{ field: "app.webhook_url", code: "record_invalid" }]);
    expect(problems[0]!.message).toContain(words);
  });

  test.each([
    ...["about", "blob", "data", "file", "filesystem", "intent", "jar", "javascript"],
    ...["mailto", "tel", "MailTo"],
  ])("%s is refused as a custom scheme", (scheme) => {
    const rules = { mode: "sandbox" as const, refuseUrl: () => null };
    const { problems } = checkApp({ redirect_uris: [`${scheme}:callback`] }, rules, "");
    expect(problems[0]!.message).toContain("a custom scheme");
  });

  test("redirect URIs that the library would refuse later are refused at once, with the reason", async () => {
    const rules = { mode: "sandbox" as const, refuseUrl: () => null };
    const problemOf = (...redirect_uris: string[]) =>
      checkApp({ redirect_uris }, rules, "").problems[0];
    const mixed = problemOf("com.example.shop:/callback", "http://shop.example.test/callback");
    expect(mixed).toMatchObject({ field: "redirect_uris[1]" });
    expect(mixed!.message).toContain("http is allowed only for loopback");
    expect(problemOf("com.example.shop:/x", "https://localhost/x")!.message).toContain("not https");
    expect(problemOf("https://*.example.test/callback")!.message).toContain("wildcards");
    for (const blank of [
      " https://shop.example.test/x",
      "https://shop.example.test/a b",
      "x:\ty",
    ]) {
      expect(problemOf(blank)!.message).toContain("Remove the spaces");
    }
    expect(problemOf("com.example.shop:/x", "http://127.0.0.1/x")).toBeUndefined();
    expect(problemOf("http://shop.example.test/x", "https://localhost/x")).toBeUndefined();
  });

  test("http on localhost is allowed for development", async () => {
    const fields = redirect("http://localhost:3000/callback", "https://shop.example.test/callback");
    const input = { ...NEW_APP, ...fields, name: "Local" };
    expect((await admin.call("POST", "/apps", { app: input })).status).toBe(200);
  });

  test("other roles cannot see, create or change them", async () => {
    const app = await addApp(server, server.account_id, { name: "Hidden Heron" });
    const approver_id = await addMember(
      server,
      server.account_id,
      "approver@example.test",
      "approver",
    );
    const approver = await Person.signedIn(server, server.account_id, approver_id);
    const list = await approver.call("GET", "/apps");
    expect(list.status).toBe(403);
    expect(list.text).not.toContain("Hidden Heron");
    expect((await approver.call("POST", "/apps", { app: NEW_APP })).status).toBe(403);
    const rotated = await approver.call("POST", `/apps/${app.id}/rotate_client_secret`, {});
    expect(rotated.status).toBe(403);
  });

  test("an admin cannot rotate the secret of another account's application", async () => {
    const other = await server.addAccount("Other owners");
    const app = await addApp(server, other.account_id, { flow: "client_credentials" });
    const rotated = await admin.call("POST", `/apps/${app.id}/rotate_client_secret`, {});
    expect(rotated.status).toBe(404);
    const fields = { grant_type: "client_credentials" };
    expect((await post(server, "/oauth/token", app, fields)).status).toBe(200);
  });
});

describe("connected applications", () => {
  const REVOKE = "/dashboard/api/consents/revoke";
  const listConsents = async (person: Person) =>
    (await person.call("GET", "/dashboard/api/security")).body.consents;

  test("a person sees their consents, and revoking one ends its tokens at once", async () => {
    const app = await addApp(server, server.account_id, { name: "Quiet Quill" });
    const tokens = await letIn(server, admin, app, SCOPE, server.account_id);
    expect(await listConsents(admin)).toMatchObject([{ app_name: "Quiet Quill", is_yours: true }]);
    const consent = { app_id: app.id, account_id: server.account_id, person_id: admin_id };
    expect((await admin.call("POST", REVOKE, consent)).status).toBe(200);
    expect(await listConsents(admin)).toEqual([]);
    expect((await refresh(server, app, tokens.refresh_token!)).body.error).toBe("invalid_grant");
    const key = tokens.access_token;
    expect((await server.call("GET", "/me", undefined, { key })).status).toBe(401);
    const [grant] = await server.db.database.query<{ revoked_at: Date | null }>(
      "select revoked_at from app_grants where app_id = $1",
      [app.id],
    );
    expect(grant!.revoked_at).not.toBeNull();
    // The application must ask again, and gets a new grant.
    const again = await letIn(server, admin, app, SCOPE, server.account_id);
    const new_key = { key: again.access_token };
    expect((await server.call("GET", "/me", undefined, new_key)).status).toBe(200);
    expect((await server.call("GET", "/me", undefined, { key })).status).toBe(401);
  });

  test("an admin can revoke a member's consent, but a member not the admin's", async () => {
    const clerk_id = await addMember(server, server.account_id, "clerk@example.test", "accountant");
    const clerk = await Person.signedIn(server, server.account_id, clerk_id);
    const app = await addApp(server, server.account_id, { name: "Busy Badger" });
    const account_id = server.account_id;
    const tokens = await letIn(server, clerk, app, SCOPE, account_id);
    await letIn(server, admin, app, SCOPE, account_id);
    const of_admin = { app_id: app.id, account_id, person_id: admin_id };
    expect((await clerk.call("POST", REVOKE, of_admin)).status).toBe(404);
    const emails = (await listConsents(admin)).map(({ email }: { email: string }) => email);
    expect(emails).toContain("clerk@example.test");
    const of_clerk = { app_id: app.id, account_id, person_id: clerk_id };
    expect((await admin.call("POST", REVOKE, of_clerk)).status).toBe(200);
    expect((await refresh(server, app, tokens.refresh_token!)).body.error).toBe("invalid_grant");
  });

  test("an invalid id is not found", async () => {
    const nonsense = { app_id: "x", account_id: "y", person_id: admin_id };
    expect((await admin.call("POST", REVOKE, nonsense)).status).toBe(404);
  });
});

function redirect(...redirect_uris: string[]) {
  return { flow: "authorization_code", redirect_uris };
}
