import { ed25519 } from "@noble/curves/ed25519.js";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { keccak_256 } from "@noble/hashes/sha3.js";
import type { Chain } from "../../catalogue/chains.ts";
import { fromBase58, toBase58Check } from "./base58.ts";

const TRON_PREFIX = 0x41;
const SIGNATURE_BYTES = 64;
const RECOVERABLE_BYTES = 65;

/** The prefix that a chain's wallets add to a text before signing (EIP-191, TIP-191). */
const PREAMBLES = { evm: "\x19Ethereum Signed Message:\n", tron: "\x19TRON Signed Message:\n" };

/** Whether the text has the form of a signature of this chain; does not check the signer. */
export function isSignature(chain: Chain, message: string, signature: string): boolean {
  if (chain === "solana") return fromBase58(signature)?.length === SIGNATURE_BYTES;
  return recoverSigner(chain, message, signature) !== null;
}

/**
 * Tells whether an address, in its stored form, signed the message. A third of a millisecond, once
 * for a signature and not for each address (solana: for each different address).
 */
export function signerCheck(
  chain: Chain,
  message: string,
  signature: string,
): (address: string) => boolean {
  if (chain !== "solana") {
    const signer = recoverSigner(chain, message, signature);
    return (address) => signer === address;
  }
  const known = new Map<string, boolean>();
  return (address) => {
    const is_signer = known.get(address) ?? isSignedOnSolana(address, message, signature);
    known.set(address, is_signer);
    return is_signer;
  };
}

function isSignedOnSolana(address: string, message: string, signature: string): boolean {
  const bytes = fromBase58(signature);
  const public_key = fromBase58(address);
  if (bytes?.length !== SIGNATURE_BYTES || public_key?.length !== 32) return false;
  try {
    // Strict: of the several rules for unusual keys, the one by which a signature has one signer.
    return ed25519.verify(bytes, Buffer.from(message), public_key, { zip215: false });
  } catch {
    // The library throws for a key that is not a point on the curve.
    return false;
  }
}

/** The address whose key created the signature; null if no key can have created it. */
function recoverSigner(chain: Chain, message: string, signature: string): string | null {
  const hex = /^(?:0x)?([0-9a-fA-F]{130})$/.exec(signature)?.[1];
  if (hex === undefined) return null;
  const bytes = Buffer.from(hex, "hex");
  // Wallets write the recovery bit as 0 and 1, or as 27 and 28.
  const last = bytes[RECOVERABLE_BYTES - 1]!;
  const recovery = last >= 27 ? last - 27 : last;
  if (recovery > 1) return null;
  const text = Buffer.from(message);
  const preamble = chain === "tron" ? PREAMBLES.tron : PREAMBLES.evm;
  const hash = keccak_256(Buffer.concat([Buffer.from(`${preamble}${text.length}`), text]));
  try {
    const recovered = Buffer.concat([Buffer.of(recovery), bytes.subarray(0, SIGNATURE_BYTES)]);
    const compressed = secp256k1.recoverPublicKey(recovered, hash, { prehash: false });
    const point = secp256k1.Point.fromBytes(compressed).toBytes(false);
    const tail = Buffer.from(keccak_256(point.subarray(1))).subarray(-20);
    if (chain === "tron") return toBase58Check(Buffer.concat([Buffer.of(TRON_PREFIX), tail]));
    return `0x${tail.toString("hex")}`;
  } catch {
    // The library throws for numbers that are not a signature.
    return null;
  }
}
