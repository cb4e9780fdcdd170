import { afterAll, beforeAll, expect, it } from "vitest";
import { Sliproad } from "../../sdk/src/index.ts";
import { ROLES, type Role } from "../../src/accounts/model.ts";
import { addOwedUser, REGISTERED } from "../approvals/proposal-fixture.ts";
import { HttpVisitor } from "../harness/http-visitor.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";
import { type BrowserMember, signInMember } from "./dashboard-server.ts";

let server: TestServer;
let sliproad: Sliproad;
let user_id: string;
const members = new Map<Role, BrowserMember>();
/** What the page of each role was told. */
const told = new Map<Role, { text: string }>();
const closing = new AbortController();

beforeAll(async () => {
  server = await startTestServer({
    environment: { SLIPROAD_SECOND_FACTOR: "optional", SLIPROAD_APPROVAL_ABOVE_USD: "100" },
  });
  sliproad = new Sliproad({ baseUrl: server.url, apiKey: server.key });
  const { account_id } = server;
  for (const role of ROLES) {
    const email = `${role}@example.test`;
    members.set(role, await signInMember(server, { account_id, role, email }));
  }
  ({ user_id } = await addOwedUser(server, 500));
  for (const role of ROLES) told.set(role, await openStream(role));
});
afterAll(async () => {
  closing.abort();
  await server?.close();
});

const admin = (method: string, path: string, body: unknown) =>
  members.get("admin")!.call(method, path, body);

async function openStream(role: Role): Promise<{ text: string }> {
  const { visitor } = members.get(role)!;
  const cookie = [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  const headers = { cookie, "x-csrf-token": visitor.csrf };
  const { signal } = closing;
  const answer = await fetch(`${server.url}/dashboard/api/changes`, { headers, signal });
  expect([role, answer.status]).toEqual([role, 200]);
  const stream = { text: "" };
  const read = async () => {
    const decoder = new TextDecoder();
    for await (const part of answer.body!) stream.text += decoder.decode(part);
  };
  read().catch(() => {});
  return stream;
}

function heard(role: Role): string[] {
  return [...told.get(role)!.text.matchAll(/"name":"(\w+)"/g)].map(([, name]) => name!);
}

const READERS: readonly Role[] = ["admin", "finance_manager", "accountant", "approver"];

type Kind = readonly [name: string, roles: readonly Role[], act: () => Promise<unknown>];

const KINDS: readonly Kind[] = [
  [
    ...(["api_key", ["admin", "developer"]] as const),
    () => admin("POST", "/dashboard/api/keys", { name: "x", scopes: ["read"] }),
  ],
  [
    ...(["person", ["admin"]] as const),
    () => {
      const email = "new@example.test";
      return signInMember(server, { account_id: server.account_id, role: "accountant", email });
    },
  ],
  [
    ...(["app", ["admin", "developer"]] as const),
    () => admin("POST", "/apps", { app: { name: "Shop" } }),
  ],
  [
    ...(["quotes", READERS] as const),
    () =>
      sliproad.quotes.create(user_id, { deposit_token: "usdc", deposit_token_chain: "polygon" }),
  ],
  [
    ...(["users", READERS] as const),
    () =>
      sliproad.users.create({
        ...{ beneficiary_type: "individual", email: "ana@example.test" },
        ...{ first_name: "Ana", last_name: "Sample" },
      }),
  ],
  [
    ...(["payout_batch", ["admin", "finance_manager"]] as const),
    () =>
      admin("POST", "/dashboard/api/batches", {
        batch: {
          ...{ user_id, deposit_token: "usdc", deposit_token_chain: "polygon" },
          ...{ file_name: "payouts.csv", file_hash: "1".padStart(64, "0") },
          rows: [{ n: 1, cells: { amount: "100" } }],
        },
      }),
  ],
  [
    ...(["fiat_deposits", READERS] as const),
    () => sliproad.sandbox.createDeposit({ amount: 12, currency: "eur", deposit_message: "x" }),
  ],
  [
    ...(["proposal", ROLES] as const),
    () =>
      admin("POST", `/users/${user_id}/refunds`, {
        refund: { token: "usdc", chain: "polygon", amount: 500, address: REGISTERED },
      }),
  ],
  [
    ...(["refund", READERS] as const),
    () =>
      admin("POST", `/users/${user_id}/refunds`, {
        refund: { token: "usdc", chain: "polygon", amount: 10, address: REGISTERED },
      }),
  ],
];

it.each(KINDS)("%s: told to %j and no other role", async (name, roles, act) => {
  await act();
  await waitFor(() => roles.every((role) => heard(role).includes(name)));
  // The changes of one look are told to all pages at once.
  expect(ROLES.filter((role) => heard(role).includes(name))).toEqual(
    ROLES.filter((role) => roles.includes(role)),
  );
});

it("the audit log is told to those who may read it, also of what was only read", async () => {
  expect(ROLES.filter((role) => heard(role).includes("audit"))).toEqual(["admin", "developer"]);
  expect(heard("developer")).not.toContain("kyc_update");
  const before = heard("admin");
  await admin("GET", `/dashboard/api/reviews/${server.account_id}/${user_id}`, undefined);
  const added = await waitFor(() => {
    const now = heard("admin").slice(before.length);
    return now.includes("audit") && now;
  });
  expect(added).toEqual(["audit"]);
});

it("a member is told of their own sessions, whatever their role", async () => {
  await new HttpVisitor(server.app.server).signIn(members.get("accountant")!.email);
  await waitFor(() => heard("accountant").includes("me"));
  expect(heard("approver")).not.toContain("me");
});
