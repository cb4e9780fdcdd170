import { generateKeyPairSync, sign } from "node:crypto";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { keccak_256 } from "@noble/hashes/sha3.js";
import { describe, expect, it } from "vitest";
import { toBase58, toBase58Check } from "../../src/partners/chain/base58.ts";
import { isSignature, signerCheck } from "../../src/partners/chain/check-signature.ts";

// From web3.js's documentation of `accounts.sign`.
const MESSAGE = "Some data";
const SIGNER = "0x2c7536e3605d9c16a7a3d7b1898e529396a65c23";
const SIGNATURE =
  "0xb91467e570a6466aa9e9876cbcd013baba02900b8979d43fe208a4a4f339f5fd" +
  "6007e74cd82e037b800186422fc2da167c747ef045e5d18a5f5d4300f8e1a0291c";

describe("signatures of EVM chains (EIP-191)", () => {
  it("a wallet's signature belongs to its own address only", () => {
    expect(signerCheck("polygon", MESSAGE, SIGNATURE)(SIGNER)).toBe(true);
    expect(signerCheck("polygon", MESSAGE, SIGNATURE)(`0x${"1".repeat(40)}`)).toBe(false);
    expect(signerCheck("polygon", `${MESSAGE} `, SIGNATURE)(SIGNER)).toBe(false);
    expect(isSignature("polygon", MESSAGE, SIGNATURE)).toBe(true);
  });

  it("the signer is recovered once for a signature, not for each address", () => {
    const msOf = (work: () => void) => {
      const begun_ms = performance.now();
      work();
      return performance.now() - begun_ms;
    };
    const times = Array.from({ length: 20 }, () => 0);
    const recovered_ms = msOf(() => times.map(() => signerCheck("polygon", MESSAGE, SIGNATURE)));
    const isSigner = signerCheck("polygon", MESSAGE, SIGNATURE);
    const checked_ms = msOf(() => {
      for (let at = 0; at < 5_000; at += 1) isSigner(SIGNER);
    });
    expect(checked_ms).toBeLessThan(recovered_ms);
  });

  it("the recovery bit may be written as 0 and 1 or as 27 and 28", () => {
    const bit = Number.parseInt(SIGNATURE.slice(-2), 16) - 27;
    const plain = `${SIGNATURE.slice(0, -2)}0${bit}`;
    expect(signerCheck("base", MESSAGE, plain)(SIGNER)).toBe(true);
  });

  it.each([
    ["no text", ""],
    ["too short", SIGNATURE.slice(0, -2)],
    ["zeros", `0x${"0".repeat(128)}1b`],
    ["a recovery bit that does not exist", `${SIGNATURE.slice(0, -2)}05`],
    ["numbers beyond the curve", `0x${"f".repeat(128)}1b`],
    ["no hexadecimal digits", `0x${"z".repeat(130)}`],
  ])("%s is not a signature", (_, text) => {
    expect(isSignature("ethereum", MESSAGE, text)).toBe(false);
    expect(signerCheck("ethereum", MESSAGE, text)(SIGNER)).toBe(false);
  });
});

describe("signatures of tron (TIP-191)", () => {
  // The address of the private key 1 is widely published, as are its 20 bytes on tron.
  const key = Buffer.from(`${"0".repeat(63)}1`, "hex");
  const hash = Buffer.from("7e5f4552091a69125d5dfcb7b8c2659029395bdf", "hex");
  const address = toBase58Check(Buffer.concat([Buffer.of(0x41), hash]));

  it("prove the tron address, with tron's own prefix only", () => {
    const signed = (preamble: string) => {
      const text = `\x19${preamble} Signed Message:\n${MESSAGE.length}${MESSAGE}`;
      const digest = keccak_256(Buffer.from(text));
      const [recovery, ...rest] = secp256k1.sign(digest, key, {
        prehash: false,
        format: "recovered",
      });
      return Buffer.from([...rest, recovery! + 27]).toString("hex");
    };
    expect(signerCheck("tron", MESSAGE, signed("TRON"))(address)).toBe(true);
    expect(signerCheck("tron", MESSAGE, signed("Ethereum"))(address)).toBe(false);
    expect(signerCheck("polygon", MESSAGE, signed("TRON"))(`0x${hash.toString("hex")}`)).toBe(
      false,
    );
  });
});

describe("signatures of solana (ed25519)", () => {
  // Signed with Node's own implementation.
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const address = toBase58(publicKey.export({ format: "der", type: "spki" }).subarray(-32));
  const signature = toBase58(sign(null, Buffer.from(MESSAGE), privateKey));

  it("are checked against the address, which is the public key", () => {
    expect(isSignature("solana", MESSAGE, signature)).toBe(true);
    expect(signerCheck("solana", MESSAGE, signature)(address)).toBe(true);
    expect(signerCheck("solana", `${MESSAGE}!`, signature)(address)).toBe(false);
    const other = generateKeyPairSync("ed25519").publicKey;
    const other_address = toBase58(other.export({ format: "der", type: "spki" }).subarray(-32));
    expect(signerCheck("solana", MESSAGE, signature)(other_address)).toBe(false);
  });

  it.each(["", "not base58 0OIl", "1111"])("%j is not a signature", (text) => {
    expect(isSignature("solana", MESSAGE, text)).toBe(false);
    expect(signerCheck("solana", MESSAGE, text)(address)).toBe(false);
    expect(signerCheck("solana", MESSAGE, signature)("1111")).toBe(false);
  });
});
