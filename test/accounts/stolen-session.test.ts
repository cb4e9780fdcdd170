import { Readable } from "node:stream";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { setMemberRole } from "../../src/accounts/change-members.ts";
import { listMembers } from "../../src/accounts/store.ts";
import {
  addMember,
  addOwedUser,
  PROPOSALS,
  proposalIn,
  STRANGE,
  seenOf,
  showProposal,
  type TestMember,
} from "../approvals/proposal-fixture.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";

const MEMBERS = "/dashboard/members";
const BY = { actor: "command line", reason: "test" } as const;

let server: TestServer;
let account: { account_id: string; key: string };

beforeAll(async () => {
  server = await startTestServer();
  account = await server.addAccount("Tenant");
});
afterAll(() => server?.close());

/** Sends a form but for the end of its body; the caller sends that. */
async function beginForm(
  { visitor }: TestMember,
  url: string,
  fields: Record<string, string>,
): Promise<{ finish: () => Promise<number> }> {
  const csrf = /name="csrf" value="([^"]*)"/.exec((await visitor.get(PROPOSALS)).body)![1]!;
  const text = new URLSearchParams({ csrf, ...fields }).toString();
  const begun = Promise.withResolvers<void>();
  const rest = Promise.withResolvers<void>();
  async function* send() {
    // The server asks for the body once it knows whose session it is.
    begun.resolve();
    yield text.slice(0, 5);
    await rest.promise;
    yield text.slice(5);
  }
  const answer = server.app.server.inject({
    method: "POST",
    url,
    headers: { accept: "text/html", "content-type": "application/x-www-form-urlencoded" },
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

describe("a form whose last bytes are sent", () => {
  async function voteSlowly(meanwhile: (member: TestMember) => Promise<unknown>) {
    const member = await addMember(server, "approver", account.account_id);
    const user = await addOwedUser(server, 10, account.key);
    const { id } = proposalIn(await user.refund(1, STRANGE));
    const seen = seenOf(await member.open(), id);
    const form = await beginForm(member, `${PROPOSALS}/${id}/confirm`, { seen });
    await meanwhile(member);
    const status = await form.finish();
    return [status, (await showProposal(server, id, account.key)).confirmations];
  }

  test("while the session lasts is a vote", async () => {
    expect(await voteSlowly(async () => {})).toEqual([303, 1]);
  });

  test("after the session has ended does nothing", async () => {
    const signOut = ({ visitor }: TestMember) => visitor.post("/sign-out", {});
    expect(await voteSlowly(signOut)).toEqual([403, 0]);
  });

  test("after the role was lowered does nothing", async () => {
    const eve = await addMember(server, "admin", account.account_id);
    await addMember(server, "admin", account.account_id);
    const email = `held-${crypto.randomUUID()}@example.test`;
    const fields = { email, role: "approver", reason: "a colleague" };
    const form = await beginForm(eve, `${MEMBERS}/add`, fields);
    const { database, clock } = server.core;
    const member = { account_id: account.account_id, person_id: eve.person_id };
    await database.transaction((tx) => setMemberRole(tx, member, "developer", BY, clock.now()));
    expect(await form.finish()).toBe(403);
  });
});

test("requests at the same time of an account's only member let one person in", async () => {
  const { account_id } = await server.addAccount("Alone");
  const eve = await addMember(server, "admin", account_id);
  await eve.visitor.get(MEMBERS);
  const answers = await Promise.all(
    Array.from({ length: 6 }, () => {
      const email = `second-${crypto.randomUUID()}@example.test`;
      return eve.visitor.post(`${MEMBERS}/add`, { email, role: "approver", reason: "a colleague" });
    }),
  );
  const done = answers.map(({ headers }) => String(headers.location).split("done=")[1]);
  expect(done.filter((way) => way === "add")).toHaveLength(1);
  expect(done.filter((way) => way === "proposed")).toHaveLength(5);
  expect(await listMembers(server.core.database, account_id)).toHaveLength(2);
});
