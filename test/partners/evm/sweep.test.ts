import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { endOf } from "../../../src/partners/chain/evm/send/ended-sends.ts";
import type { LocalSigner } from "../../../src/partners/chain/evm/signer/local-signer.ts";
import type { SignRequest } from "../../../src/partners/chain/evm/signer/port.ts";
import { listSteps, listSweeps } from "../../../src/partners/chain/evm/sweep/sweep-store.ts";
import type { Database } from "../../../src/platform/db/database.ts";
import { verifySends } from "../../../src/verify/verify-sends.ts";
import { runCommand } from "../../harness/command-line.ts";
import { openTestSigner, TEST_TREASURY } from "../../harness/evm/signer.ts";
import { openTestEvm, type TestEvm } from "../../harness/evm/test-evm.ts";

const TEN = 10_000_000n;
const ONE_COIN = `0x${(10n ** 18n).toString(16)}`;
const HOUR_MS = 60 * 60 * 1000;
const GWEI = 10n ** 9n;
/** Accesses to the database between two crashes; npm run soak tries each of them. */
const CRASH_EVERY = process.env.LONG_TESTS ? 1 : 11;
let evm: TestEvm;
let data_dir: string;

beforeAll(async () => {
  data_dir = await mkdtemp(join(tmpdir(), "sliproad-sweep-"));
  evm = await openTestEvm({ rpcs: 2, sends: true, entry: { sweeping: { minimum: "5" } } });
});
afterAll(async () => {
  await evm?.close();
  await rm(data_dir, { recursive: true });
});

beforeEach(() => evm.node.ask("hardhat_setBalance", TEST_TREASURY, ONE_COIN));
afterEach(() => {
  for (const rpc of evm.rpcs) Object.assign(rpc, { change: null, finalized_depth: 0 });
  // Whatever a test did: no nonce has two actions.
  expect(evm.signer.doubles).toEqual([]);
});

function balanceOf(address: string, token = evm.tokens.usdc): Promise<bigint> {
  return token.balanceOf(address);
}

/** A new address with a deposit that was read. */
async function deposit(amount = TEN): Promise<string> {
  const address = await evm.issue();
  await evm.tokens.usdc.transfer(address, amount);
  await evm.watch();
  return address;
}

/** The worker runs both tasks until nothing changes any more. */
async function settle(rounds = 8, database?: Database): Promise<void> {
  for (let round = 0; round < rounds; round += 1) {
    await evm.runSweeps(database);
    await evm.runSender(database);
    await evm.node.mine();
  }
}

/** A new address with a deposit, whose top-up is final and whose transfer is queued. */
async function toppedUp(): Promise<string> {
  const address = await deposit();
  await evm.runSweeps();
  await evm.runSender();
  await evm.node.mine();
  await evm.runSender();
  await evm.runSweeps();
  await evm.node.mine();
  return address;
}

const sweepsOf = async (address: string) =>
  (await listSweeps(evm.database, 1_000)).filter((one) => one.address === address).reverse();

/** The operator's command. */
function chainsCommand(...args: string[]) {
  const environment = { DATABASE_URL: evm.database_url, SLIPROAD_DATA_DIR: data_dir };
  return runCommand(["chains", ...args, "--json"], environment);
}

const signedFrom = (address: string) => evm.signer.signed.filter(({ from }) => from === address);
const topUpsOf = (address: string) =>
  evm.signer.signed.filter(
    ({ action }) => action.kind === "gas_top_up" && action.address === address,
  );

describe("a deposit", () => {
  it("moves to the treasury once, with a top-up for its gas, and no more is sent", async () => {
    const address = await deposit();
    const before = await balanceOf(TEST_TREASURY);
    await settle();
    expect(await balanceOf(address)).toBe(0n);
    expect(await balanceOf(TEST_TREASURY)).toBe(before + TEN);
    const sweeps = await sweepsOf(address);
    expect(sweeps).toMatchObject([{ state: "final", amount: TEN, token: "usdc", top_ups: 1 }]);
    const steps = [...(await listSteps(evm.database, sweeps)).values()];
    expect(steps.map(({ state }) => state)).toEqual(["final", "final"]);
    expect(steps.every(({ gas_cost }) => gas_cost! > 0n)).toBe(true);
    await settle(3);
    expect(await sweepsOf(address)).toHaveLength(1);
    expect([signedFrom(address).length, topUpsOf(address).length]).toEqual([1, 1]);
  });

  it("does not wait for any number of sweeps whose token is paused", async () => {
    const paused: string[] = [];
    while (paused.length < 5) paused.push(await deposit());
    // Top-ups of the first four; then their transfers are queued.
    await evm.runSweeps();
    await evm.runSender();
    await evm.node.mine();
    await evm.runSender();
    await evm.runSweeps();
    await evm.tokens.usdc.setPaused(true);
    await evm.node.mine();
    await settle(3);
    const address = await evm.issue();
    await evm.tokens.usdt.transfer(address, TEN);
    await evm.watch();
    await settle();
    expect(await sweepsOf(address)).toMatchObject([{ state: "final", token: "usdt" }]);
    for (const other of paused) {
      expect(await sweepsOf(other)).toMatchObject([{ state: "open" }]);
      expect((await sweepsOf(other))[0]!.problem).toMatch(/paused|refuses/);
    }
    await evm.tokens.usdc.setPaused(false);
    await evm.node.mine();
    for (let hours = 0; hours < 6; hours += 2) {
      evm.wait(2 * HOUR_MS);
      await settle(4);
    }
    for (const other of paused) expect(await sweepsOf(other)).toMatchObject([{ state: "final" }]);
  });

  it("below the minimum stays, until a further one makes it worth the gas", async () => {
    const address = await deposit(4_999_999n);
    await settle(3);
    expect(await sweepsOf(address)).toEqual([]);
    await evm.tokens.usdc.transfer(address, 1n);
    await evm.watch();
    await settle();
    expect(await sweepsOf(address)).toMatchObject([{ state: "final", amount: 5_000_000n }]);
    expect(await balanceOf(address)).toBe(0n);
  });

  it("is not kept back by more than a thousand transfers of dust to its address", async () => {
    const address = await evm.issue();
    for (let round = 0; round < 3; round += 1) {
      await evm.tokens.usdc.transferMany(Array(334).fill(address), 1n);
    }
    await evm.tokens.usdc.transfer(address, TEN);
    await evm.watch();
    await settle();
    expect(await sweepsOf(address)).toMatchObject([{ state: "final", amount: TEN + 999n }]);
    expect(await balanceOf(address)).toBe(3n);
  });

  it("that is not final, or was not credited, stays where it is", async () => {
    const address = await evm.issue();
    for (const rpc of evm.rpcs) rpc.finalized_depth = 20;
    await evm.tokens.usdc.transfer(address, TEN);
    await evm.tokens.other.transfer(address, TEN);
    await evm.watch();
    await settle(2);
    expect(await sweepsOf(address)).toEqual([]);
    for (const rpc of evm.rpcs) rpc.finalized_depth = 0;
    await evm.watch();
    await settle();
    expect(await sweepsOf(address)).toMatchObject([{ token: "usdc", state: "final" }]);
    expect(await balanceOf(address, evm.tokens.other)).toBe(TEN);
  });

  it("of each token is swept, one after the other, and each sum once", async () => {
    const address = await deposit();
    await evm.tokens.usdt.transfer(address, TEN);
    await evm.tokens.usdc.transfer(address, TEN);
    await evm.watch();
    await settle(16);
    const sweeps = await sweepsOf(address);
    expect(sweeps).toMatchObject([
      { token: "usdc", amount: 2n * TEN, state: "final" },
      { token: "usdt", amount: TEN, state: "final" },
    ]);
    expect(await balanceOf(address)).toBe(0n);
    expect(await balanceOf(address, evm.tokens.usdt)).toBe(0n);
  });

  it("waits while fees are above the sweep's own limit", async () => {
    await evm.restart({ sweeping: { minimum: "5", max_fee_gwei: "0.000001" } });
    const address = await deposit();
    await settle(2);
    expect(await sweepsOf(address)).toEqual([]);
    await evm.restart();
    await settle();
    expect(await sweepsOf(address)).toMatchObject([{ state: "final" }]);
  });

  it("gets a second top-up where fees rose before it was sent", async () => {
    const address = await deposit();
    await evm.runSweeps();
    await evm.runSender();
    const base_fee = `0x${(300n * GWEI).toString(16)}`;
    await evm.node.ask("hardhat_setNextBlockBaseFeePerGas", base_fee);
    await evm.node.mine();
    await evm.node.ask("hardhat_setNextBlockBaseFeePerGas", `0x${(100n * GWEI).toString(16)}`);
    await evm.node.mine();
    await settle();
    await evm.node.ask("hardhat_setNextBlockBaseFeePerGas", `0x${GWEI.toString(16)}`);
    await evm.node.mine();
    await settle();
    expect(await sweepsOf(address)).toMatchObject([{ state: "final", top_ups: 2 }]);
    expect(signedFrom(address)).toHaveLength(1);
  });
});

it("a sweep whose transfer was replaced gets native coin for the higher fee", async () => {
  const address = await deposit();
  await evm.node.ask("evm_setAutomine", false);
  for (let round = 0; round < 2; round += 1) {
    await evm.runSweeps();
    await evm.runSender();
    if (round === 0) await evm.node.mine();
    if (round === 0) await evm.runSender();
  }
  expect(await sweepsOf(address)).toMatchObject([{ state: "open", top_ups: 1 }]);
  for (let block = 0; block < 4; block += 1) {
    await evm.node.ask("hardhat_setNextBlockBaseFeePerGas", `0x${(50n * GWEI).toString(16)}`);
    await evm.node.mine();
  }
  evm.wait(HOUR_MS);
  await evm.runSender();
  expect(signedFrom(address)).toHaveLength(2);
  // What a node did not accept is sent again after some seconds.
  for (let round = 0; round < 4; round += 1) {
    evm.wait(6_000);
    await settle(2);
  }
  await evm.node.ask("evm_setAutomine", true);
  expect(await sweepsOf(address)).toMatchObject([{ state: "final", top_ups: 2 }]);
  expect(await balanceOf(address)).toBe(0n);
});

it("a node that names a revert otherwise does not stop sweeps", async () => {
  const address = await deposit();
  for (const rpc of evm.rpcs) {
    // DOMAIN_SEPARATOR(), which the token does not have.
    rpc.instead = ({ method, params }) => {
      const { data } = Object(params[0]) as { data?: string };
      if (method !== "eth_call" || !data?.startsWith("0x3644e515")) return undefined;
      throw Object.assign(new Error("VM execution error."), { code: -32_015 });
    };
  }
  await settle();
  for (const rpc of evm.rpcs) rpc.instead = null;
  expect(await sweepsOf(address)).toMatchObject([{ state: "final", method: "top_up" }]);
});

describe("a sweep that fails", () => {
  it("before anything was signed delays no other, and goes on by itself", async () => {
    const blocked = await deposit();
    await evm.tokens.usdc.setBlocked(blocked, true);
    const others = [];
    for (let count = 0; count < 5; count += 1) others.push(await deposit());
    await settle(16);
    expect(await sweepsOf(blocked)).toMatchObject([
      { state: "open", top_ups: 0, problem: expect.stringContaining("refuses the transfer now") },
    ]);
    for (const other of others) expect(await sweepsOf(other)).toMatchObject([{ state: "final" }]);
    await evm.tokens.usdc.setBlocked(blocked, false);
    evm.wait(HOUR_MS);
    await settle();
    expect(await sweepsOf(blocked)).toMatchObject([{ state: "final", problem: null }]);
  });

  it("because of its top-up does not move the tokens later, next to another sweep", async () => {
    const address = await toppedUp();
    const { number } = (await sweepsOf(address))[0]!;
    expect(await evm.sendOf(`sweep:${number}:transfer`)).toMatchObject({ state: "queued" });
    const top_up = `sweep:${number}:top_up:1`;
    await evm.database.transaction(async (tx) =>
      tx.query("update evm_sends set state = 'refused', mac = $2 where key = $1", [
        top_up,
        endOf(tx, { ...(await evm.sendOf(top_up))!, key: top_up, state: "refused" }),
      ]),
    );
    await settle(3);
    expect(await sweepsOf(address)).toMatchObject([{ state: "failed" }]);
    expect(await balanceOf(address)).toBe(TEN);
    await chainsCommand("retry-sweep", String(number), "--reason", "once more");
    await settle();
    expect(await balanceOf(address)).toBe(0n);
    expect(signedFrom(address)).toHaveLength(1);
  });

  it("after that is not repeated by itself, and the operator can try it again", async () => {
    const address = await toppedUp();
    await evm.tokens.usdc.setBlocked(TEST_TREASURY, true);
    await settle();
    const [failed] = await sweepsOf(address);
    expect(failed).toMatchObject({
      state: "failed",
      problem: expect.stringContaining("refuses a transfer to this address"),
    });
    await evm.tokens.usdc.setBlocked(TEST_TREASURY, false);
    await settle(3);
    expect(await sweepsOf(address)).toHaveLength(1);
    const retry = ["retry-sweep", String(failed!.number), "--reason", "it is not blocked any more"];
    expect(await chainsCommand(...retry)).toMatchObject({ code: 0 });
    const twice = await chainsCommand(...retry);
    expect(twice.stdout).toContain(
      `There is no sweep ${failed!.number} that failed or has not begun.`,
    );
    await settle();
    const [, again] = await sweepsOf(address);
    // The native coin of the first top-up is still there.
    expect(again).toMatchObject({ state: "final", top_ups: 0 });
    expect(await balanceOf(address)).toBe(0n);
    const { sweeps } = JSON.parse((await chainsCommand("sweeps")).stdout);
    expect(sweeps.slice(0, 2)).toMatchObject([
      {
        amount: "10",
        token: "usdc",
        state: "final",
        steps: [{ step: "transfer", state: "final" }],
      },
      { address, state: "given_up", steps: [{ step: "top_up 1" }, { state: "refused" }] },
    ]);
    expect(Number(sweeps[1].gas_cost)).toBeGreaterThan(0);
  });
});

it("a sweep of a deposit that has vanished is given up, and the rest is swept", async () => {
  const address = await deposit(1n);
  for (const amount of [TEN, TEN]) await evm.tokens.usdc.transfer(address, amount);
  await evm.watch();
  await evm.tokens.usdc.setBlocked(address, true);
  await settle(1);
  const [first] = await sweepsOf(address);
  expect(first).toMatchObject({ state: "open", amount: 2n * TEN + 1n });
  await evm.tokens.usdc.setBlocked(address, false);
  await evm.database.query(
    `update evm_transfers set finding = 'vanished' where number =
       (select max(number) from evm_transfers where address = $1)`,
    [address],
  );
  const retry = ["retry-sweep", String(first!.number), "--reason", "a block was replaced"];
  expect(await chainsCommand(...retry)).toMatchObject({ code: 0 });
  await settle();
  const [, second] = await sweepsOf(address);
  expect(second).toMatchObject({ state: "final", amount: TEN + 1n });
  const done = await chainsCommand("retry-sweep", String(second!.number), "--reason", "none");
  expect(done.code).not.toBe(0);
});

it("an address whose queue is stopped does not slow down the others", async () => {
  const address = await toppedUp();
  await evm.database.query(
    "update evm_senders set state = 'stopped', problem = 'somebody else' where address = $1",
    [address],
  );
  const { failures } = await evm.runSender();
  expect(failures).toBe(0);
  await evm.database.query(
    "update evm_senders set state = 'sending', problem = null where address = $1",
    [address],
  );
  await settle();
  expect(await balanceOf(address)).toBe(0n);
});

describe("a crash", () => {
  class Crash extends Error {}

  /** The process ends before, or just after, its n-th access to the database. */
  function crashing(at: number, is_after: boolean): Database {
    let count = 0;
    const step = async <Result>(work: () => Promise<Result>): Promise<Result> => {
      count += 1;
      if (count < at) return work();
      if (count === at && is_after) await work();
      throw new Crash();
    };
    const { database } = evm;
    return {
      ...database,
      query: (...args: never[]) => step(() => (database.query as never as Query)(...args)),
      transaction: (...args: never[]) =>
        step(() => (database.transaction as never as Query)(...args)),
    } as Database;
  }
  type Query = (...args: never[]) => Promise<never>;

  it("between any two steps neither loses nor doubles a sweep", async () => {
    let crashes = 0;
    let is_done = false;
    for (let at = 1; !is_done; at += CRASH_EVERY) {
      const address = await deposit();
      const before = await balanceOf(TEST_TREASURY);
      const crashed = await settle(5, crashing(at, at % 2 === 0)).then(
        () => false,
        (error: unknown) => {
          if (error instanceof Crash) return true;
          throw error;
        },
      );
      is_done = !crashed;
      crashes += crashed ? 1 : 0;
      await evm.restart();
      await settle();
      expect(await sweepsOf(address), `at ${at}`).toMatchObject([{ state: "final", amount: TEN }]);
      expect(await balanceOf(address)).toBe(0n);
      expect(await balanceOf(TEST_TREASURY)).toBe(before + TEN);
      expect([signedFrom(address).length, topUpsOf(address).length]).toEqual([1, 1]);
    }
    expect(crashes).toBeGreaterThan(3);
  }, 600_000);
});

describe("a token with authorizations (EIP-3009)", () => {
  const DOMAIN = `0x${"d0".repeat(32)}`;
  const OTHER = `0x${"0d".repeat(32)}`;
  const NONE = `0x${"00".repeat(32)}`;
  const DAY_MS = 24 * HOUR_MS;
  const authorizations: SignRequest[] = [];
  let sign: TestEvm["signer"]["sign"];
  let signer: LocalSigner;

  beforeAll(async () => {
    signer = await openTestSigner([evm.tokens.usdt.address]);
    sign = evm.signer.sign;
    evm.signer.sign = (request) => {
      authorizations.push(request);
      return signer.sign(request);
    };
  });
  afterAll(async () => {
    evm.signer.sign = sign;
    await evm.tokens.usdt.setDomains(NONE, NONE);
    await signer.close();
  });

  const depositUsdt = async () => {
    const address = await evm.issue();
    await evm.tokens.usdt.transfer(address, TEN);
    await evm.watch();
    return address;
  };
  const usdtOf = (address: string) => balanceOf(address, evm.tokens.usdt);

  it("is swept in one transaction of the treasury, without native coin for the address", async () => {
    await evm.tokens.usdt.setDomains(DOMAIN, DOMAIN);
    const address = await depositUsdt();
    const before = await usdtOf(TEST_TREASURY);
    await settle(4);
    const sweeps = await sweepsOf(address);
    expect(sweeps).toMatchObject([{ state: "final", method: "authorization", top_ups: 0 }]);
    expect(await usdtOf(TEST_TREASURY)).toBe(before + TEN);
    expect(authorizations.map(({ action }) => action.kind)).toEqual(["sweep_with_authorization"]);
    expect(await evm.node.ask("eth_getBalance", address, "latest")).toBe("0x0");
  });

  it("whose authorization a stranger uses first is swept all the same", async () => {
    const address = await depositUsdt();
    await evm.runSweeps();
    const [sweep] = await sweepsOf(address);
    await evm.node.ask("evm_setAutomine", false);
    await evm.runSender();
    const [step] = (await listSteps(evm.database, [sweep!])).values();
    const attempts = await evm.database.query<{ tx_id: string }>(
      "select tx_id from evm_attempts where key = $1",
      [step!.key],
    );
    const { tx_id } = attempts[0]!;
    const { input } = (await evm.node.ask("eth_getTransactionByHash", tx_id)) as { input: string };
    await evm.node.ask("hardhat_dropTransaction", tx_id);
    const stolen = { from: evm.node.account, to: evm.tokens.usdt.address, data: input };
    await evm.node.ask("eth_sendTransaction", stolen);
    await evm.node.ask("evm_mine");
    await evm.node.ask("evm_setAutomine", true);
    expect(await usdtOf(address)).toBe(0n);
    evm.wait(60_000);
    await settle(3);
    expect(await sweepsOf(address)).toMatchObject([{ state: "open" }]);
    evm.wait(DAY_MS + HOUR_MS);
    await settle(2);
    expect(await sweepsOf(address)).toMatchObject([
      { state: "final", top_ups: 0, problem: expect.stringContaining("Another transaction") },
    ]);
  });

  it("that does not accept its own domain is swept by top-up, once the authorization expired", async () => {
    await evm.tokens.usdt.setDomains(DOMAIN, OTHER);
    const address = await depositUsdt();
    await settle(5);
    expect(await sweepsOf(address)).toMatchObject([
      { state: "open", top_ups: 0, problem: expect.stringContaining("was not accepted") },
    ]);
    expect(await usdtOf(address)).toBe(TEN);
    evm.wait(DAY_MS + HOUR_MS);
    await settle();
    expect(await sweepsOf(address)).toMatchObject([
      { state: "final", method: "top_up", top_ups: 1, problem: null },
    ]);
    expect(await usdtOf(address)).toBe(0n);
    // It is remembered for the token.
    const next = await depositUsdt();
    await settle();
    expect(await sweepsOf(next)).toMatchObject([{ state: "final", method: "top_up" }]);
  });
});

it("sliproad verify names a sweep that sends something else, or elsewhere", async () => {
  await deposit();
  await settle();
  expect(await verifySends(evm.database)).toBeNull();
  const like = (key: string, change: string) =>
    `insert into evm_sends (key, chain, sender, action, state, state_since, created_at)
     select ${key}, chain, sender, action || '${change}', 'queued', state_since, created_at
     from evm_sends where key like 'sweep:%:transfer' and state = 'final' limit 1`;
  const last = "key like 'sweep:%:transfer' and state = 'final'";
  const attacks = [
    [like("'sweep:1:bonus'", "{}"), "sweep:1:bonus, which no record wants"],
    [like("'sweep:1:top_up:9'", '{"kind": "gas_top_up"}'), "sweep:1:top_up:9, which no record"],
    [`update evm_sends set action = action || '{"amount": "1"}' where ${last}`, "no record wants"],
    [`update evm_sends set action = action || '{"to": "0x1"}' where ${last}`, "no record wants"],
    [
      `update evm_sends set sender = '${TEST_TREASURY}', nonce = 100000 where key =
        (select max(key) from evm_sends where ${last})`,
      "no record wants",
    ],
    ["update evm_sweeps set millionths = millionths + 1", "does not move what its deposits are"],
    ["update evm_transfers set sweep = null", "does not move what its deposits are"],
  ] as const;
  const undo = new Error("undone");
  for (const [statement, expected] of attacks) {
    let fault: string | null = null;
    await evm.database
      .transaction(async (tx) => {
        await tx.query(statement);
        fault = await verifySends(tx);
        throw undo;
      })
      .catch((error) => expect(error).toBe(undo));
    expect(fault, statement).toContain(expected);
  }
});

it("what was swept is subtracted where a node has forgotten the state of a block", async () => {
  const address = await deposit();
  await settle();
  expect(await balanceOf(address)).toBe(0n);
  for (const rpc of evm.rpcs) {
    rpc.change = ({ method, params }) => {
      if (method !== "eth_call" || params[1] === "latest") return undefined;
      throw Object.assign(new Error("missing trie node"), { code: -32_000 });
    };
  }
  await evm.tokens.usdc.transfer(address, TEN);
  expect(await evm.watch()).toBe("current");
  expect(await evm.credited(address)).toHaveLength(2);
  await evm.tokens.usdc.pretend(address, TEN);
  await evm.watch();
  expect(await evm.findings(address)).toEqual(["balance_mismatch"]);
});

it("the real signer signs every step, and its journal has one line for each", async () => {
  const signer = await openTestSigner([evm.tokens.usdc.address]);
  const counting = evm.signer.sign;
  evm.signer.sign = async (request) => {
    await counting(request);
    return signer.sign(request);
  };
  try {
    const address = await deposit();
    await settle();
    expect(await sweepsOf(address)).toMatchObject([{ state: "final" }]);
    expect(await balanceOf(address)).toBe(0n);
  } finally {
    evm.signer.sign = counting;
    await signer.close();
  }
});

it("a token with 18 decimals is swept and paid in its own unit", async () => {
  const token = await evm.node.deploy({ symbol: "USDT", decimals: 18 });
  const usdt = { address: token.address, decimals: 18 };
  await evm.restart({
    tokens: { usdc: { ...usdt, address: evm.tokens.usdc.address, decimals: 6 }, usdt },
  });
  const address = await evm.issue();
  const dust = 999_999_999_999n;
  await token.transfer(address, 7_500_000n * 10n ** 12n + dust);
  await evm.watch();
  await settle();
  // Less than a millionth was not credited and stays.
  expect(await balanceOf(address, token)).toBe(dust);
  expect(await balanceOf(TEST_TREASURY, token)).toBe(7_500_000n * 10n ** 12n);
  const to = `0x${"b7".repeat(20)}`;
  const payment = { key: "refund:a:18", chain: "polygon", token: "usdt", address: to } as const;
  const send = () => evm.port.send({ ...payment, amount: 7_500_000n });
  await expect(send()).rejects.toThrow("is queued");
  await settle(3);
  expect(await send()).toHaveProperty("tx_id");
  expect(await balanceOf(to, token)).toBe(7_500_000n * 10n ** 12n);
  await evm.restart();
});
