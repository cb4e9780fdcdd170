import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROLES, type Role } from "../../src/accounts/model.ts";
import { SESSIONS } from "../../src/accounts/sign-in/session-store.ts";
import { memberChange } from "../../src/approvals/change-members.ts";
import { readOutbox } from "../../src/partners/mail/sandbox.ts";
import { enrol } from "../accounts/authenticator.ts";
import { changeMember } from "../harness/members.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { vouch } from "../harness/vouch.ts";
import { waitFor } from "../harness/wait-for.ts";
import { type BrowserMember, signInMember } from "./dashboard-server.ts";

let server: TestServer;
let account: { account_id: string; key: string };
let other: { account_id: string; key: string };
const members = new Map<Role, BrowserMember>();
const as = (role: Role) => members.get(role)!.call;

beforeAll(async () => {
  server = await startTestServer({ environment: { SLIPROAD_SECOND_FACTOR: "optional" } });
  [account, other] = [await server.addAccount("Tenant"), await server.addAccount("Other")];
  for (const role of ROLES) {
    const { account_id } = account;
    const email = `${role}@example.test`;
    members.set(role, await signInMember(server, { account_id, role, email }));
  }
});
afterAll(() => server?.close());

async function outdateConfirmation(role: Role): Promise<void> {
  await server.core.database.query(
    "update sessions set confirmed_at = confirmed_at - interval '11 minutes' where person_id = $1",
    [members.get(role)!.person_id],
  );
  await vouch(server.core.database, SESSIONS);
}

const WRITES: readonly (readonly [path: string, body: unknown, roles: readonly Role[]])[] = [
  ["/keys", { name: "x", scopes: ["read"] }, ["admin"]],
  [`/keys/${crypto.randomUUID()}/rotate`, { overlap_hours: 1 }, ["admin"]],
  [`/keys/${crypto.randomUUID()}/revoke`, {}, ["admin"]],
  ["/members", { email: "x", role: "admin", reason: "x" }, ["admin"]],
  [`/members/${crypto.randomUUID()}/change`, { action: "remove", reason: "x" }, ["admin"]],
  [`/members/${crypto.randomUUID()}/invite_again`, {}, ["admin"]],
  ["/approval_amount", { above_usd: 0.5, reason: "x" }, ["admin"]],
  [`/apps/${crypto.randomUUID()}/test_event`, {}, ["admin", "finance_manager", "developer"]],
];
const READS: readonly (readonly [path: string, roles: readonly Role[]])[] = [
  ["/keys", ["admin", "developer"]],
  ["/audit", ["admin", "developer"]],
  ["/requests", ["admin", "developer"]],
  ["/members", ["admin"]],
  ["/security", ROLES],
  // 404 for those who may see an application: there is none with this id.
  [`/apps/${crypto.randomUUID()}/deliveries`, ["admin", "developer"]],
];

describe("who may see and change settings", () => {
  it.each(READS)("GET %s: %j", async (path, roles) => {
    for (const role of ROLES) {
      const { statusCode } = await as(role)("GET", `/dashboard/api${path}`);
      const allowed = path.startsWith("/apps/") ? 404 : 200;
      expect([role, statusCode]).toEqual([role, roles.includes(role) ? allowed : 403]);
    }
  });

  it.each(WRITES)("POST %s %j: %j", async (path, body, roles) => {
    for (const role of ROLES) {
      if (roles.includes(role) && path === "/keys") continue;
      const answer = await as(role)("POST", `/dashboard/api${path}`, body);
      const is_refused = /^Your role/.test(answer.json().message);
      expect([role, is_refused]).toEqual([role, !roles.includes(role)]);
    }
  });
});

describe("API keys", () => {
  it("an admin creates one that works within its scopes, rotates and revokes it", async () => {
    const call = as("admin");
    const body = { name: "Payroll", scopes: ["read"], expires_in_days: 30 };
    const made = (await call("POST", "/dashboard/api/keys", body)).json();
    const { key, api_key } = made;
    expect((await server.call("GET", "/users", undefined, { key })).status).toBe(200);
    expect((await server.call("POST", "/users", {}, { key })).status).toBe(403);
    const listed = (await call("GET", "/dashboard/api/keys")).json();
    expect(listed.keys[0]).toMatchObject({
      ...{ id: api_key.id, name: "Payroll", scopes: ["read"], networks: null },
      created_by: "admin@example.test",
    });
    expect(JSON.stringify(listed)).not.toContain(key);

    const path = `/dashboard/api/keys/${api_key.id}`;
    const rotated = (await call("POST", `${path}/rotate`, { overlap_hours: 1 })).json();
    for (const one of [key, rotated.key]) {
      expect((await server.call("GET", "/users", undefined, { key: one })).status).toBe(200);
    }
    const revoke = `/dashboard/api/keys/${rotated.api_key.id}/revoke`;
    expect((await call("POST", revoke)).statusCode).toBe(200);
    const after = (await call("GET", "/dashboard/api/keys")).json().keys;
    const states = after.map((one: { id: string; revoked_at: string | null }) => [
      one.id,
      one.revoked_at !== null,
    ]);
    expect(states).toEqual(
      expect.arrayContaining([
        [api_key.id, false],
        [rotated.api_key.id, true],
      ]),
    );
  });

  it("who rotates a key of another member counts as the creator of the new one", async () => {
    const { account_id } = account;
    const email = "second@example.test";
    const second = await signInMember(server, { account_id, role: "admin", email });
    const made = (await as("admin")("POST", "/dashboard/api/keys", { name: "Shared" })).json();
    const path = `/dashboard/api/keys/${made.api_key.id}/rotate`;
    const rotated = (await second.call("POST", path, { overlap_hours: 0 })).json();
    const [row] = await server.core.database.query<{ created_by_person: string }>(
      "select created_by_person from api_keys where id = $1",
      [rotated.api_key.id],
    );
    expect(row!.created_by_person).toBe(second.person_id);
    const change = memberChange({ ...server.core, mode: "sandbox" });
    const removal = { action: "remove", email, person_id: second.person_id } as const;
    const { context } = await server.core.database.transaction((tx) =>
      change.describe(tx, account_id, removal),
    );
    expect(context).toContainEqual([
      "API keys that they created",
      expect.stringMatching(/^Shared \(….{4}\)\. They stay valid: rotate or revoke them\.$/),
    ]);
    await server.core.database.query("delete from members where person_id = $1", [
      second.person_id,
    ]);
    const { keys } = (await as("admin")("GET", "/dashboard/api/keys")).json();
    expect(keys[0]).toMatchObject({ created_by: email, has_creator_left: true });
    expect(keys.every((key: object) => !("mac" in key))).toBe(true);
  });

  it("refuses scopes and networks that are none, and keys of other accounts", async () => {
    const call = as("admin");
    const create = (body: object) => call("POST", "/dashboard/api/keys", { name: "x", ...body });
    for (const body of [{ scopes: [] }, { scopes: ["king"] }, { networks: ["x"] }]) {
      expect((await create(body)).statusCode).toBe(422);
    }
    const [foreign] = await server.core.database.query<{ id: string }>(
      "select id from api_keys where account_id = $1",
      [other.account_id],
    );
    for (const [act, body] of [["rotate", { overlap_hours: 0 }], ["revoke"]] as const) {
      const path = `/dashboard/api/keys/${foreign!.id}/${act}`;
      expect((await call("POST", path, body)).statusCode).toBe(404);
    }
    expect((await server.call("GET", "/users", undefined, { key: other.key })).status).toBe(200);
  });

  it("are created only minutes after a proof", async () => {
    await outdateConfirmation("admin");
    const answer = await as("admin")("POST", "/dashboard/api/keys", { name: "x" });
    expect(answer.json().error_code).toBe("confirmation_required");
    await server.core.database.query("update sessions set confirmed_at = now()");
    await vouch(server.core.database, SESSIONS);
  });
});

describe("the team", () => {
  it("lists members with what their roles may do, and who votes on a change", async () => {
    const team = (await as("admin")("GET", "/dashboard/api/members")).json();
    expect(team.members).toHaveLength(ROLES.length);
    expect(team.members[0]).toMatchObject({ email: "admin@example.test", is_you: true });
    expect(team.roles.map(({ role }: { role: string }) => role)).toEqual([...ROLES]);
    const admin = team.roles[0].may;
    for (const { may } of team.roles) expect(admin).toEqual(expect.arrayContaining(may));
    expect(team.voters).toBe("members");
  });

  it("a change waits for two members, and names the person by the server's record", async () => {
    const { person_id } = members.get("accountant")!;
    const path = `/dashboard/api/members/${person_id}/change`;
    const body = { action: "set_role", role: "admin", reason: "promoted" };
    const asked = (await as("admin")("POST", path, body)).json();
    const { key } = account;
    const shown = await server.call("GET", `/proposals/${asked.proposal.id}`, undefined, { key });
    expect(shown.body.proposal).toMatchObject({ kind: "change-members", status: "pending" });
    expect(JSON.stringify(shown.body)).toContain("accountant@example.test");
    const stranger = `/dashboard/api/members/${crypto.randomUUID()}/change`;
    expect((await as("admin")("POST", stranger, body)).statusCode).toBe(404);
    const own = `/dashboard/api/members/${members.get("admin")!.person_id}/change`;
    const reset = { action: "reset_factor", reason: "lost" };
    expect((await as("admin")("POST", own, reset)).json().errors[0].message).toContain(
      "cannot reset your own second factor",
    );
  });

  it("takes changes that are asked for at the same time", async () => {
    const asked = await Promise.all(
      Array.from({ length: 6 }, (_, at) => {
        const body = { email: `many-${at}@example.test`, role: "developer", reason: "a team" };
        return as("admin")("POST", "/dashboard/api/members", body);
      }),
    );
    expect(asked.map(({ statusCode }) => statusCode)).toEqual(asked.map(() => 200));
  });

  it("an invitation is sent again until the person has joined", async () => {
    const { account_id } = await server.addAccount("Alone");
    const email = "alone@example.test";
    const eve = await signInMember(server, { account_id, role: "admin", email });
    const body = { email: "new@example.test", role: "developer", reason: "a colleague" };
    expect((await eve.call("POST", "/dashboard/api/members", body)).json()).toEqual({ done: true });
    const { members: listed } = (await eve.call("GET", "/dashboard/api/members")).json();
    const invited = listed.find((one: { is_invited: boolean }) => one.is_invited);
    const again = (id: string) => eve.call("POST", `/dashboard/api/members/${id}/invite_again`);
    expect((await again(invited.person_id)).statusCode).toBe(200);
    const { database, index_key } = server.core;
    const mails = await waitFor(async () => {
      const sent = await readOutbox(database, index_key, new Date());
      const to_new = sent.filter(({ to }) => to === body.email);
      return to_new.length === 2 && to_new;
    });
    expect(mails.every(({ text }) => /\/set-password\?token=/.test(text))).toBe(true);
    expect((await again(eve.person_id)).json().error_code).toBe("invalid_transition");
    const foreign = members.get("developer")!.person_id;
    expect((await again(foreign)).statusCode).toBe(404);
  });

  it("says of somebody invited nothing that comes from their other accounts", async () => {
    const first = await server.addAccount("First");
    const email = "dana@example.test";
    const dana = await signInMember(server, { account_id: first.account_id, role: "admin", email });
    await enrol(dana.visitor);
    const answers = [];
    for (const invited of [email, "nobody@example.test"]) {
      const { account_id } = await server.addAccount(`Invites ${invited}`);
      const asker = { account_id, role: "admin", email: `asker-${invited}` } as const;
      const eve = await signInMember(server, asker);
      const body = { email: invited, role: "developer", reason: "a colleague" };
      const added = await eve.call("POST", "/dashboard/api/members", body);
      const { members: listed } = (await eve.call("GET", "/dashboard/api/members")).json();
      const shown = listed.find((one: { email: string }) => one.email === invited);
      const change = `/dashboard/api/members/${shown.person_id}`;
      const reset = { action: "reset_factor", reason: "lost" };
      const { errors } = (await eve.call("POST", `${change}/change`, reset)).json();
      const again = (await eve.call("POST", `${change}/invite_again`)).json();
      const { is_invited, has_factor, seen_at } = shown;
      answers.push([added.json(), is_invited, has_factor, seen_at, errors[0].message, again]);
    }
    expect(answers[0]).toEqual(answers[1]);
    expect(answers[0]!.slice(0, 4)).toEqual([{ done: true }, true, false, null]);
  });
});

describe("the approval amount", () => {
  it("is proposed, and never changed by one member alone", async () => {
    const body = { above_usd: 5000, reason: "larger invoices" };
    const asked = await as("admin")("POST", "/dashboard/api/approval_amount", body);
    const { key } = account;
    const path = `/proposals/${asked.json().proposal.id}`;
    const shown = await server.call("GET", path, undefined, { key });
    expect(shown.body.proposal).toMatchObject({ kind: "change-accounts", status: "pending" });
    const { account_id } = await server.addAccount("One member");
    const email = "one@example.test";
    const one = await signInMember(server, { account_id, role: "admin", email });
    const refused = await one.call("POST", "/dashboard/api/approval_amount", body);
    expect(refused.json().error_code).toBe("invalid_transition");
    const { approval } = (await one.call("GET", "/dashboard/api/security")).json();
    expect(approval).toMatchObject({ above_usd: null, is_own: false });
  });
});

it("the audit log is read by kind and person, page by page, with names", async () => {
  const call = as("admin");
  const read = async (query: string) => (await call("GET", `/dashboard/api/audit?${query}`)).json();
  const keys = await read("kind=api_key&limit=2");
  expect(keys.entries).toHaveLength(2);
  expect(keys.entries.every((one: { action: string }) => /^api_key\./.test(one.action))).toBe(true);
  const next = await read(`kind=api_key&limit=2&starting_after=${keys.next}`);
  const ids = [...keys.entries, ...next.entries].map(({ id }: { id: string }) => id);
  expect(new Set(ids).size).toBe(4);
  const { person_id } = members.get("admin")!;
  const own = await read(`actor=member:${person_id}`);
  expect(own.names[person_id]).toBe("admin@example.test");
  const actors = new Set(own.entries.map(({ actor }: { actor: string }) => actor));
  expect(actors).toEqual(new Set([`member:${person_id}`]));
});

it("ends what was begun with a session that has ended since", async () => {
  const { account_id } = account;
  const email = "gone@example.test";
  const gone = await signInMember(server, { account_id, role: "admin", email });
  await changeMember(server.core.database, gone.person_id, { role: "developer" });
  expect((await gone.call("POST", "/dashboard/api/keys", { name: "x" })).statusCode).toBe(403);
});
