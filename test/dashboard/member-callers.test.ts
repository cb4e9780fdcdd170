import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { mayDo } from "../../src/accounts/member-callers/operations.ts";
import { ROLES, type Role } from "../../src/accounts/model.ts";
import { may } from "../../src/accounts/roles.ts";
import { SESSIONS } from "../../src/accounts/sign-in/session-store.ts";
import { readDocument } from "../harness/api-document.ts";
import { changeMember } from "../harness/members.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { vouch } from "../harness/vouch.ts";
import { waitFor } from "../harness/wait-for.ts";
import { type BrowserMember, signInMember } from "./dashboard-server.ts";

const USER = {
  user: {
    ...{ beneficiary_type: "individual", email: "payer@example.com" },
    ...{ first_name: "Ana", last_name: "Sample" },
  },
};

let server: TestServer;
const members = new Map<Role, BrowserMember>();
const member = (role: Role) => members.get(role)!;

beforeAll(async () => {
  server = await startTestServer({ environment: { SLIPROAD_SECOND_FACTOR: "optional" } });
  for (const role of ROLES) {
    const { account_id } = server;
    const email = `${role}@example.test`;
    members.set(role, await signInMember(server, { account_id, role, email }));
  }
});

afterAll(() => server.close());

describe("a signed-in member at the API", () => {
  it("needs the session's cookie and its CSRF token, for reads as well", async () => {
    const ada = member("admin");
    expect((await ada.call("GET", "/users")).statusCode).toBe(200);
    const without = await server.app.server.inject({
      url: "/users",
      cookies: Object.fromEntries(ada.visitor.cookies),
    });
    expect(without.statusCode).toBe(401);
    const other = { "x-csrf-token": member("accountant").visitor.csrf };
    expect((await ada.call("GET", "/users", undefined, other)).statusCode).toBe(401);
    const bare = await server.app.server.inject({
      url: "/users",
      headers: { "x-csrf-token": ada.visitor.csrf },
    });
    expect(bare.statusCode).toBe(401);
  });

  it("acts under their own name", async () => {
    const created = await member("finance_manager").call("POST", "/users", USER);
    expect(created.statusCode).toBe(200);
    const { id } = created.json().user;
    const reason = "set up by a test";
    const frozen = await member("admin").call("POST", `/users/${id}/freeze`, { reason });
    expect(frozen.statusCode).toBe(200);
    const { history } = (await member("admin").call("GET", `/records/${id}/history`)).json();
    expect(history.map((item: { who: string }) => item.who)).toEqual([
      `member:${member("admin").person_id}`,
    ]);
  });

  it("confirms again before what moves money, and not before reading", async () => {
    const path = `/users/${crypto.randomUUID()}/offramps/${crypto.randomUUID()}/refund`;
    const { call, person_id } = member("finance_manager");
    expect((await call("POST", path, {})).json().error_code).toBe("record_not_found");
    await server.core.database.query(
      `update sessions set confirmed_at = confirmed_at - interval '11 minutes'
       where person_id = $1`,
      [person_id],
    );
    await vouch(server.core.database, SESSIONS);
    const refused = await call("POST", path, {});
    expect(refused.statusCode).toBe(403);
    expect(refused.json().error_code).toBe("confirmation_required");
    const to_thief = { type: "changePaymentOptions", input: { paymentOptions: [] } };
    const redirected = await call("POST", `/invoices/${crypto.randomUUID()}/changes`, to_thief);
    expect(redirected.json().error_code).toBe("confirmation_required");
    const batch = `/dashboard/api/batches/${crypto.randomUUID()}`;
    const other_payee = { batch: { rows: [{ n: 1, cells: { iban: "DE84100100100532013000" } }] } };
    const changed = await call("PATCH", batch, other_payee);
    expect(changed.json().error_code).toBe("confirmation_required");
    // Many payees have one account, and credit a payment by its reference.
    const offramp_id = crypto.randomUUID();
    const quote = `/users/${crypto.randomUUID()}/quotes/${crypto.randomUUID()}`;
    const credited = await call("PATCH", `${quote}/offramps/${offramp_id}`, {
      offramp: { reference: "another customer" },
    });
    expect(credited.json().error_code).toBe("confirmation_required");
    const attached = await call("POST", `/offramps/${offramp_id}/supporting-documents`);
    expect(attached.json().error_code).toBe("confirmation_required");
    // A colleague chooses among the payees that are there, and an applicant among the links.
    const details = `/users/${crypto.randomUUID()}/payment_details`;
    const payee = { payment_detail: { currency: "eur", iban: "DE84100100100532013000" } };
    const added = await call("POST", details, payee);
    expect(added.json().error_code).toBe("confirmation_required");
    const ended = await call("PATCH", `${details}/${crypto.randomUUID()}/deactivate`);
    expect(ended.json().error_code).toBe("confirmation_required");
    const link = await call("POST", `/users/${crypto.randomUUID()}/kycs`);
    expect(link.json().error_code).toBe("confirmation_required");
    expect((await call("GET", "/users")).statusCode).toBe(200);
  });

  it("lets nobody change invoices by an application who may not change them", async () => {
    const machine = { app: { name: "Books", flow: "client_credentials" } };
    const refused = await member("developer").call("POST", "/apps", machine);
    expect(refused.json()).toMatchObject({
      error_code: "insufficient_scope",
      message: expect.stringContaining("Roles that may: admin, finance_manager."),
    });
    const created = await member("admin").call("POST", "/apps", machine);
    expect(created.statusCode, created.body).toBe(200);
    const rotate = `/apps/${created.json().app.id}/rotate_client_secret`;
    const stolen = await member("developer").call("POST", rotate, {});
    expect(stolen.json()).toMatchObject({
      error_code: "insufficient_scope",
      message: expect.stringContaining("Roles that may: admin, finance_manager."),
    });
    const once = { "idempotency-key": "rotate-the-books" };
    expect((await member("admin").call("POST", rotate, {}, once)).statusCode).toBe(200);
    expect((await member("developer").call("POST", rotate, {}, once)).statusCode).toBe(403);

    const for_people = await member("developer").call("POST", "/apps", { app: { name: "Shop" } });
    expect(for_people.statusCode, for_people.body).toBe(200);
    const own = `/apps/${for_people.json().app.id}/rotate_client_secret`;
    expect((await member("developer").call("POST", own, {})).statusCode).toBe(200);
    const writers = ROLES.filter((role) => may(role, "authorize_writes"));
    expect(writers.filter((role) => !may(role, "manage_invoices"))).toEqual([]);
  });

  it("reads the audit log's export only with a role that creates exports", async () => {
    const audit_log = { export: { kind: "audit_log", from: "2026-01-01", to: "2026-02-01" } };
    const created = await member("accountant").call("POST", "/exports", audit_log);
    expect(created.statusCode, created.body).toBe(200);
    const path = `/exports/${created.json().export.id}`;
    for (const url of ["/exports", path, `${path}/file`]) {
      expect((await member("approver").call("GET", url)).json().error_code).toBe(
        "insufficient_scope",
      );
    }
    expect((await member("accountant").call("GET", path)).statusCode).toBe(200);
  });

  it("cannot write any more once the session has ended or the role has changed", async () => {
    const { account_id } = server;
    const role = "finance_manager";
    const bob = await signInMember(server, { account_id, role, email: "bob@example.test" });
    await changeMember(server.core.database, bob.person_id, { role: "accountant" });
    expect((await bob.call("POST", "/users", USER)).statusCode).toBe(403);
    await server.core.database.query("delete from sessions where person_id = $1", [bob.person_id]);
    expect((await bob.call("GET", "/users")).statusCode).toBe(401);
  });

  it("does not act in another account from a page of the one before", async () => {
    const { account_id } = server;
    const other = await server.addAccount("Other");
    const email = "two-accounts@example.test";
    const { visitor, call } = await signInMember(server, { account_id, role: "admin", email });
    await signInMember(server, { account_id: other.account_id, role: "admin", email });
    const first_tab = visitor.csrf;
    const switched = await visitor.post("/dashboard/account", { account_id: other.account_id });
    expect(switched.statusCode).toBe(303);
    const stale = { "x-csrf-token": first_tab };
    const key = { name: "for the first account" };
    expect((await call("POST", "/dashboard/api/keys", key, stale)).statusCode).toBe(401);
    const form = await visitor.post("/dashboard/security/sessions/end-others", { csrf: first_tab });
    expect(form.statusCode).toBe(403);
    await visitor.get("/dashboard/security");
    expect((await call("POST", "/dashboard/api/keys", key)).statusCode).toBe(200);
  });

  it("signs out only after what was already permitted is written", async () => {
    const { account_id, core } = server;
    const email = "held@example.test";
    const held = await signInMember(server, { account_id, role: "developer", email });
    const isWaitingFor = async (table: string) => {
      const rows = await core.database.query(
        `select from pg_stat_activity where datname = current_database()
           and wait_event_type = 'Lock' and query like '%' || $1 || '%'`,
        [table],
      );
      return rows.length > 0;
    };
    const listApps = () =>
      core.database.query("select from apps where account_id = $1 and name = 'Held back'", [
        account_id,
      ]);
    let has_ended = false;
    const { writes, ends } = await core.database.transaction(async (tx) => {
      await tx.query("select from account_controls where account_id = $1 for update", [account_id]);
      const created = held.call("POST", "/apps", { app: { name: "Held back" } });
      await waitFor(() => isWaitingFor("account_controls"));
      const found_then = held.visitor.post("/sign-out", {}).then(() => {
        has_ended = true;
        return listApps();
      });
      await waitFor(async () => has_ended || (await isWaitingFor("delete from sessions")));
      return { writes: created, ends: found_then };
    });
    expect(await ends).toHaveLength(1);
    expect((await writes).statusCode).toBe(200);
  });

  it("sees only the account that the session is in", async () => {
    const other = await server.addAccount("other");
    const { account_id } = other;
    const eve = await signInMember(server, {
      account_id,
      role: "admin",
      email: "eve@example.test",
    });
    expect((await eve.call("GET", "/users")).json().users).toEqual([]);
  });
});

it("what only the dashboard needs takes no API key, and is not in the API's document", async () => {
  const answer = await server.call("GET", "/dashboard/api/names");
  expect(answer.status).toBe(403);
  expect(answer.body.message).toBe("This route is for members who are signed in to the dashboard.");
  const paths = readDocument(server.app.server).operations.map(({ path }) => path);
  expect(paths.filter((path) => path.startsWith("/dashboard"))).toEqual([]);
});

describe("roles and operations", () => {
  it.each([
    ["accountant", "listAccountOfframps", true],
    ["accountant", "createExport", true],
    ["accountant", "createQuote", false],
    ["accountant", "executeQuote", false],
    ["accountant", "showProposal", false],
    ["approver", "showProposal", true],
    ["approver", "reviewSupportingDocument", true],
    ["approver", "executeQuote", false],
    ["approver", "matchDeposit", false],
    ["developer", "createApp", true],
    ["developer", "listWebhookEvents", true],
    ["developer", "listUsers", false],
    ["developer", "createRefund", false],
    ["finance_manager", "executeQuote", true],
    ["finance_manager", "createApp", false],
    ["finance_manager", "deleteUser", false],
    ["admin", "deleteUser", true],
    ["admin", "createNothing", false],
  ] as const)("%s, %s: %s", (role, operation, is_permitted) => {
    expect(mayDo(role, operation)).toBe(is_permitted);
  });

  it.each(ROLES)("the server permits a member with the role %s exactly that", async (role) => {
    const { operations } = readDocument(server.app.server);
    const wrong: string[] = [];
    for (const { name, method, path, path_parameters } of operations) {
      const known = path_parameters.reduce(
        (url, parameter) => url.replace(`{${parameter}}`, crypto.randomUUID()),
        path,
      );
      const body = method === "GET" || method === "DELETE" ? undefined : {};
      const answer = await member(role).call(method, known, body);
      const is_refused = answer.statusCode === 403 && /^Your role/.test(answer.json().message);
      if (is_refused === mayDo(role, name) || answer.statusCode >= 500) wrong.push(name);
    }
    expect(wrong).toEqual([]);
  });

  it("every operation is permitted to an admin", () => {
    const names = readDocument(server.app.server).operations.map(({ name }) => name);
    expect(names.filter((name) => !mayDo("admin", name))).toEqual([]);
  });
});
