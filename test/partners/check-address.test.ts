import { generateKeyPairSync, randomBytes } from "node:crypto";
import { keccak_256 } from "@noble/hashes/sha3.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CHAINS } from "../../src/catalogue/chains.ts";
import { fromBase58, toBase58, toBase58Check } from "../../src/partners/chain/base58.ts";
import { checkAddress } from "../../src/partners/chain/check-address.ts";
import { sandboxSender } from "../../src/partners/chain/sandbox.ts";

/** From the text of EIP-55. */
const EIP_55 = [
  "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
  "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
  "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB",
  "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
];
/** The contracts of known tokens, and the address of all zeros except its prefix. */
const TRON = ["TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t", "TEkxiTehnzSmSe2XqrBj4w32RUN966rdz8"];
/** The public keys of RFC 8032, section 7.1, and the mints of known tokens. */
const RFC_8032 = [
  "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
  "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
  "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
];
const SOLANA = ["EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"];

/** From the text of draft-msporny-base58. */
const BASE58 = [
  ["Hello World!", "2NEpo7TZRRrLZSi2U"],
  [
    "The quick brown fox jumps over the lazy dog.",
    "USm3fpXnKG5EUBx2ndxBDMPVciP5hGey2Jh4NDv6gmeo1LkMeiKrLJUUBk6Z",
  ],
] as const;

describe("base58", () => {
  it.each(BASE58)("encodes %s as the draft does", (text, written) => {
    expect(toBase58(Buffer.from(text))).toBe(written);
    expect(Buffer.from(fromBase58(written)!).toString()).toBe(text);
  });

  it("keeps leading zeros", () => {
    expect(toBase58(Buffer.from("0000287fb4cd", "hex"))).toBe("11233QC4");
    expect(fromBase58("11233QC4")).toEqual(new Uint8Array([0, 0, 0x28, 0x7f, 0xb4, 0xcd]));
  });

  it("decodes whatever was encoded, and refuses other letters or a very long text", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 64 }), (bytes) => {
        expect(fromBase58(toBase58(bytes))).toEqual(bytes);
      }),
    );
    for (const text of ["", "0", "O", "l", "I", "a b", "é", "1".repeat(101)]) {
      expect(fromBase58(text)).toBeUndefined();
    }
  });
});

describe("an EVM address", () => {
  it.each(EIP_55)(
    "%s of EIP-55 is accepted, and refused with one letter's case changed",
    (text) => {
      expect(checkAddress("ethereum", text)).toEqual({ value: text.toLowerCase() });
      const at = [...text].findLastIndex((letter) => /[a-f]/i.test(letter));
      const letter = text[at]!;
      const other = letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase();
      const changed = text.slice(0, at) + other + text.slice(at + 1);
      expect(checkAddress("ethereum", changed)).toHaveProperty("reason");
    },
  );

  it("of a random key is accepted in lower, upper and checksummed case only", () => {
    for (let round = 0; round < 200; round += 1) {
      const lower = randomBytes(20).toString("hex");
      const hash = Buffer.from(keccak_256(Buffer.from(lower))).toString("hex");
      const right = [...lower].map((digit, at) =>
        Number.parseInt(hash[at]!, 16) > 7 ? digit.toUpperCase() : digit,
      );
      for (const form of [lower, lower.toUpperCase(), right.join("")]) {
        expect(checkAddress("polygon", `0x${form}`)).toEqual({ value: `0x${lower}` });
      }
    }
  });
});

describe("a tron address", () => {
  it.each(TRON)("%s is accepted, and refused with any one letter exchanged", (text) => {
    expect(checkAddress("tron", text)).toEqual({ value: text });
    for (let at = 0; at < text.length; at += 1) {
      const changed = `${text.slice(0, at)}${text[at] === "2" ? "3" : "2"}${text.slice(at + 1)}`;
      expect(checkAddress("tron", changed)).toHaveProperty("reason");
    }
  });

  it("of random bytes needs tron's prefix and length", () => {
    for (let round = 0; round < 200; round += 1) {
      const body = randomBytes(20);
      const text = toBase58Check(Buffer.concat([Buffer.of(0x41), body]));
      expect(checkAddress("tron", text)).toEqual({ value: text });
      const bitcoin = toBase58Check(Buffer.concat([Buffer.of(0x00), body]));
      const short = toBase58Check(Buffer.concat([Buffer.of(0x41), body.subarray(1)]));
      expect(checkAddress("tron", bitcoin)).toHaveProperty("reason");
      expect(checkAddress("tron", short)).toHaveProperty("reason");
    }
  });
});

describe("a solana address", () => {
  const known = [...RFC_8032.map((hex) => toBase58(Buffer.from(hex, "hex"))), ...SOLANA];
  it.each(known)("%s is accepted", (text) => {
    expect(checkAddress("solana", text)).toEqual({ value: text });
  });

  it("of a random wallet is accepted", () => {
    for (let round = 0; round < 100; round += 1) {
      const { publicKey } = generateKeyPairSync("ed25519");
      const bytes = Buffer.from(publicKey.export({ format: "jwk" }).x!, "base64url");
      const address = toBase58(bytes);
      expect(checkAddress("solana", address)).toEqual({ value: address });
    }
  });

  /** By RFC 8032 §5.1.3: not on the curve, not reduced, and a zero x with the sign set. */
  it.each([
    ["a number that is no point", `02${"00".repeat(31)}`],
    ["a number beyond the field", `f0${"ff".repeat(30)}7f`],
    ["minus zero", `01${"00".repeat(30)}80`],
    ["31 bytes", "58".repeat(31)],
    ["33 bytes", "58".repeat(33)],
  ])("is not %s", (_name, hex) => {
    const text = toBase58(Buffer.from(hex, "hex"));
    expect(checkAddress("solana", text)).toHaveProperty("reason");
  });
});

it.each([
  ["ethereum", `0x${"0".repeat(40)}`],
  ["tron", "T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb"],
  ["solana", "1".repeat(32)],
] as const)("nobody's address on %s is refused", (chain, text) => {
  expect(checkAddress(chain, text)).toHaveProperty("reason");
});

describe("the sender of a sandbox transfer that names none", () => {
  it.each(CHAINS)("has a wallet's address on %s, so that refunds can go there", (chain) => {
    for (let number = 0; number < 20; number += 1) {
      expect(checkAddress(chain, sandboxSender(chain, String(number)))).toHaveProperty("value");
    }
  });
});
