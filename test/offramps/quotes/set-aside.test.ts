import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openPartners } from "../../../src/app/open-partners.ts";
import { existsOpenOfframp } from "../../../src/offramps/store.ts";
import type { ChainPort } from "../../../src/partners/chain/port.ts";
import { createSandboxChain } from "../../../src/partners/chain/sandbox.ts";
import { insertSandboxTransfer } from "../../../src/partners/chain/sandbox-store.ts";
import { eraseUser } from "../../../src/users/erase-user.ts";
import { addApprovedUser, addQuote, txId } from "../../harness/ramp.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";
import { deposit, expectRefusal, findFault, good, settle } from "../story.ts";

/** Two of them exceed 64 bits in millionths. More than a request may ask for, not than a chain. */
const HUGE = 9_000_000_000_000;
const SENDER = `0x${"a1".repeat(20)}`;

/** Amounts that a chain can carry and the sandbox's table cannot, by transaction. */
const beyond = new Map<string, bigint>();

function withBeyond(chain: ChainPort): ChainPort {
  return {
    ...chain,
    listTransfers: async (...read) => {
      const { transfers, cursor } = await chain.listTransfers(...read);
      const changed = transfers.map((transfer) => ({
        ...transfer,
        amount: beyond.get(transfer.tx_id) ?? transfer.amount,
      }));
      return { transfers: changed, cursor };
    },
  };
}

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({
    partners: (core) => ({
      ...openPartners(core),
      chain: withBeyond(createSandboxChain(core)),
    }),
  });
});
afterAll(() => server.close());

async function transferHuge(user_id: string, quote_id: string): Promise<void> {
  const path = `/users/${user_id}/quotes/${quote_id}`;
  const { address } = good(await server.call("GET", path)).deposit_address;
  const { database, clock } = server.core;
  await insertSandboxTransfer(database, {
    ...{ chain: "polygon", tx_id: txId(quote_id), address, sender: SENDER },
    ...{ token: "usdc", amount: BigInt(HUGE) * 1_000_000n, mined_at: clock.now() },
  });
}

const unmatched = async () => good(await server.call("GET", "/deposits?status=unmatched")).deposits;

describe("a transfer that cannot be credited", () => {
  it("is set aside on the operator's list and never stops the others", async () => {
    const user_id = await addApprovedUser(server);
    const [first, second] = [await addQuote(server, user_id), await addQuote(server, user_id)];
    for (const quote_id of [first, second]) await transferHuge(user_id, quote_id);
    await deposit(server, { quote_id: second, amount: 7 });
    const other_id = await addApprovedUser(server);
    await deposit(server, { quote_id: await addQuote(server, other_id), amount: 5 });
    const owed = async (id: string) =>
      good(await server.call("GET", `/users/${id}/balances`)).balances[0].amount;
    expect(await owed(user_id)).toBe(HUGE + 7);
    expect(await owed(other_id)).toBe(5);
    const [listed, ...others] = await unmatched();
    expect(others).toEqual([]);
    expect(listed).toMatchObject({
      amount: HUGE,
      currency: "usdc",
      bank_account: "wallet:polygon",
      reason: "not_creditable",
      onramp_id: null,
    });
    expect(listed.text).toContain(second);
    const { text } = await server.call("GET", "/metrics");
    expect(text).toContain("sliproad_deposits_unmatched 1");
    expect(good(await server.call("GET", "/readyz")).status).toBe("ready");
    const [audited] = await server.db.database.query(
      "select action from audit_entries where record = $1",
      [`deposit:${listed.id}`],
    );
    expect(audited).toEqual({ action: "deposit.set_aside" });
    expect(await findFault(server)).toBeNull();
    expectRefusal(
      await server.call("POST", `/deposits/${listed.id}/match`, {}),
      "invalid_transition",
    );
    good(await server.call("POST", `/deposits/${listed.id}/return`));
    await settle(server);
    expect(await unmatched()).toEqual([]);
    expect(await findFault(server)).toBeNull();
  });

  it("because it alone exceeds 64 bits is listed with its exact amount, and settled by hand", async () => {
    const user_id = await addApprovedUser(server);
    const quote_id = await addQuote(server, user_id);
    const tx_id = txId("beyond 64 bits");
    beyond.set(tx_id, 2n ** 70n);
    await deposit(server, { quote_id, amount: 5, tx_id });
    await deposit(server, { quote_id, amount: 3 });
    const { balances } = good(await server.call("GET", `/users/${user_id}/balances`));
    expect(balances).toMatchObject([{ amount: 3 }]);
    const [listed, ...others] = await unmatched();
    expect(others).toEqual([]);
    expect(listed).toMatchObject({ reason: "not_creditable" });
    expect(listed.text).toContain("1180591620717411.303424 usdc");
    expect(await findFault(server)).toBeNull();
    const refused = await server.call("POST", `/deposits/${listed.id}/return`);
    expectRefusal(refused, "invalid_transition");
    expect(refused.text).toContain("settle it by hand");
    good(await server.call("POST", `/deposits/${listed.id}/dismiss`));
    expect(await unmatched()).toEqual([]);
    expect(await findFault(server)).toBeNull();
  });
});

it("what reaches an erased user's address waits in the operator's list", async () => {
  const { database, keyring, clock } = server.core;
  const user_id = await addApprovedUser(server);
  const quote_id = await addQuote(server, user_id);
  const key = { account_id: server.account_id, user_id };
  const by = { actor: "command line", reason: "asked to" } as const;
  const erased = eraseUser(database, keyring, key, by, clock.now(), existsOpenOfframp);
  expect(await erased).toBe("erased");
  const crypto_deposit = { quote_id, amount: 12, from: SENDER };
  good(await server.call("POST", "/sandbox/crypto_deposits", { crypto_deposit }));
  await settle(server);
  const [listed] = await unmatched();
  expect(listed).toMatchObject({ amount: 12, reason: "erased_user", payer_name: SENDER });
  const balances = await database.query(
    "select balance from ledger_balances where ledger_account like $1",
    [`owed:${user_id}:%`],
  );
  expect(balances).toEqual([]);
  expect(await findFault(server)).toBeNull();
  good(await server.call("POST", `/deposits/${listed.id}/return`));
  await settle(server);
  const shown = good(await server.call("GET", `/deposits/${listed.id}`)).deposit;
  expect(shown).toMatchObject({ status: "returned" });
  expect(await findFault(server)).toBeNull();
});
