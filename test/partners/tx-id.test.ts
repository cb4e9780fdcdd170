import { describe, expect, it } from "vitest";
import { CHAINS } from "../../src/catalogue/chains.ts";
import { toBase58 } from "../../src/partners/chain/base58.ts";
import { checkTxId, sandboxTxId } from "../../src/partners/chain/tx-id.ts";

const DIGITS = "0123456789abcdef".repeat(4);
const SIGNATURE = toBase58(Buffer.alloc(64, 7));

describe("the id of a transaction", () => {
  it.each([DIGITS, `0x${DIGITS}`, `0X${DIGITS.toUpperCase()}`])(
    "%s has one form on an EVM chain and one on tron",
    (text) => {
      expect(checkTxId("ethereum", text)).toEqual({ value: `0x${DIGITS}` });
      expect(checkTxId("tron", text)).toEqual({ value: DIGITS });
    },
  );

  it("keeps its case on solana, where case is significant", () => {
    expect(checkTxId("solana", SIGNATURE)).toEqual({ value: SIGNATURE });
    expect(checkTxId("solana", toBase58(Buffer.alloc(64)))).toEqual({ value: "1".repeat(64) });
  });

  it.each([
    ["polygon", "hello"],
    ["polygon", DIGITS.slice(1)],
    ["polygon", `${DIGITS}0`],
    ["polygon", `0x0x${DIGITS}`],
    ["polygon", SIGNATURE],
    ["tron", `${DIGITS.slice(1)}g`],
    ["solana", DIGITS],
    ["solana", toBase58(Buffer.alloc(63, 7))],
    ["solana", toBase58(Buffer.alloc(65, 7))],
    ["solana", `${SIGNATURE}0`],
  ] as const)("is not one of %s: %s", (chain, text) => {
    expect(checkTxId(chain, text)).toHaveProperty("reason");
  });

  it.each(CHAINS)("invented by the sandbox has the form of %s", (chain) => {
    const tx_id = sandboxTxId(chain, "a seed");
    expect(checkTxId(chain, tx_id)).toEqual({ value: tx_id });
    expect(sandboxTxId(chain, "another seed")).not.toBe(tx_id);
  });
});
