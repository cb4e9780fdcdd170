import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";
import { type BrowserMember, signInMember } from "./dashboard-server.ts";

let server: TestServer;
let ada: BrowserMember;

beforeAll(async () => {
  server = await startTestServer({ environment: { SLIPROAD_SECOND_FACTOR: "optional" } });
  const { account_id } = server;
  ada = await signInMember(server, { account_id, role: "admin", email: "ada@example.test" });
});

afterAll(() => server.close());

/** What the page of this member is told, until it is closed. */
async function openStream({ visitor }: BrowserMember) {
  const cookies = [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  const closing = new AbortController();
  const answer = await fetch(`${server.url}/dashboard/api/changes`, {
    headers: { cookie: cookies, "x-csrf-token": visitor.csrf },
    signal: closing.signal,
  });
  const told = { text: "" };
  const read = async () => {
    const decoder = new TextDecoder();
    for await (const part of answer.body!) told.text += decoder.decode(part);
  };
  const ended = read().catch(() => {});
  return { status: answer.status, told, ended, close: () => closing.abort() };
}

async function createUser(key: string): Promise<string> {
  const email = `${crypto.randomUUID()}@example.com`;
  const user = { beneficiary_type: "individual", email, first_name: "Ana", last_name: "Sample" };
  return (await server.call("POST", "/users", { user }, { key })).body.user.id;
}

it("an open page is told which records of its account changed, and of no other account", async () => {
  const other = await server.addAccount("other");
  const stream = await openStream(ada);
  expect(stream.status).toBe(200);
  await waitFor(async () => stream.told.text.includes(": open"));
  const [own_id, other_id] = [await createUser(server.key), await createUser(other.key)];
  // The first look of the server only learns what there was before.
  await waitFor(async () => {
    await server.call(
      "PATCH",
      `/sandbox/users/${other_id}/kycs`,
      { kyc: { status: "failed" } },
      {
        key: other.key,
      },
    );
    for (const status of ["suspended", "approved"]) {
      await server.call("PATCH", `/sandbox/users/${own_id}/kycs`, { kyc: { status } });
    }
    return stream.told.text.includes(own_id);
  });
  expect(stream.told.text).toContain('"name":"kyc_update"');
  expect(stream.told.text).not.toContain(other_id);
  stream.close();
  await stream.ended;
});

it("needs a member: an API key is refused", async () => {
  expect((await server.call("GET", "/dashboard/api/changes")).status).toBe(403);
});

it("does not delay the end of the server", async () => {
  const second = await startTestServer({
    beside: server,
    environment: { SLIPROAD_SECOND_FACTOR: "optional" },
  });
  const url = `${second.url}/dashboard/api/changes`;
  const cookies = [...ada.visitor.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  const headers = { cookie: cookies, "x-csrf-token": ada.visitor.csrf };
  const answer = await fetch(url, { headers });
  expect(answer.status).toBe(200);
  const text = answer.text();
  await second.close();
  expect(await text).toBe(": open\n\n");
});
