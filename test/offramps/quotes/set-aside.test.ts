import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openPartners } from "../../../src/app/open-partners.ts";
import { recordDeposits } from "../../../src/offramps/quotes/record-deposits.ts";
import { findQuotes } from "../../../src/offramps/quotes/store.ts";
import type { ChainPort, Transfer } from "../../../src/partners/chain/port.ts";
import { createSandboxChain } from "../../../src/partners/chain/sandbox.ts";
import { insertSandboxTransfer } from "../../../src/partners/chain/sandbox-store.ts";
import { eraseUser } from "../../harness/erase-user.ts";
import { addApprovedUser, addQuote, txId } from "../../harness/ramp.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";
import { SILENT } from "../../harness/task-fixture.ts";
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
    partners: async (core) => ({
      ...(await openPartners(core)),
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

/** A chain whose next page has one transfer, however often it is read. */
async function chainWith(
  quote_id: string,
  transfer: { tx_id: string; amount: bigint },
): Promise<ChainPort> {
  const { database, clock } = server.core;
  const [quote] = await findQuotes(database, [{ account_id: server.account_id, id: quote_id }]);
  const found: Transfer = {
    ...{ chain: "polygon", log_index: 0, address: quote!.deposit_address, sender: SENDER },
    ...{ token: "usdc", mined_at: clock.now(), ...transfer },
  };
  return {
    ...createSandboxChain(server.core),
    chains: ["polygon"],
    listTransfers: async (_chain, cursor) => ({ transfers: [found], cursor }),
  };
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

describe("several readers of one page", () => {
  it("set a transfer aside once, and none of them fails", async () => {
    const quote_id = await addQuote(server, await addApprovedUser(server));
    const chain = await chainWith(quote_id, { tx_id: txId("four readers"), amount: 2n ** 70n });
    const { database, clock } = server.core;
    const read = () => recordDeposits({ database, chain, clock, log: SILENT });
    await Promise.all([read(), read(), read(), read()]);
    await settle(server);
    const [listed, ...others] = await unmatched();
    expect(others).toEqual([]);
    expect(listed).toMatchObject({ reason: "not_creditable" });
    good(await server.call("POST", `/deposits/${listed.id}/dismiss`));
    expect(await findFault(server)).toBeNull();
  });

  it("never set aside what another one credited", async () => {
    const user_id = await addApprovedUser(server);
    const quote_id = await addQuote(server, user_id);
    const { database, clock } = server.core;
    const tx_id = txId("credited meanwhile");
    const chain = await chainWith(quote_id, { tx_id, amount: 9_000_000n });
    let is_first = true;
    const refusing = {
      ...database,
      transaction: (async (work, options) => {
        if (!is_first) return database.transaction(work, options);
        is_first = false;
        // Another reader credits it after this one failed.
        await deposit(server, { quote_id, amount: 9, tx_id });
        throw Object.assign(new pg.DatabaseError("out of range", 0, "error"), { code: "22003" });
      }) as typeof database.transaction,
    };
    await recordDeposits({ database: refusing, chain, clock, log: SILENT });
    expect(is_first).toBe(false);
    await settle(server);
    expect(await unmatched()).toEqual([]);
    const { balances } = good(await server.call("GET", `/users/${user_id}/balances`));
    expect(balances).toMatchObject([{ amount: 9 }]);
    expect(await findFault(server)).toBeNull();
  });
});

it("what reaches an erased user's address waits in the operator's list", async () => {
  const user_id = await addApprovedUser(server);
  const quote_id = await addQuote(server, user_id);
  expect(await eraseUser(server.core, { account_id: server.account_id, user_id })).toBe(true);
  const crypto_deposit = { quote_id, amount: 12, from: SENDER };
  good(await server.call("POST", "/sandbox/crypto_deposits", { crypto_deposit }));
  await settle(server);
  const [listed] = await unmatched();
  expect(listed).toMatchObject({ amount: 12, reason: "erased_user", payer_name: SENDER });
  const balances = await server.core.database.query(
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
