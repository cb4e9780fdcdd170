import { expect } from "vitest";
import { createMember } from "../../src/accounts/create-member.ts";
import type { Role } from "../../src/accounts/model.ts";
import { HttpVisitor } from "../harness/http-visitor.ts";
import { PASSWORD_HASH } from "../harness/password.ts";
import { addApprovedUser } from "../harness/ramp.ts";
import type { Answer, TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";
import { good, type Story } from "../offramps/story.ts";

export const APPROVALS = "/dashboard/api/approvals";
export const REGISTERED = "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed";
export const STRANGE = `0x${"7".repeat(40)}`;

export type TestMember = Awaited<ReturnType<typeof addMember>>;

let members = 0;

/** A signed-in member of an account, as their dashboard. */
export async function addMember(
  server: TestServer,
  role: Role,
  account_id = server.account_id,
  email = `${role}-${crypto.randomUUID()}@example.test`,
) {
  const { database, index_key, clock } = server.core;
  const by = { actor: "command line", reason: "set up by a test" } as const;
  const input = { account_id, email, password_hash: PASSWORD_HASH, role, ...by };
  const { person_id } = await database.transaction((tx) =>
    createMember(tx, index_key, input, clock.now()),
  );
  members += 1;
  const visitor = new HttpVisitor(server.app.server, `203.0.113.${members}`);
  await visitor.signIn(email);
  await visitor.get("/dashboard/security");
  const open = (query: Record<string, string> = {}) =>
    visitor.call("GET", `${APPROVALS}?${new URLSearchParams(query)}`);
  const call = (method: "GET" | "POST", url: string, payload?: object) =>
    visitor.call(method, url, payload);
  return {
    email,
    person_id,
    visitor,
    open,
    call,
    /** Confirms what the page shows now, or what it showed when it was opened. */
    confirm: async (id: string, seen?: string) =>
      confirmAs(visitor, id, seen ?? seenOf(await open(), id)),
    reject: (id: string, reason = "Not what was agreed") =>
      visitor.call("POST", `${APPROVALS}/${id}/votes`, { verdict: "reject", reason }),
  };
}

export function confirmAs(visitor: HttpVisitor, id: string, digest: string) {
  return visitor.call("POST", `${APPROVALS}/${id}/votes`, { verdict: "confirm", digest });
}

/** The proposal as the page shows it. */
export function shownIn(page: { body: string }, id: string) {
  const { approvals = [] } = JSON.parse(page.body);
  return approvals.find((one: { id: string }) => one.id === id);
}

/** The digest of the content that the page shows; empty when it offers no vote. */
export function seenOf(page: { body: string }, id: string): string {
  const { is_mine, waits_for, digest } = shownIn(page, id) ?? {};
  return (is_mine && !waits_for && digest) || "";
}

/** A user with a balance and one registered refund address. */
export async function addOwedUser(server: TestServer, amount: number, key = server.key) {
  const user_id = await addApprovedUser(server, key);
  const path = `/users/${user_id}`;
  const call = (method: string, to: string, body?: unknown, headers = {}) =>
    server.call(method, to, body, { key, headers });
  const { id: quote_id } = (
    await call("POST", `${path}/quotes`, {
      quote: { deposit_token: "usdc", deposit_token_chain: "polygon" },
    })
  ).body.quote;
  await call("POST", "/sandbox/crypto_deposits", { crypto_deposit: { quote_id, amount } });
  const refund_address = { chain: "polygon", address: REGISTERED };
  await call("POST", `${path}/refund_addresses`, { refund_address });
  return {
    user_id,
    refund: (wanted: number | string, address = REGISTERED, headers = {}) =>
      call(
        "POST",
        `${path}/refunds`,
        { refund: { token: "usdc", chain: "polygon", amount: wanted, address } },
        headers,
      ),
    refunds: async () => (await call("GET", `${path}/refunds`)).body.refunds,
    owed: async (): Promise<number> =>
      (await call("GET", `${path}/balances`)).body.balances[0]?.amount ?? 0,
  };
}

export function proposalIn(answer: Answer) {
  expect(answer.status, answer.text).toBe(200);
  expect(answer.body.proposal, answer.text).toBeDefined();
  return answer.body.proposal;
}

export async function showProposal(server: TestServer, id: string, key = server.key) {
  return proposalIn(await server.call("GET", `/proposals/${id}`, undefined, { key }));
}

/** Waits until the proposal has reached a final state. */
export function waitForEnd(server: TestServer, id: string, key = server.key) {
  return waitFor(async () => {
    const proposal = await showProposal(server, id, key);
    return ["done", "failed", "void"].includes(proposal.status) && proposal;
  });
}

/** Executes the quote, with the members' approval if it needs one, and waits until it is paid. */
export async function payOut(
  server: TestServer,
  story: Story,
  members: readonly TestMember[],
): Promise<void> {
  const { approval } = good(await story.execute());
  if (approval) {
    for (const member of members) await member.confirm(approval.proposal_id);
    expect((await waitForEnd(server, approval.proposal_id)).status).toBe("done");
  }
  await story.waitForStatus("fiat_sent");
}
