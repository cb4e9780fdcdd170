import { Readable } from "node:stream";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { setMemberRole } from "../../src/accounts/change-members.ts";
import { listMembers } from "../../src/accounts/store.ts";
import {
  addMember,
  addOwedUser,
  proposalIn,
  STRANGE,
  showProposal,
  type TestMember,
} from "../approvals/proposal-fixture.ts";
import { HttpVisitor } from "../harness/http-visitor.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";

const SECURITY = "/dashboard/security";
const APPROVALS = "/dashboard/api/approvals";
const MEMBERS = "/dashboard/api/members";
const BY = { actor: "command line", reason: "test" } as const;

let server: TestServer;
let account: { account_id: string; key: string };

beforeAll(async () => {
  server = await startTestServer();
  account = await server.addAccount("Tenant");
});
afterAll(() => server?.close());

type Begun = { finish: () => Promise<number> };

/** Sends a request but for the end of its body; the caller sends that. */
async function begin(
  { visitor }: TestMember,
  url: string,
  body: string,
  headers: Record<string, string>,
): Promise<Begun> {
  const begun = Promise.withResolvers<void>();
  const rest = Promise.withResolvers<void>();
  async function* send() {
    // The server asks for the body once it knows whose session it is.
    begun.resolve();
    yield body.slice(0, 5);
    await rest.promise;
    yield body.slice(5);
  }
  const answer = server.app.server.inject({
    ...{ method: "POST", url, headers },
    cookies: Object.fromEntries(visitor.cookies),
    payload: Readable.from(send()),
  });
  await begun.promise;
  return {
    finish: async () => {
      rest.resolve();
      return (await answer).statusCode;
    },
  };
}

function beginForm(member: TestMember, url: string): Promise<Begun> {
  const body = new URLSearchParams({ csrf: member.visitor.csrf }).toString();
  const type = "application/x-www-form-urlencoded";
  return begin(member, url, body, { accept: "text/html", "content-type": type });
}

/** As the dashboard sends it. */
function beginCall(member: TestMember, url: string, body: object): Promise<Begun> {
  const headers = { "content-type": "application/json", "x-csrf-token": member.visitor.csrf };
  return begin(member, url, JSON.stringify(body), headers);
}

const signOut = ({ visitor }: TestMember) => visitor.post("/sign-out", {});

function lowerRole({ person_id }: TestMember): Promise<unknown> {
  const { database, clock } = server.core;
  const member = { account_id: account.account_id, person_id };
  return database.transaction((tx) => setMemberRole(tx, member, "developer", BY, clock.now()));
}

describe("a form whose last bytes are sent", () => {
  async function endOthersSlowly(meanwhile: (member: TestMember) => Promise<unknown>) {
    const member = await addMember(server, "approver", account.account_id);
    const other = new HttpVisitor(server.app.server, "203.0.113.200");
    await other.signIn(member.email);
    const form = await beginForm(member, `${SECURITY}/sessions/end-others`);
    await meanwhile(member);
    return [await form.finish(), (await other.get(SECURITY)).statusCode];
  }

  test("while the session lasts ends the other sessions", async () => {
    expect(await endOthersSlowly(async () => {})).toEqual([303, 303]);
  });

  test("after the session has ended does nothing", async () => {
    expect(await endOthersSlowly(signOut)).toEqual([403, 200]);
  });

  test("after the role was lowered does nothing", async () => {
    expect(await endOthersSlowly(lowerRole)).toEqual([403, 200]);
  });
});

describe("a request of the dashboard whose last bytes are sent", () => {
  async function voteSlowly(meanwhile: (member: TestMember) => Promise<unknown>) {
    const member = await addMember(server, "approver", account.account_id);
    const user = await addOwedUser(server, 10, account.key);
    const { id } = proposalIn(await user.refund(1, STRANGE));
    const { approvals } = (await member.call("GET", APPROVALS)).json();
    const { digest } = approvals.find((one: { id: string }) => one.id === id);
    const vote = { verdict: "confirm", digest };
    const begun = await beginCall(member, `${APPROVALS}/${id}/votes`, vote);
    await meanwhile(member);
    const status = await begun.finish();
    return [status, (await showProposal(server, id, account.key)).confirmations];
  }

  test("while the session lasts is a vote", async () => {
    expect(await voteSlowly(async () => {})).toEqual([200, 1]);
  });

  test("after the session has ended does nothing", async () => {
    expect(await voteSlowly(signOut)).toEqual([401, 0]);
  });

  test("after the role was lowered does nothing", async () => {
    const eve = await addMember(server, "admin", account.account_id);
    await addMember(server, "admin", account.account_id);
    const email = `held-${crypto.randomUUID()}@example.test`;
    const invitation = { email, role: "approver", reason: "a colleague" };
    const begun = await beginCall(eve, MEMBERS, invitation);
    await lowerRole(eve);
    expect(await begun.finish()).toBe(401);
    const proposed = await server.core.database.query(
      "select from proposals where kind = 'change-members' and account_id = $1",
      [account.account_id],
    );
    expect(proposed).toEqual([]);
  });
});

test("requests at the same time of an account's only member let one person in", async () => {
  const { account_id } = await server.addAccount("Alone");
  const eve = await addMember(server, "admin", account_id);
  const answers = await Promise.all(
    Array.from({ length: 6 }, () => {
      const email = `second-${crypto.randomUUID()}@example.test`;
      return eve.call("POST", MEMBERS, { email, role: "approver", reason: "a colleague" });
    }),
  );
  const done = answers.map((answer) => Object.keys(answer.json())[0]);
  expect(done.filter((way) => way === "done")).toHaveLength(1);
  expect(done.filter((way) => way === "proposal")).toHaveLength(5);
  expect(await listMembers(server.core.database, account_id)).toHaveLength(2);
});
