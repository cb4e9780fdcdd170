import { afterAll, beforeAll, expect, it } from "vitest";
import type { Chain, Token } from "../../src/catalogue/chains.ts";
import { checkAddress } from "../../src/partners/chain/check-address.ts";
import { type ChainPort, sendIfDone, type Transfer } from "../../src/partners/chain/port.ts";
import type { Database } from "../../src/platform/db/database.ts";
import type { TestSend } from "../harness/chain-process.ts";

const ROUNDS_MAX = 20;
/** Each takes seconds to start on a busy machine. */
const PROCESSES = { timeout: 180_000 };

/** A chain that a test can pay on. */
export type PayableChain = {
  port: ChainPort;
  database: Database;
  chain: Chain;
  now(): Date;
  /** Pays an address from outside; millionths. Returns the transaction's id. */
  pay(address: string, token: Token, amount: bigint): Promise<string>;
  /** A cursor of another adapter, which knew this chain before. */
  foreign_cursor: string;
  /** After it, everything that was paid before is final and read, and what is sent goes on. */
  settle(): Promise<void>;
  /** How much arrived at an address under a key, as the chain shows it. */
  arrived(key: string, address: string): Promise<bigint>;
  /**
   * Sends in a process of its own, which is killed (kill -9) at one of `kill_points`; null: it ends
   * by itself and returns the outcomes.
   */
  sendInProcess(
    sends: readonly TestSend[],
    kill_at: string | null,
  ): Promise<Record<string, unknown> | null>;
  kill_points: readonly string[];
  close(): Promise<void>;
};

/** What every adapter of the chain port guarantees. */
export function chainSuite(open: () => Promise<PayableChain>): void {
  let on: PayableChain;
  beforeAll(async () => {
    on = await open();
  });
  afterAll(() => on.close());

  const issue = async (count = 1) => {
    const chains = Array.from({ length: count }, () => on.chain);
    return on.port.issueAddresses(on.database, chains, on.now());
  };
  const issueOne = async () => (await issue())[0]!;
  const listAll = async (cursor: string | null = null, limit = 1_000) => {
    const found: Transfer[] = [];
    for (let at = cursor; ; ) {
      const page = await on.port.listTransfers(on.chain, at, limit);
      found.push(...page.transfers);
      if (page.cursor === at) return { found, cursor: at };
      at = page.cursor;
    }
  };

  it("no address is issued twice, also after a rollback and to callers at once", async () => {
    const kept = await Promise.all(Array.from({ length: 4 }, () => issue(5)));
    const rolled_back: string[] = [];
    await on.database
      .transaction(async (tx) => {
        const chains = [on.chain, on.chain];
        rolled_back.push(...(await on.port.issueAddresses(tx, chains, on.now())));
        throw new Error("rolled back");
      })
      .catch(() => {});
    const all = [...kept.flat(), ...rolled_back, ...(await issue(5))];
    expect(new Set(all).size).toBe(27);
    expect(all.every((address) => "value" in checkAddress(on.chain, address))).toBe(true);
  });

  it("a transfer is listed once it is final, with who paid what, and once per cursor", async () => {
    const address = await issueOne();
    const { cursor } = await listAll();
    const tx_id = await on.pay(address, "usdc", 1_234_567n);
    await on.settle();
    const { found, cursor: after } = await listAll(cursor);
    expect(found).toEqual([
      expect.objectContaining({
        ...{ chain: on.chain, tx_id, address, token: "usdc", amount: 1_234_567n },
        mined_at: expect.any(Date),
        sender: expect.any(String),
      }),
    ]);
    expect((await listAll(after)).found).toEqual([]);
    expect(await on.port.finalUntil(on.chain, on.now())).toBeInstanceOf(Date);
  });

  it("pages are in one order, whatever their size, and miss nothing", async () => {
    const { cursor } = await listAll();
    const addresses = await issue(3);
    for (const address of addresses) await on.pay(address, "usdt", 1_000_000n);
    await on.settle();
    const whole = (await listAll(cursor)).found;
    expect(whole.map((one) => one.address)).toEqual(addresses);
    expect((await listAll(cursor, 1)).found).toEqual(whole);
  });

  it("a cursor of another adapter is the start: nothing is left out", async () => {
    const { found } = await listAll();
    expect((await listAll(on.foreign_cursor)).found).toEqual(found);
  });

  it("a named transaction is final if it pays the address in the token, else failed", async () => {
    const [address, other] = (await issue(2)) as [string, string];
    const tx_id = await on.pay(address, "usdc", 7_000_000n);
    await on.settle();
    const status = (named: { tx_id: string; address: string; token: Token }) =>
      on.port.findStatus(on.chain, named);
    expect(await status({ tx_id, address, token: "usdc" })).toBe("final");
    expect(await status({ tx_id, address: other, token: "usdc" })).toBe("failed");
    expect(await status({ tx_id, address, token: "usdt" })).toBe("failed");
    const unknown = `0x${"12".repeat(32)}`;
    expect(await status({ tx_id: unknown, address, token: "usdc" })).toBe("unknown");
    expect(await on.port.readTransaction(on.chain, unknown)).toEqual({ status: "unknown" });
  });

  let sent = 0;
  const newSend = (amount = 5_000_000n) => {
    sent += 1;
    const address = `0x${sent.toString(16).padStart(40, "c")}`;
    return {
      key: `refund:suite:${sent}`,
      chain: on.chain,
      token: "usdc",
      amount,
      address,
    } as const;
  };
  type Send = ReturnType<typeof newSend>;

  const outcomeOf = async (send: Send) => {
    for (let round = 0; round < ROUNDS_MAX; round += 1) {
      const outcome = await sendIfDone(on.port, send);
      if (outcome) return outcome;
      await on.settle();
    }
    throw new Error(`${send.key} has no outcome`);
  };

  it("tokens are sent once per key, to however many callers at once and however often", async () => {
    const send = newSend();
    expect(on.port.sending).toContain(on.chain);
    expect(await on.port.findSend(on.chain, send.key)).toBeNull();
    await Promise.all(Array.from({ length: 5 }, () => sendIfDone(on.port, send)));
    const outcome = await outcomeOf(send);
    expect(outcome).toEqual({ tx_id: expect.any(String) });
    expect(await on.port.findSend(on.chain, send.key)).toEqual(outcome);
    expect(await outcomeOf(send)).toEqual(outcome);
    expect(await on.arrived(send.key, send.address)).toBe(send.amount);
  });

  it("another transfer under the same key is an error, and is not sent", async () => {
    const send = newSend();
    await outcomeOf(send);
    for (const other of [{ amount: 6_000_000n }, { token: "usdt" as const }, newSend()]) {
      await expect(on.port.send({ ...send, ...other, key: send.key })).rejects.toThrow(
        "was used for another transfer",
      );
    }
    await on.settle();
    expect(await on.arrived(send.key, send.address)).toBe(send.amount);
  });

  it("a process that is killed sends nothing twice and loses nothing", PROCESSES, async () => {
    const addresses = await issue(3);
    const { cursor } = await listAll();
    for (const address of addresses) await on.pay(address, "usdc", 1_000_000n);
    const sends = Array.from({ length: 3 }, () => newSend(7_000_000n));
    const texts = sends.map(({ key, amount, address }) => ({ key, amount: `${amount}`, address }));
    for (const point of on.kill_points) expect(await on.sendInProcess(texts, point)).toBeNull();
    const outcomes = await on.sendInProcess(texts, null);
    for (const { key, address, amount } of sends) {
      expect(outcomes![key]).toEqual({ tx_id: expect.any(String) });
      expect(await on.port.findSend(on.chain, key)).toEqual(outcomes![key]);
      expect(await on.arrived(key, address)).toBe(amount);
    }
    await on.settle();
    expect((await listAll(cursor)).found.map(({ address }) => address)).toEqual(addresses);
  });
}
