import { describe, expect, it } from "vitest";
import { openWallet, pathOf, xpubOf } from "../../../src/partners/chain/evm/wallet.ts";
import { createWords, seedOf } from "../../../src/partners/chain/evm/words.ts";
import { TEST_WORDS, TEST_XPUB } from "../../harness/evm/chains-file.ts";

/** Those of the accounts of development nodes. */
const NODE_WORDS = `${"test ".repeat(11)}junk`;

describe("the wallet", () => {
  it("derives the addresses that every other wallet derives from the same words", () => {
    // Published by the development tools that use these words.
    const known = {
      0: "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266",
      1: "0x70997970c51812dc3a010c7d01b50e0d17dc79c8",
      9: "0xa0ee7a142d267c1f36714e4a8f75612f20a79720",
    };
    const wallet = openWallet(xpubOf(seedOf(NODE_WORDS)!));
    for (const [index, address] of Object.entries(known)) {
      expect(wallet.addressAt(Number(index))).toBe(address);
    }
    expect(pathOf(9)).toBe("m/44'/60'/0'/0/9");
    expect(xpubOf(seedOf(TEST_WORDS)!)).toBe(TEST_XPUB);
    expect(openWallet(TEST_XPUB).addressAt(0)).toBe("0x9858effd232b4033e47d90003d41ec34ecaeda94");
  });

  it("new words are 24, different each time, and give the same key when typed again", () => {
    const { words, seed } = createWords();
    expect(words).toHaveLength(24);
    expect(createWords().words).not.toEqual(words);
    expect(seedOf(` ${words.join("\n").toUpperCase()} `)).toEqual(seed);
    expect(seedOf([...words.slice(1), words[0]].join(" "))).toBeNull();
  });

  it("refuses a private key, another depth and a typo, without repeating the key", () => {
    const xprv =
      "xprv9s21ZrQH143K3QTDL4LXw2F7HEK3wJUD2nW2nRk4stbPy6cq3jPPqjiChkVvvNKmPGJxWUtg6LnF5kejMRNNU3" +
      "TGtRBeJgk33yuGBxrMPHi";
    expect(() => openWallet(xprv)).toThrow("is a private key; it must not be on this machine");
    const master =
      "xpub661MyMwAqRbcFtXgS5sYJABqqG9YLmC4Q1Rdap9gSE8NqtwybGhePY2gZ29ESFjqJoCu1Rupje8YtGqsefD265" +
      "TMg7usUDFdp6W1EGMcet8";
    expect(() => openWallet(master)).toThrow("must be the key of m/44'/60'/0' (depth 3, not 0)");
    const typo = `${TEST_XPUB.slice(0, -1)}u`;
    expect(() => openWallet(typo)).toThrow("is not an extended public key");
  });

  it("has no address outside its 31 bits", () => {
    const wallet = openWallet(TEST_XPUB);
    expect(() => wallet.addressAt(2 ** 31)).toThrow(RangeError);
    expect(() => wallet.addressAt(-1)).toThrow(RangeError);
  });
});
