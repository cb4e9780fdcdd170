import { appendFile, copyFile, readFile, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  domainSeparator,
  encodeFunctionData,
  keccak256,
  parseTransaction,
  recoverTypedDataAddress,
} from "viem";
import { mnemonicToAccount } from "viem/accounts";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createJournal } from "../../../src/partners/chain/evm/signer/journal.ts";
import { openKeys } from "../../../src/partners/chain/evm/signer/keys.ts";
import { createKeystore, openKeystore } from "../../../src/partners/chain/evm/signer/keystore.ts";
import { loadSigner } from "../../../src/partners/chain/evm/signer/load-signer.ts";
import {
  createLocalSigner,
  type LocalSigner,
} from "../../../src/partners/chain/evm/signer/local-signer.ts";
import type { SignedAction, SignRequest } from "../../../src/partners/chain/evm/signer/port.ts";
import { seedOf } from "../../../src/partners/chain/evm/words.ts";
import { TEST_WORDS } from "../../harness/evm/chains-file.ts";
import {
  createSignerFiles,
  type SignerFiles,
  type signerFile,
  signerSettings,
  TEST_PASSPHRASE,
  TEST_TREASURY,
} from "../../harness/evm/signer.ts";

const USDC = "0x00000000000000000000000000000000000000c1" as const;
const PAYEE = "0x00000000000000000000000000000000000000b0";
const FIRST_DEPOSIT = { address_index: 0, address: "0x9858effd232b4033e47d90003d41ec34ecaeda94" };
const GWEI = 10n ** 9n;
const DAY_MS = 24 * 60 * 60 * 1000;

const treasury = mnemonicToAccount(TEST_WORDS, { accountIndex: 1 });
const deposit = mnemonicToAccount(TEST_WORDS);
const transfer_abi = [
  {
    type: "function",
    name: "transfer",
    stateMutability: "nonpayable",
    inputs: [
      { name: "to", type: "address" },
      { name: "value", type: "uint256" },
    ],
    outputs: [],
  },
] as const;

let files: SignerFiles;
let journal: string;
/** Decrypting them takes half a second. */
const keys = openKeys(seedOf(TEST_WORDS)!);
let journals = 0;
let now = new Date();
const open_signers: LocalSigner[] = [];

beforeAll(async () => {
  files = await createSignerFiles();
});
beforeEach(() => {
  journals += 1;
  now = new Date("2026-01-01T12:00:00Z");
  journal = join(files.directory, `${journals}.journal`);
  createJournal(journal);
});
afterAll(async () => {
  for (const signer of open_signers) await signer.close();
  await files.close();
});

async function openSigner(limits: Parameters<typeof signerFile>[1] = {}): Promise<LocalSigner> {
  const settings = signerSettings(files, [USDC], limits, journal);
  const signer = await createLocalSigner(keys, settings, () => now);
  open_signers.push(signer);
  return signer;
}

/** As after the end of the process. */
async function restart(signer: LocalSigner, limits = {}): Promise<LocalSigner> {
  open_signers.splice(open_signers.indexOf(signer), 1);
  await signer.close();
  return openSigner(limits);
}

function pay(tokens: number, nonce: number, change: Partial<SignRequest> = {}): SignRequest {
  const amount = BigInt(tokens * 1_000_000);
  return {
    reference: `refund:account:${nonce}`,
    chain_id: 31_337,
    key: { kind: "treasury" },
    nonce,
    action: { kind: "token_transfer", contract: USDC, to: PAYEE, amount },
    ...{ gas: 65_000n, max_fee: 3n * GWEI, priority_fee: GWEI },
    ...change,
  };
}

const CANCEL: SignedAction = { kind: "cancel" };
const lines = async () => (await readFile(journal, "utf8")).split("\n").length - 1;

describe("the bytes of a transaction", () => {
  it("are those that another library signs, for every action and size of number", async () => {
    const signer = await openSigner({ per_transaction_max: "1000000", per_day_max: "9000000" });
    const fees = { gas: 65_000n, maxFeePerGas: 3n * GWEI, maxPriorityFeePerGas: GWEI };
    const both = { type: "eip1559", chainId: 31_337, ...fees } as const;
    for (const [nonce, tokens] of [1, 0.000001, 127, 128 / 1e6, 654_321].entries()) {
      const args = [PAYEE, BigInt(tokens * 1_000_000)] as const;
      const data = encodeFunctionData({ abi: transfer_abi, functionName: "transfer", args });
      const expected = await treasury.signTransaction({ ...both, nonce, to: USDC, data });
      const signed = await signer.sign(pay(tokens, nonce));
      expect(signed).toEqual({ raw: expected, tx_id: keccak256(expected), from: TEST_TREASURY });
    }
    const top_up: SignedAction = { kind: "gas_top_up", ...FIRST_DEPOSIT, amount: 10n ** 15n };
    const to = FIRST_DEPOSIT.address as `0x${string}`;
    const { raw } = await signer.sign(pay(0, 128, { action: top_up }));
    const value = 10n ** 15n;
    expect(raw).toBe(await treasury.signTransaction({ ...both, nonce: 128, to, value }));
    const key = { kind: "deposit", ...FIRST_DEPOSIT } as const;
    const cancel = await signer.sign(pay(0, 70_000, { key, action: CANCEL, priority_fee: 0n }));
    const free = { ...both, nonce: 70_000, to, maxPriorityFeePerGas: 0n };
    expect(cancel.raw).toBe(await deposit.signTransaction(free));
    expect(cancel.from).toBe(FIRST_DEPOSIT.address);
  });

  it("contain an authorization that the token can check, signed by the deposit address", async () => {
    const signer = await openSigner();
    const about = { name: "USD Coin", version: "2", chainId: 31_337 };
    const domain = { ...about, verifyingContract: USDC } as const;
    const authorization_nonce = `0x${"ab".repeat(32)}` as const;
    const action: SignedAction = {
      kind: "sweep_with_authorization",
      contract: USDC,
      ...FIRST_DEPOSIT,
      amount: 5_000_000n,
      domain_separator: domainSeparator({ domain }),
      authorization_nonce,
      valid_before: 1_800_000_000,
    };
    const { raw, from } = await signer.sign(pay(0, 1, { action }));
    expect(from).toBe(TEST_TREASURY);
    const data = parseTransaction(raw as `0x02${string}`).data!;
    const words = data.slice(10).match(/.{64}/g)!;
    const [v, r, s] = [BigInt(`0x${words[6]}`), `0x${words[7]}`, `0x${words[8]}`] as const;
    const fields = ["address from", "address to", "uint256 value", "uint256 validAfter"];
    const types = [...fields, "uint256 validBefore", "bytes32 nonce"].map((field) => {
      const [type, name] = field.split(" ");
      return { name: name!, type: type! };
    });
    const signer_of = await recoverTypedDataAddress({
      domain,
      primaryType: "TransferWithAuthorization",
      types: { TransferWithAuthorization: types },
      message: {
        ...{ from: FIRST_DEPOSIT.address, to: TEST_TREASURY, value: 5_000_000n },
        ...{ validAfter: 0n, validBefore: 1_800_000_000n, nonce: authorization_nonce },
      },
      signature: { v, r: r as `0x${string}`, s: s as `0x${string}` },
    });
    expect(signer_of.toLowerCase()).toBe(FIRST_DEPOSIT.address);
    expect(data.slice(0, 10)).toBe("0xe3ee160e");
  });
});

describe("a nonce", () => {
  it("has one action: the same request has the same bytes, another one is refused", async () => {
    let signer = await openSigner();
    const first = await signer.sign(pay(10, 0));
    expect(await signer.sign(pay(10, 0))).toEqual(first);
    const bumped = await signer.sign(pay(10, 0, { max_fee: 9n * GWEI }));
    expect(bumped.tx_id).not.toBe(first.tx_id);
    for (let round = 0; round < 2; round += 1) {
      await expect(signer.sign(pay(11, 0))).rejects.toThrow("already used for another action");
      const action: SignedAction = { kind: "gas_top_up", ...FIRST_DEPOSIT, amount: 1n };
      await expect(signer.sign(pay(0, 0, { action }))).rejects.toThrow("Nonce 0 of");
      signer = await restart(signer);
    }
    expect(await signer.sign(pay(10, 0))).toEqual(first);
    expect(await lines()).toBe(1);
    // Another address and another chain have their own nonces.
    const key = { kind: "deposit", ...FIRST_DEPOSIT } as const;
    const to_treasury = { ...pay(11, 0).action, to: TEST_TREASURY } as SignedAction;
    await signer.sign(pay(0, 0, { key, action: to_treasury }));
  });

  it("can be cancelled at any time, and what was cancelled is never signed again", async () => {
    let signer = await openSigner();
    await signer.sign(pay(10, 0));
    const cancelled = await signer.sign(pay(0, 0, { action: CANCEL }));
    signer = await restart(signer);
    expect(await signer.sign(pay(0, 0, { action: CANCEL }))).toEqual(cancelled);
    await expect(signer.sign(pay(10, 0))).rejects.toThrow("already used for another action");
    await signer.sign(pay(0, 1, { action: CANCEL }));
    await expect(signer.sign(pay(10, 1))).rejects.toThrow("already used for another action");
  });

  it("is the only one of a payment, whatever the database says, also for the same transfer", async () => {
    let signer = await openSigner();
    const reference = "refund:account:7";
    const first = await signer.sign(pay(10, 7, { reference }));
    for (let round = 0; round < 2; round += 1) {
      const again = signer.sign(pay(10, 8, { reference }));
      await expect(again).rejects.toMatchObject({ name: "SigningRefused" });
      await expect(again).rejects.toThrow(/refund:account:7 was signed on 2026.* with nonce 7/);
      // Two payments of one amount to one address are two.
      await expect(signer.sign(pay(10, 7, { reference: "other" }))).rejects.toThrow("Nonce 7");
      signer = await restart(signer);
    }
    expect(await signer.sign(pay(10, 7, { reference }))).toEqual(first);
    await signer.sign(pay(0, 7, { reference, action: CANCEL }));
    await expect(signer.sign(pay(10, 8, { reference }))).rejects.toThrow("was signed on");
    expect(await lines()).toBe(2);
  });

  it("is signed once by a hundred requests at the same time with different amounts", async () => {
    const signer = await openSigner();
    const asked = Array.from({ length: 100 }, (_, at) => signer.sign(pay(at + 1, 7)));
    const results = await Promise.allSettled(asked);
    expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    expect(await lines()).toBe(1);
  });
});

describe("the limits", () => {
  it("allow exactly the amount of a transaction and of 24 hours, and not a unit more", async () => {
    const limits = { per_transaction_max: "1000", per_day_max: "1500" };
    let signer = await openSigner(limits);
    await expect(signer.sign(pay(1000.000001, 0))).rejects.toThrow("per_transaction_max");
    await signer.sign(pay(1000, 0));
    now = new Date(now.getTime() + DAY_MS / 2);
    signer = await restart(signer, limits);
    const more = signer.sign(pay(500.000001, 1));
    await expect(more).rejects.toMatchObject({ name: "SigningRefused" });
    await expect(more).rejects.toThrow("within 24 hours");
    await signer.sign(pay(500, 1));
    // Counted once per nonce, however often it is signed.
    await signer.sign(pay(500, 1, { max_fee: 9n * GWEI }));
    await expect(signer.sign(pay(0.000001, 2))).rejects.toThrow("within 24 hours");
    now = new Date(now.getTime() + DAY_MS / 2);
    await expect(signer.sign(pay(1000.000001, 2))).rejects.toThrow("per_transaction_max");
    await signer.sign(pay(1000, 2));
    await expect(signer.sign(pay(1, 3))).rejects.toThrow("within 24 hours");
    expect(await lines()).toBe(3);
  });

  it("count what was signed before a clock that was ahead was set back", async () => {
    const signer = await openSigner({ per_transaction_max: "1000", per_day_max: "1500" });
    await signer.sign(pay(1000, 0));
    const before = now;
    now = new Date(now.getTime() + 2 * DAY_MS);
    await signer.sign(pay(400, 1));
    now = before;
    await expect(signer.sign(pay(200, 2))).rejects.toThrow("within 24 hours");
  });

  it("are those of the settings at the start: what was signed before counts", async () => {
    let signer = await openSigner();
    await signer.sign(pay(100, 0));
    signer = await restart(signer, { per_day_max: "100" });
    await expect(signer.sign(pay(1, 1))).rejects.toThrow("within 24 hours");
    // Who asks again may not have received the first answer.
    signer = await restart(signer, { per_transaction_max: "1" });
    expect((await signer.sign(pay(100, 0))).from).toBe(TEST_TREASURY);
    await expect(signer.sign(pay(100, 1))).rejects.toThrow("per_transaction_max");
  });

  it("apply to fees and top-ups too", async () => {
    const signer = await openSigner({ fee_max: "0.000195" });
    await signer.sign(pay(1, 0));
    const dear = pay(1, 0, { max_fee: 3n * GWEI + 1n });
    await expect(signer.sign(dear)).rejects.toThrow("more than fee_max");
    const top_up = (amount: bigint, nonce: number) =>
      signer.sign(pay(0, nonce, { action: { kind: "gas_top_up", ...FIRST_DEPOSIT, amount } }));
    await expect(top_up(5n * 10n ** 17n + 1n, 1)).rejects.toThrow("top_up_max");
    for (const nonce of [1, 2, 3, 4]) await top_up(5n * 10n ** 17n, nonce);
    await expect(top_up(1n, 5)).rejects.toThrow("within 24 hours");
  });
});

describe("what is never signed", () => {
  const key = { kind: "deposit", ...FIRST_DEPOSIT } as const;
  const transferTo = (to: string, contract: string = USDC): SignedAction => ({
    ...{ kind: "token_transfer", contract, to, amount: 1n },
  });
  const OTHER = { ...FIRST_DEPOSIT, address_index: 1 };
  const cases: [string, Partial<SignRequest>, string][] = [
    ["a deposit to anybody but the treasury", { key, action: transferTo(PAYEE) }, "treasury only"],
    ["a token that the file does not have", { action: transferTo(PAYEE, PAYEE) }, "have token"],
    ["a chain that the file does not have", { chain_id: 1 }, "does not have chain 1"],
    ["tokens to nobody", { action: transferTo(`0x${"0".repeat(40)}`) }, "would be lost"],
    ["tokens to their contract", { action: transferTo(USDC) }, "would be lost"],
    [
      "a top-up by a deposit key",
      { key, action: topUp(FIRST_DEPOSIT) },
      "does not sign gas_top_up",
    ],
    ["a top-up of a stranger", { action: topUp(OTHER) }, "The signer's address 1 is"],
    ["a key of another wallet", { key: { ...key, address_index: 1 }, action: CANCEL }, "not 0x98"],
    ["a negative amount", { action: topUp({ ...FIRST_DEPOSIT, amount: -1n }) }, "amount must be"],
    ["a fraction as nonce", { nonce: 0.5 }, "nonce must be a whole number"],
    ["an unknown action", { action: { kind: "call" } as never }, "must have a kind of"],
    ["an unknown field", { data: "0x" } as never, "unknown field data"],
    ["an address in mixed case", { action: transferTo(PAYEE.replace("b0", "B0")) }, "lower case"],
    ["more gas than a block has", { gas: 10_000_001n, max_fee: 1n, priority_fee: 0n }, "The gas"],
    ["a tip above the fee", { priority_fee: 4n * GWEI }, "priority fee"],
  ];
  function topUp(change: object): SignedAction {
    return { kind: "gas_top_up", ...FIRST_DEPOSIT, amount: 1n, ...change };
  }

  it("is refused with a reason, and leaves no line in the journal", async () => {
    const signer = await openSigner();
    for (const [title, change, reason] of cases) {
      const refused = await signer.sign(pay(1, 0, change)).catch((error: Error) => error);
      expect(refused, title).toMatchObject({ name: "SigningRefused" });
      expect((refused as Error).message, title).toContain(reason);
    }
    expect(await lines()).toBe(0);
  });
});

describe("the journal", () => {
  it("has one signer at a time", async () => {
    const signer = await openSigner();
    await expect(openSigner()).rejects.toThrow("is used by another signer");
    await restart(signer);
  });

  it("that another process writes stops the signer before anything is signed", async () => {
    const signer = await openSigner();
    await signer.sign(pay(1, 0));
    const line = await readFile(journal, "utf8");
    await appendFile(journal, line);
    await expect(signer.sign(pay(1, 1))).rejects.toMatchObject({ name: "SignerUnavailable" });
    await expect(signer.sign(pay(1, 2))).rejects.toThrow("restart the signer");
    // What was signed before can still be had.
    await signer.sign(pay(1, 0));
    const again = await restart(signer);
    await expect(again.sign(pay(2, 1))).rejects.toThrow("already used for another action");
  });

  it("loses half a line of a crash, whose signature never left, and nothing else", async () => {
    let signer = await openSigner();
    await signer.sign(pay(1, 0));
    const { size } = await stat(journal);
    await signer.sign(pay(1, 1));
    const whole = await stat(journal);
    for (const torn of [size + 1, whole.size - 1]) {
      open_signers.splice(open_signers.indexOf(signer), 1);
      await signer.close();
      await truncate(journal, torn);
      signer = await openSigner();
      expect((await stat(journal)).size).toBe(size);
      await expect(signer.sign(pay(2, 0))).rejects.toThrow("already used for another action");
      await signer.sign(pay(2, 1));
    }
  });

  it("that was edited, is of another key, or is missing stops the start", async () => {
    const signer = await openSigner();
    await signer.sign(pay(1, 0));
    await signer.sign(pay(1, 1));
    open_signers.pop();
    await signer.close();
    const text = await readFile(journal, "utf8");
    await writeFile(journal, text.replace('"nonce":1', '"nonce":2'));
    await expect(openSigner()).rejects.toThrow("line 2 was not written by this signer");
    await writeFile(journal, "");
    journal = join(files.directory, "none.journal");
    await expect(openSigner()).rejects.toThrow("none.journal does not exist.");
  });
});

describe("the keystore", () => {
  it("opens with its passphrase only, shows no key, and is never overwritten", async () => {
    const seed = seedOf(TEST_WORDS)!;
    const text = await readFile(files.keystore, "utf8");
    expect(text).not.toContain(Buffer.from(seed).toString("hex").slice(0, 16));
    expect((await stat(files.keystore)).mode & 0o777).toBe(0o600);
    expect((await openKeystore(files.keystore, TEST_PASSPHRASE)).treasury).toBe(TEST_TREASURY);
    const wrong = openKeystore(files.keystore, `${TEST_PASSPHRASE} `);
    await expect(wrong).rejects.toThrow("the passphrase is wrong, or the file was changed");
    const again = createKeystore(files.keystore, seed, TEST_PASSPHRASE);
    await expect(again).rejects.toMatchObject({ code: "EEXIST" });
    const short = createKeystore(join(files.directory, "short"), seed, "eleven char");
    await expect(short).rejects.toThrow("at least 12 characters");
  });

  it("that was changed does not open, not even in what it says openly", async () => {
    const path = join(files.directory, "changed.json");
    await copyFile(files.keystore, path);
    const text = await readFile(path, "utf8");
    await writeFile(path, text.replace(TEST_TREASURY, PAYEE));
    await expect(openKeystore(path, TEST_PASSPHRASE)).rejects.toThrow("the file was changed");
    await writeFile(path, text.replace("131072", "1024"));
    await expect(openKeystore(path, TEST_PASSPHRASE)).rejects.toThrow("is not a keystore");
    await writeFile(path, "{");
    await expect(openKeystore(path, TEST_PASSPHRASE)).rejects.toThrow("cannot be read (no JSON)");
  });
});

describe("the signer's file", () => {
  it("is refused with the place of the error", () => {
    const token = { decimals: 6, per_transaction_max: "1", per_day_max: "1" };
    const chain = { fee_max: "1", top_up_max: "1", top_up_per_day_max: "1", tokens: {} };
    const load =
      (chains: unknown, rest: object = {}) =>
      () =>
        loadSigner(
          "/signer.json",
          JSON.stringify({ keystore: "k", journal: "j", chains, ...rest }),
        );
    expect(load({ polygon: chain })).toThrow("chains.polygon must be named by its chain_id");
    expect(load({ 1: { ...chain, fee_max: 1 } })).toThrow("chains.1.fee_max must be text");
    expect(load({ 1: { ...chain, tokens: { "0x1": token } } })).toThrow("tokens.0x1 is not the");
    const many = { ...token, per_day_max: "0.0000001" };
    expect(load({ 1: { ...chain, tokens: { [USDC]: many } } })).toThrow("at most 6 decimals");
    expect(load({}, { journal: "" })).toThrow("journal must name a file");
    expect(load({}, { limit: 1 })).toThrow("unknown key limit");
    const { tokens } = load({ 1: { ...chain, tokens: { [USDC]: token } } })().chains.get(1)!;
    expect(tokens.get(USDC)).toEqual({ per_transaction_max: 10n ** 6n, per_day_max: 10n ** 6n });
  });
});
