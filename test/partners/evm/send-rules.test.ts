import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { RpcFailure, RpcRefused } from "../../../src/partners/chain/evm/json-rpc.ts";
import { loadChains } from "../../../src/partners/chain/evm/load-chains.ts";
import { openRpc } from "../../../src/partners/chain/evm/rpc.ts";
import { clearestOf, readAnswer } from "../../../src/partners/chain/evm/send/answers.ts";
import { bumpFees, firstFees } from "../../../src/partners/chain/evm/send/fees.ts";
import { chainsFile, TEST_XPUB } from "../../harness/evm/chains-file.ts";
import { TEST_TREASURY } from "../../harness/evm/signer.ts";

describe("what a node says to the bytes of a transaction", () => {
  it.each([
    ["already known", "accepted"],
    ["AlreadyKnown", "accepted"],
    ["Known transaction: 0x12", "accepted"],
    ["already imported", "accepted"],
    ["nonce too low: next nonce 5, tx nonce 4", "nonce_too_low"],
    ["Nonce too low. Expected nonce to be 5 but got 4.", "nonce_too_low"],
    ["Nonce too high. Expected nonce to be 5 but got 7.", "nonce_too_high"],
    ["Transaction nonce is too far in the future", "nonce_too_high"],
    ["transaction nonce exceeds next nonce", "nonce_too_high"],
    ["replacement transaction underpriced", "underpriced"],
    ["ReplacementNotAllowed", "underpriced"],
    ["FeeTooLowToCompete", "underpriced"],
    ["transaction underpriced: tip needed 25", "underpriced"],
    ["max fee per gas less than block base fee: address 0x1", "underpriced"],
    ["insufficient funds for gas * price + value", "no_funds"],
    ["Sender doesn't have enough funds to send tx.", "no_funds"],
    ["intrinsic gas too low", "unknown"],
    ["internal error", "unknown"],
  ])("%s means %s", (message, answer) => {
    expect(readAnswer(new RpcRefused(`node: failed (-32000: ${message})`))).toBe(answer);
  });

  it("no answer means nothing, whatever the message", () => {
    expect(readAnswer(new RpcFailure("HTTP 503: already known"))).toBe("unknown");
  });

  it("of two nodes, one that has it is enough", () => {
    expect(clearestOf(["unknown", "accepted"])).toBe("accepted");
    expect(clearestOf(["nonce_too_low", "underpriced"])).toBe("underpriced");
  });
});

describe("an error page instead of an answer", () => {
  it.each([
    [200, "RpcFailure", "no JSON"],
    [429, "RpcFailure", "HTTP 429"],
    [502, "RpcFailure", "HTTP 502"],
    // The size of the question may be the reason.
    [413, "RpcRefused", "HTTP 413"],
  ])("with the status %i says nothing about what was asked", async (status, name, reason) => {
    const server = createServer((_, response) => {
      response.writeHead(status, { "content-type": "text/html" });
      response.end("<html><body><h1>Busy</h1></body></html>");
    });
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    const { port } = server.address() as AddressInfo;
    const rpc = openRpc(`http://127.0.0.1:${port}`, 5_000);
    const asked = Promise.allSettled([rpc.chainId(), rpc.block("latest")]);
    for (const one of await asked) {
      const message = expect.stringContaining(reason);
      expect(one).toMatchObject({ status: "rejected", reason: { name, message } });
    }
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  });
});

describe("fees", () => {
  const settings = {
    ...{ max_fee: 1_000n, priority_fee_min: 0n, gas_floor: 0n },
    ...{ bump_after_seconds: 180, in_flight_max: 8 },
  };

  it("of a first attempt allow for twice the base fee, up to the limit; above it, it waits", () => {
    const market = { base_fee: 100n, priority_fee: 10n };
    expect(firstFees(market, settings)).toEqual({ max_fee: 210n, priority_fee: 10n });
    expect(firstFees({ ...market, base_fee: 800n }, settings)?.max_fee).toBe(1_000n);
    expect(firstFees({ ...market, base_fee: 991n }, settings)).toBeNull();
  });

  it.each([
    [100n, 10n],
    [400n, 90n],
    [1n, 0n],
  ])("of a replacement are a fifth above the last and the market: %i %i", (base_fee, tip) => {
    const last = { max_fee: 210n, priority_fee: 10n };
    const market = { base_fee, priority_fee: tip };
    const fees = bumpFees(last, market, { ...settings, max_fee: 10_000n })!;
    for (const name of ["max_fee", "priority_fee"] as const) {
      expect(fees[name] * 100n).toBeGreaterThanOrEqual(last[name] * 120n);
    }
    expect(fees.max_fee).toBeGreaterThan(2n * base_fee + tip);
    expect(fees.priority_fee).toBeLessThanOrEqual(fees.max_fee);
  });

  it("never exceed the limit: where it leaves less than a tenth, nothing is replaced", () => {
    const market = { base_fee: 900n, priority_fee: 10n };
    const fees = bumpFees({ max_fee: 900n, priority_fee: 10n }, market, settings)!;
    expect(fees.max_fee).toBe(1_000n);
    expect(bumpFees({ max_fee: 950n, priority_fee: 10n }, market, settings)).toBeNull();
    expect(bumpFees({ max_fee: 1_000n, priority_fee: 10n }, market, settings)).toBeNull();
  });
});

describe("the chains file", () => {
  const token = { address: "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359", decimals: 6 };
  const read = (sending: unknown, treasury: string | undefined = TEST_TREASURY) => {
    const entry = { rpc_urls: ["https://rpc.example"], tokens: { usdc: token }, sending };
    return loadChains(chainsFile({ polygon: entry }, TEST_XPUB, treasury));
  };

  it("says on which chains is sent, with defaults", () => {
    const { chains, treasury } = read({ max_fee_gwei: "0.5", gas_floor: "2.25" });
    expect(treasury).toBe(TEST_TREASURY);
    expect(chains[0]!.sending).toEqual({
      ...{ max_fee: 500_000_000n, priority_fee_min: 0n, gas_floor: 2_250_000_000_000_000_000n },
      ...{ bump_after_seconds: 180, in_flight_max: 8 },
    });
    expect(read(undefined).chains[0]!.sending).toBeNull();
  });

  it.each([
    [{ max_fee_gwei: 5 }, /sending\.max_fee_gwei must be an amount in quotes such as "500"/],
    [{ max_fee_gwei: "0" }, /sending\.max_fee_gwei must be more than 0/],
    [{ gas_floor: "-1" }, /sending\.gas_floor must be an amount in quotes/],
    [{ in_flight_max: 17 }, /sending\.in_flight_max must be a whole number from 1 to 16/],
    [{ tip: "1" }, /sending has the unknown key tip/],
  ])("is refused with one sentence: %j", (sending, message) => {
    expect(() => read(sending)).toThrow(message);
  });

  it("needs a treasury to send from", () => {
    const entry = { rpc_urls: ["https://rpc.example"], tokens: { usdc: token }, sending: {} };
    expect(() => loadChains(chainsFile({ polygon: entry }))).toThrow(
      /treasury must be the address that sends on polygon/,
    );
  });
});
