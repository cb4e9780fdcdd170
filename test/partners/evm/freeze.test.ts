import { afterAll, beforeAll, expect, it } from "vitest";
import { freezeAccount } from "../../../src/accounts/freeze-account.ts";
import { findSendByKey } from "../../../src/partners/chain/evm/send/send-store.ts";
import { findSender } from "../../../src/partners/chain/evm/send/sender-store.ts";
import { HOUR_MS } from "../../../src/platform/durations.ts";
import { TEST_XPUB } from "../../harness/evm/chains-file.ts";
import { bookFunds, expectSameAtRest } from "../../harness/evm/compare.ts";
import {
  newAddress,
  openSendingChain,
  type SendingChain,
} from "../../harness/evm/sending-chain.ts";
import { TEST_TREASURY } from "../../harness/evm/signer.ts";
import { addApprovedUser, addQuote } from "../../harness/ramp.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";
import { waitFor } from "../../harness/wait-for.ts";
import { advance, findFault, good } from "../../offramps/story.ts";
import { openOnramp, receive } from "../../onramps/story.ts";

const WITHIN_MS = 60_000;
const COIN = 10n ** 18n;
let chain: SendingChain;
let server: TestServer;

beforeAll(async () => {
  chain = await openSendingChain(TEST_XPUB);
  server = await startTestServer({ environment: chain.settings });
  await bookFunds(server.core, chain.node);
});
afterAll(async () => {
  expect(await findFault(server)).toBeNull();
  await server.close();
  await chain.close();
});

/** What the node's owner has given to the treasury, or taken from it: no transaction shows it. */
let conjured = 0n;

async function setGas(wei: bigint): Promise<void> {
  const { node } = chain;
  conjured += wei - BigInt((await node.ask("eth_getBalance", TEST_TREASURY, "latest")) as string);
  await node.ask("hardhat_setBalance", TEST_TREASURY, `0x${wei.toString(16)}`);
}

/** Takes it back: then each coin that is missing must have been booked as gas. */
async function undoGas(): Promise<void> {
  const { node } = chain;
  const now = BigInt((await node.ask("eth_getBalance", TEST_TREASURY, "latest")) as string);
  await setGas(now - conjured);
  await node.ask("evm_mine");
}

const until: typeof waitFor = (ask) => waitFor(ask, WITHIN_MS);
const stateOf = async (key: string) => (await findSendByKey(server.core.database, key))?.state;

/** A refund of fifty usdc that is queued: the treasury has no gas. */
async function queueRefund(by: TestServer = server) {
  const user_id = await addApprovedUser(by);
  const quote_id = await addQuote(by, user_id);
  const { body } = await by.call("GET", `/users/${user_id}/quotes/${quote_id}`);
  await chain.usdc.transfer(body.deposit_address.address, 50_000_000n);
  await until(async () => {
    const { balances } = good(await by.call("GET", `/users/${user_id}/balances`));
    return balances.some((one: { amount: number }) => one.amount === 50);
  });
  const refund = { token: "usdc", chain: "polygon", amount: 50, address: chain.node.account };
  const asked = good(await by.call("POST", `/users/${user_id}/refunds`, { refund }));
  const key = `refund:${by.account_id}:${asked.refund.id}`;
  await until(async () => (await stateOf(key)) === "queued");
  return { user_id, key };
}

/** A delivery of an onramp that is queued. */
async function queueDelivery() {
  const address = newAddress();
  const onramp = await openOnramp(server, { destination_address: address });
  await receive(server, { amount: onramp.amount, deposit_message: onramp.code });
  const { id, user_id } = await onramp.show();
  const key = `onramp:${server.account_id}:${id}`;
  await until(async () => (await stateOf(key)) === "queued");
  return { user_id, key, address };
}

async function freeze(user_id: string, action: "freeze" | "unfreeze"): Promise<void> {
  good(await server.call("POST", `/users/${user_id}/${action}`, { reason: "reported" }));
}

it("a freeze that comes after a payment was queued stops it before it is signed", async () => {
  await setGas(0n);
  const frozen = [await queueRefund(), await queueDelivery()];
  for (const { user_id } of frozen) await freeze(user_id, "freeze");
  const other = await queueRefund();
  await setGas(COIN);
  await until(async () => (await stateOf(other.key)) === "final");
  // One of the queue that was asked for later was sent, so these had their turn.
  for (const { key } of frozen) expect(await stateOf(key)).toBe("queued");
  for (const { user_id } of frozen) await freeze(user_id, "unfreeze");
  await advance(server, HOUR_MS);
  for (const { key } of frozen) await until(async () => (await stateOf(key)) === "final");
}, 180_000);

it("a freeze of the whole account does the same", async () => {
  await setGas(0n);
  const { key } = await queueRefund();
  const added = await server.addAccount("another");
  const other: TestServer = {
    ...{ ...server, ...added },
    call: (method, path, body) => server.call(method, path, body, { key: added.key }),
  };
  const freezeAll = (is_frozen: boolean) =>
    server.core.database.transaction(async (tx) => {
      const { account_id: operator_id } = server;
      const by = { operator_id, actor: "command line" as const, reason: "reported" };
      freezeAccount(tx, server.account_id, is_frozen, by, new Date());
    });
  await freezeAll(true);
  const { key: other_key } = await queueRefund(other);
  await setGas(COIN);
  await until(async () => (await stateOf(other_key)) === "final");
  expect(await stateOf(key)).toBe("queued");
  await freezeAll(false);
  await advance(server, HOUR_MS);
  await until(async () => (await stateOf(key)) === "final");
}, 180_000);

it("a payment that somebody changed or added in the database is not signed", async () => {
  await setGas(0n);
  const { database } = server.core;
  const thief = newAddress();
  const worthless = await chain.node.deploy();
  await worthless.transfer(TEST_TREASURY, 50_000_000n);
  const changes = [
    { ...(await queueRefund()), change: { amount: "60000000" } },
    { ...(await queueRefund()), change: { to: thief } },
    { ...(await queueRefund()), change: { contract: worthless.address } },
    { ...(await queueDelivery()), change: { to: thief } },
  ];
  const before = await Promise.all(changes.map(({ key }) => findSendByKey(database, key)));
  for (const { key, change } of changes) {
    await database.query(
      "update evm_sends set action = action || $2::jsonb, asked_at = null where key = $1",
      [key, JSON.stringify(change)],
    );
  }
  const added = ["bonus", "refund:a:b"];
  for (const key of added) await chain.queue(database, key, 1_000_000n);
  const mined = await chain.mined();
  await setGas(COIN);
  for (const key of [...changes.map((one) => one.key), ...added]) {
    const said = `no record wants ${key} as it is stored`;
    const send = await until(async () => {
      const one = (await findSendByKey(database, key))!;
      return one.problem?.includes(said) && one;
    });
    expect(send).toMatchObject({ state: "queued", nonce: null });
  }
  await until(async () => {
    const sender = (await findSender(database, "polygon", TEST_TREASURY))!;
    return sender.state === "waiting" && sender.problem?.includes("no record wants");
  });
  expect(await chain.mined()).toBe(mined);
  expect(await chain.balanceOf(thief)).toBe(0n);

  // As they were, they are paid.
  await database.query("delete from evm_sends where key = any($1::text[])", [added]);
  for (const { key, action } of before.map((send) => send!)) {
    const text = JSON.stringify(action, (_, value) =>
      typeof value === "bigint" ? String(value) : value,
    );
    await database.query(
      "update evm_sends set action = $2::jsonb, retry_at = null where key = $1",
      [key, text],
    );
  }
  for (const { key } of changes) await until(async () => (await stateOf(key)) === "final");
  expect(await chain.mined()).toBe(mined + changes.length);
  await advance(server, HOUR_MS);
}, 240_000);

it("a payment that somebody ended in the database is neither paid nor owed again", async () => {
  await setGas(0n);
  const { database } = server.core;
  const ended = [
    { ...(await queueRefund()), end: { state: "refused", problem: "planted", nonce: null } },
    { ...(await queueRefund()), end: { state: "final", tx_id: "0xplanted", nonce: 90_001 } },
  ];
  for (const { key, end } of ended) {
    await database.query(
      `update evm_sends set state = $2, problem = $3, tx_id = $4, nonce = $5 where key = $1`,
      [key, end.state, end.problem ?? null, end.tx_id ?? null, end.nonce],
    );
  }
  for (const { key, user_id } of ended) {
    const id = key.split(":")[2];
    const [task] = await until(async () => {
      const found = await database.query<{ last_error: string }>(
        "select last_error from tasks where record_id = $1 and attempts > 0",
        [id],
      );
      return found.length > 0 && found;
    });
    expect(task!.last_error).toContain(`evm_sends ${key} was not written by Sliproad as it is`);
    const { refunds } = good(await server.call("GET", `/users/${user_id}/refunds`));
    expect(refunds).toMatchObject([{ id, status: "sending", tx_id: null }]);
  }
  expect(await findFault(server)).toContain("evm_sends refund:");

  // As they were, they are paid.
  await database.query(
    `update evm_sends set state = 'queued', problem = null, tx_id = null, nonce = null,
       asked_at = null where key = any($1::text[])`,
    [ended.map(({ key }) => key)],
  );
  await setGas(COIN);
  for (const { key } of ended) await until(async () => (await stateOf(key)) === "final");
  await advance(server, HOUR_MS);
}, 180_000);

it("after all this, ledger and chain are the same", async () => {
  await undoGas();
  await expectSameAtRest(server.core, chain.node);
}, 180_000);
