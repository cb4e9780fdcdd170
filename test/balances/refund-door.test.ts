import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { addMember, waitForEnd } from "../approvals/proposal-fixture.ts";
import { addApprovedUser, addQuote, addUser, setKyc } from "../harness/ramp.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { setAccount } from "../kyc/review/review-fixture.ts";
import {
  deposit,
  expectRefusal,
  findFault,
  good,
  ledgerBalance,
  openStory,
  settle,
} from "../offramps/story.ts";

const WALLET = "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed";
const SENDER = `0x${"a1".repeat(20)}`;
const OTHER_SENDER = `0x${"b2".repeat(20)}`;

let server: TestServer;
beforeAll(async () => {
  const file = join(await mkdtemp(join(tmpdir(), "sliproad-")), "catalogue.json");
  await writeFile(file, JSON.stringify({ network_fees: { base: "1.5" } }));
  server = await startTestServer({ environment: { SLIPROAD_CATALOGUE_FILE: file } });
});
afterAll(async () => {
  expect(await findFault(server)).toBeNull();
  await server.close();
});

type Terms = { amount: number; address: string; chain?: string };

/** A user with 500 usdc on polygon: 300 from one address, 200 from another. */
async function addDepositor(kyc_status = "approved", key?: string) {
  const user_id = await addUser(server, key);
  const path = `/users/${user_id}`;
  const call = (method: string, to: string, body?: unknown) =>
    server.call(method, to, body, key ? { key } : {});
  const quote = { deposit_token: "usdc", deposit_token_chain: "polygon" };
  const { id: quote_id } = good(await call("POST", `${path}/quotes`, { quote })).quote;
  for (const [from, amount] of [[SENDER, 300] as const, [OTHER_SENDER, 200] as const]) {
    const crypto_deposit = { quote_id, amount, from };
    good(await call("POST", "/sandbox/crypto_deposits", { crypto_deposit }));
  }
  const refund_address = { chain: "polygon", address: WALLET };
  good(await call("POST", `${path}/refund_addresses`, { refund_address }));
  if (kyc_status !== "not_started")
    good(await setKyc(server, user_id, { status: kyc_status }, key));
  return {
    user_id,
    refund: ({ chain = "polygon", ...more }: Terms) =>
      call("POST", `${path}/refunds`, { refund: { token: "usdc", chain, ...more } }),
    owed: async () =>
      good(await call("GET", `${path}/balances`)).balances.find(
        (one: { currency: string; chain: string }) =>
          one.currency === "usdc" && one.chain === "polygon",
      ).amount,
  };
}

describe("a refund", () => {
  it("leaves only on the chain and in the token that came in, as does funding", async () => {
    const story = await openStory(server, [{ amount: 50 }]);
    const path = `/users/${story.user_id}`;
    const on_tron = await addQuote(server, story.user_id, { deposit_token_chain: "tron" });
    await deposit(server, { quote_id: on_tron, amount: 500 });
    expect(good(await server.call("GET", `${path}/balances`)).balances).toEqual([
      { currency: "usdc", chain: "tron", amount: 500 },
    ]);
    const refund_address = { chain: "ethereum", address: WALLET };
    good(await server.call("POST", `${path}/refund_addresses`, { refund_address }));
    const refund = { token: "usdc", chain: "ethereum", amount: 10, address: WALLET };
    const refused = await server.call("POST", `${path}/refunds`, { refund });
    expectRefusal(refused, "record_invalid");
    expect(refused.body.errors).toMatchObject([
      { field: "refund.amount", message: "The user's balance on ethereum is 0 usdc." },
    ]);
    // The story's quote is on polygon.
    expectRefusal(await story.fund(story.quote_id), "record_invalid");
    const { balances } = good(await server.call("GET", "/balances"));
    expect(balances).toContainEqual({ currency: "usdc", chain: "tron", amount: 500 });
  });

  it("is at least one token", async () => {
    const { refund } = await addDepositor();
    const refused = await refund({ amount: 0.999999, address: WALLET });
    expectRefusal(refused, "below_currency_limit");
    expect(refused.body.errors).toMatchObject([{ field: "refund.amount" }]);
    good(await refund({ amount: 1, address: WALLET }));
  });

  it("is sent less the network fee of its chain, which is posted to fees", async () => {
    const user_id = await addApprovedUser(server);
    const quote_id = await addQuote(server, user_id, { deposit_token_chain: "base" });
    const crypto_deposit = { quote_id, amount: 100, from: SENDER };
    good(await server.call("POST", "/sandbox/crypto_deposits", { crypto_deposit }));
    const before = await ledgerBalance(server, "wallet:base", "usdc");
    const fees = await ledgerBalance(server, "fees", "usdc");
    const terms = { token: "usdc", chain: "base", address: SENDER };
    const path = `/users/${user_id}/refunds`;
    const small = await server.call("POST", path, { refund: { ...terms, amount: 1.5 } });
    expectRefusal(small, "below_currency_limit");
    const { refund } = good(await server.call("POST", path, { refund: { ...terms, amount: 40 } }));
    expect(refund).toMatchObject({ amount: 40, network_fee: 1.5 });
    await settle(server);
    expect(await ledgerBalance(server, "wallet:base", "usdc")).toBe(before - 38_500_000n);
    expect(await ledgerBalance(server, "fees", "usdc")).toBe(fees - 1_500_000n);
  });
});

describe("a user who is not approved", () => {
  it("gets tokens only where they came from, and no more than came from there", async () => {
    const { refund, owed, user_id } = await addDepositor("not_started");
    // What came from there on another chain or in another token does not count.
    for (const [chain, token] of [["base", "usdc"] as const, ["polygon", "usdt"] as const]) {
      const terms = { deposit_token: token, deposit_token_chain: chain };
      const quote_id = await addQuote(server, user_id, terms);
      await deposit(server, { quote_id, amount: 400, from: SENDER, token });
    }
    expectRefusal(await refund({ amount: 10, address: WALLET }), "not_yet_passed_kyc_kyb");
    const too_much = await refund({ amount: 301, address: SENDER });
    expectRefusal(too_much, "not_yet_passed_kyc_kyb");
    expect(too_much.body.message).toContain("That is 300 usdc for this address.");
    good(await refund({ amount: 250, address: SENDER }));
    expectRefusal(await refund({ amount: 51, address: SENDER }), "not_yet_passed_kyc_kyb");
    good(await refund({ amount: 50, address: SENDER }));
    expectRefusal(await refund({ amount: 1, address: SENDER }), "not_yet_passed_kyc_kyb");
    expect(await owed()).toBe(200);
  });

  it("cannot take back twice what came once, with ten calls at the same time", async () => {
    const { refund, owed } = await addDepositor("not_started");
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => refund({ amount: 100, address: SENDER })),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(3);
    expect(await owed()).toBe(200);
  });
});

describe("an approved user", () => {
  it("needs two members for an address that is neither registered nor the sender's", async () => {
    const { refund } = await addDepositor();
    expect(good(await refund({ amount: 300, address: SENDER }))).toHaveProperty("refund");
    expect(good(await refund({ amount: 5, address: SENDER }))).toHaveProperty("proposal");
    expect(good(await refund({ amount: 5, address: WALLET }))).toHaveProperty("refund");
  });
});

describe("a suspended, failed or denied user", () => {
  it("gets nothing without two members, one of them the operator's", async () => {
    const { account_id, key } = await server.addAccount("Tenant");
    const [own, second] = [
      await addMember(server, "admin", account_id),
      await addMember(server, "approver", account_id),
    ];
    const operator = await addMember(server, "approver");
    for (const status of ["suspended", "failed", "retry_denied"]) {
      const { refund, owed } = await addDepositor(status, key);
      expectRefusal(await refund({ amount: 10, address: WALLET }), "not_yet_passed_kyc_kyb");
      const { proposal } = good(await refund({ amount: 10, address: SENDER }));
      await own.confirm(proposal.id);
      await second.confirm(proposal.id);
      expect(await owed()).toBe(500);
      await operator.confirm(proposal.id);
      expect(await waitForEnd(server, proposal.id, key)).toMatchObject({ status: "done" });
      expect(await owed()).toBe(490);
    }
  });

  it("gets nothing by a proposal from before the suspension, which makes it void", async () => {
    const { account_id, key } = await server.addAccount("Other tenant");
    const own = await addMember(server, "admin", account_id);
    const second = await addMember(server, "approver", account_id);
    const { refund, owed, user_id } = await addDepositor(undefined, key);
    const { proposal } = good(await refund({ amount: 10, address: `0x${"c3".repeat(20)}` }));
    good(await setKyc(server, user_id, { status: "suspended" }, key));
    expect(await waitForEnd(server, proposal.id, key)).toMatchObject({ status: "void" });
    // Not even to where the tokens came from.
    await setAccount(server, account_id, { approval_above_usd: 0n });
    const approved = await addDepositor(undefined, key);
    const { proposal: back } = good(await approved.refund({ amount: 10, address: SENDER }));
    await own.confirm(back.id);
    good(await setKyc(server, approved.user_id, { status: "suspended" }, key));
    expect(await waitForEnd(server, back.id, key)).toMatchObject({ status: "void" });
    expect((await second.confirm(back.id)).statusCode).toBe(422);
    for (const left of [owed, approved.owed]) expect(await left()).toBe(500);
  });

  it("gets nothing in the operator's account by votes on the status before", async () => {
    const [own, second] = [await addMember(server, "admin"), await addMember(server, "approver")];
    await setAccount(server, server.account_id, { approval_above_usd: 0n });
    const { refund, owed, user_id } = await addDepositor();
    const { proposal } = good(await refund({ amount: 10, address: SENDER }));
    expect(proposal.details).toContainEqual({ label: "Identity", value: "approved" });
    await own.confirm(proposal.id);
    good(await setKyc(server, user_id, { status: "suspended" }));
    await second.confirm(proposal.id);
    expect(await waitForEnd(server, proposal.id)).toMatchObject({ status: "void" });
    expect(await owed()).toBe(500);
    await setAccount(server, server.account_id, { approval_above_usd: null });
  });
});
