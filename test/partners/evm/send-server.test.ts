import { getAddress } from "viem";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { signingKey } from "../../../src/platform/sealing/seal.ts";
import { signingSeed } from "../../../src/platform/sealing/signing-seed.ts";
import { realTime } from "../../../src/platform/tasks/real-time.ts";
import { verify } from "../../../src/verify/verify.ts";
import { verifyRecipients } from "../../../src/verify/verify-recipients.ts";
import { verifySends } from "../../../src/verify/verify-sends.ts";
import { runCommand } from "../../harness/command-line.ts";
import { TEST_XPUB } from "../../harness/evm/chains-file.ts";
import {
  newAddress,
  openSendingChain,
  type SendingChain,
} from "../../harness/evm/sending-chain.ts";
import { TEST_TREASURY } from "../../harness/evm/signer.ts";
import { addApprovedUser, addQuote } from "../../harness/ramp.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";
import { waitFor } from "../../harness/wait-for.ts";
import { findFault, good } from "../../offramps/story.ts";
import { openOnramp, REQUEST, receive } from "../../onramps/story.ts";

const FIFTY = 50_000_000n;
let chain: SendingChain;
let server: TestServer;
const logged: string[] = [];

beforeAll(async () => {
  chain = await openSendingChain(TEST_XPUB);
  server = await startTestServer({
    environment: chain.settings,
    log_destination: { write: (line) => logged.push(line) },
  });
  // The treasury was funded before the service ran.
  expect(await reconcile("--book", "--reason", "funded")).toBe(0);
});
afterAll(async () => {
  await server.close();
  await chain.close();
});

function commandEnvironment() {
  const place = { DATABASE_URL: server.db.url, SLIPROAD_DATA_DIR: server.data_dir };
  return { ...place, ...chain.settings };
}

/** The exit code of the comparison of ledger and chain. */
async function reconcile(...more: string[]): Promise<number | null> {
  const { code } = await runCommand(["reconcile", "--chain", ...more], commandEnvironment());
  return code;
}

/** A user to whom fifty usdc on the real chain are owed. */
async function addOwed(): Promise<string> {
  const user_id = await addApprovedUser(server);
  const quote_id = await addQuote(server, user_id);
  const { body } = await server.call("GET", `/users/${user_id}/quotes/${quote_id}`);
  await chain.usdc.transfer(body.deposit_address.address, FIFTY);
  await until(async () => (await owedTo(user_id)) === 50);
  return user_id;
}

async function owedTo(user_id: string): Promise<number | undefined> {
  const { balances } = good(await server.call("GET", `/users/${user_id}/balances`));
  return balances.find((one: { chain: string }) => one.chain === "polygon")?.amount;
}

/** To the address that paid: another one would need an approval. */
async function askRefund(user_id: string) {
  const refund = { token: "usdc", chain: "polygon", amount: 50, address: chain.node.account };
  good(await server.call("POST", `/users/${user_id}/refunds`, { refund }));
  return async () => good(await server.call("GET", `/users/${user_id}/refunds`)).refunds[0];
}

/** A payment that is queued by somebody who can write to the database. */
function insertLike(key: string): string {
  return `insert into evm_sends (key, chain, sender, action, state, state_since, created_at)
    select ${key}, chain, sender, action, 'queued', state_since, created_at
    from evm_sends limit 1`;
}

/** Failures of the tasks that wait for the chain: waiting is none. */
function failures(): string[] {
  return logged.filter((line) => {
    const { level, kind = "" } = JSON.parse(line) as { level: number; kind?: string };
    return level >= 40 && ["send-refund", "deliver-onramp"].includes(kind);
  });
}

/** A busy machine takes longer. */
const until: typeof waitFor = (ask) => waitFor(ask, 60_000);

describe("the service with a signer", { timeout: 120_000 }, () => {
  it("pays a refund on the real chain: `sending` until the block is final, then `sent`", async () => {
    const user_id = await addOwed();
    const before = await chain.balanceOf(chain.node.account);
    chain.rpc.finalized_depth = 3;
    const show = await askRefund(user_id);
    await until(async () => (await chain.balanceOf(chain.node.account)) > before);
    await until(async () => (await show()).status === "sending");
    // The block is not final: nothing else may be told, however often the task asks.
    expect((await show()).tx_id).toBeNull();
    await chain.node.mine(3);
    chain.rpc.finalized_depth = 0;
    const refund = await until(async () => {
      const one = await show();
      return one.status === "sent" && one;
    });
    const receipt = (await chain.node.ask("eth_getTransactionReceipt", refund.tx_id)) as {
      from: string;
      status: string;
    };
    expect(receipt).toMatchObject({ from: TEST_TREASURY, status: "0x1" });
    const paid = FIFTY - BigInt(Math.round(refund.network_fee * 1e6));
    expect(await chain.balanceOf(chain.node.account)).toBe(before + paid);
    expect(await findFault(server)).toBeNull();
    expect(failures()).toEqual([]);
  });

  it("delivers an onramp: `sending_fiat` until the block is final, then `crypto_sent`", async () => {
    const address = newAddress();
    chain.rpc.finalized_depth = 3;
    // With the letters of a checksum, as wallets show addresses.
    const destination_address = getAddress(address);
    expect(destination_address).not.toBe(address);
    const onramp = await openOnramp(server, { destination_address });
    await receive(server, { amount: onramp.amount, deposit_message: onramp.code });
    await until(async () => (await chain.balanceOf(address)) > 0n);
    expect(await onramp.show()).toMatchObject({ status: "sending_fiat", status_message: null });
    await chain.node.mine(3);
    chain.rpc.finalized_depth = 0;
    const sent = await until(async () => {
      const one = await onramp.show();
      return one.status === "crypto_sent" && one;
    });
    expect(sent.tx_id).toMatch(/^0x[0-9a-f]{64}$/);
    expect(await chain.balanceOf(address)).toBe(1_000_000_000n);
    expect(await findFault(server)).toBeNull();
    expect(failures()).toEqual([]);
  });

  it("refuses to send where tokens would be lost or stay with us, when it is asked", async () => {
    const user_id = await addApprovedUser(server);
    const quote_id = await addQuote(server, user_id);
    const path = `/users/${user_id}`;
    const { deposit_address } = good(await server.call("GET", `${path}/quotes/${quote_id}`));
    const problemOf = async (route: string, body: object) => {
      const answer = await server.call("POST", `${path}/${route}`, body);
      expect(answer).toMatchObject({ status: 422, body: { error_code: "record_invalid" } });
      return answer.body.errors;
    };
    const cases = [
      [chain.usdc.address, "This is the address of a token's contract"],
      [TEST_TREASURY, "This address belongs to this service"],
      [deposit_address.address, "This address belongs to this service"],
    ] as const;
    for (const [lower, sentence] of cases) {
      for (const address of [lower, getAddress(lower)]) {
        const message = expect.stringContaining(sentence);
        const onramp = { ...REQUEST, destination_address: address };
        expect(await problemOf("onramps", { onramp })).toEqual([
          { field: "onramp.destination_address", code: "record_invalid", message },
        ]);
        const refund_address = { chain: "polygon", address };
        expect(await problemOf("refund_addresses", { refund_address })).toEqual([
          { field: "refund_address.address", code: "record_invalid", message },
        ]);
        const refund = { chain: "polygon", token: "usdc", amount: 50, address };
        expect(await problemOf("refunds", { refund })).toEqual([
          { field: "refund.address", code: "record_invalid", message },
        ]);
      }
    }
  });

  it("a refund to an address that the issuer has blocked fails, and stays owed", async () => {
    const user_id = await addOwed();
    await chain.usdc.setBlocked(chain.node.account, true);
    const show = await askRefund(user_id);
    await until(async () => (await show()).status === "failed");
    await chain.usdc.setBlocked(chain.node.account, false);
    expect(await owedTo(user_id)).toBe(50);
    expect(await findFault(server)).toBeNull();
  });

  it("has in the wallets of the ledger what is on the chain, after all of these", async () => {
    expect(await reconcile()).toBe(0);
    await chain.usdc.transfer(TEST_TREASURY, 1n);
    await until(async () => (await reconcile()) === 1);
    expect(await reconcile("--book", "--reason", "one more")).toBe(0);
  });

  it("sliproad verify names a payment that no record wants, or not so", async () => {
    const undo = new Error("undone");
    const { database, keyring, index_key, clock, config } = server.core;
    const time = { now: clock.now(), real_now: realTime(clock), keyring, index_key };
    const paid = "key like 'refund:%' and state = 'final'";
    const other = `'{"to": "${newAddress()}"}'`;
    const attacks = [
      [`update evm_sends set action = action || '{"amount": "60000000"}' where ${paid}`, "amount"],
      [`update evm_sends set action = action || ${other} where ${paid}`, "another address"],
      [`update evm_sends set chain = 'base' where ${paid}`, "another amount, token or chain"],
      [`update evm_sends set tx_id = 'x' where ${paid}`, "another transaction"],
      [insertLike("'refund:' || gen_random_uuid() || ':' || gen_random_uuid()"), "no record wants"],
      [insertLike("'bonus'"), "bonus, which no record wants"],
    ] as const;
    for (const [statement, expected] of attacks) {
      let fault: string | null = null;
      await database
        .transaction(async (tx) => {
          await tx.query("alter table evm_sends drop constraint evm_sends_chain_sender_fkey");
          await tx.query(statement);
          fault =
            (await verifyRecipients(tx, { keyring, index_key }, server.account_id)) ??
            (await verifySends(tx));
          throw undo;
        })
        .catch((error) => expect(error).toBe(undo));
      expect(fault, statement).toContain(expected);
    }
    expect((await verify(database, signingKey(signingSeed(config)), time)).fault).toBeNull();
  });

  it("tells about its queue in /metrics, sliproad sends list and doctor", async () => {
    const metrics = await fetch(`${server.url}/metrics`).then((answer) => answer.text());
    expect(metrics).toMatch(/^sliproad_sender_up\{chain="polygon"\} 1$/m);
    const mined = await chain.mined();
    expect(metrics).toContain(`sliproad_sender_next_nonce{chain="polygon"} ${mined}`);
    expect(metrics).toMatch(/^sliproad_sender_native_balance\{chain="polygon"\} 0\.9\d+$/m);
    const environment = commandEnvironment();
    const listed = await runCommand(["sends", "list", "--json"], environment);
    expect(JSON.parse(listed.stdout)).toMatchObject({
      senders: [{ chain: "polygon", address: TEST_TREASURY, state: "sending", problem: null }],
      sends: [],
    });
    await chain.node.ask("hardhat_setBalance", TEST_TREASURY, `0x${(10n ** 15n).toString(16)}`);
    const show = await askRefund(await addOwed());
    await until(async () => (await show()).status === "sent");
    const { stdout } = await runCommand(["doctor", "--json"], environment);
    expect(stdout).toMatch(/little native coin for gas on polygon .* send some to 0x78839f/);
    await chain.node.ask("hardhat_setBalance", TEST_TREASURY, `0x${(10n ** 18n).toString(16)}`);
  });
});
