import { ed25519 } from "@noble/curves/ed25519.js";
import { keccak_256 } from "@noble/hashes/sha3.js";
import type { Chain } from "../../catalogue/chains.ts";
import type { Parsed } from "../../platform/problems.ts";
import { fromBase58, fromBase58Check } from "./base58.ts";

/** All zeros: on an EVM chain, on tron, and solana's system program. */
const BURNED = new Set([
  `0x${"0".repeat(40)}`,
  "t9yd14nj9j7xab4dbgeix9h8unkkhxuwwb",
  "1".repeat(32),
]);

export const OWN_ADDRESS =
  "This address belongs to this service, so the tokens would not reach anybody. Send the address " +
  "of the payee's wallet.";

const SOLANA_BYTES = 32;
const TRON_BYTES = 21;
const TRON_PREFIX = 0x41;

/**
 * Checks an address as far as possible without the chain: coins sent to a mistyped one are lost.
 */
export function checkAddress(chain: Chain, text: string): Parsed<string> {
  const address = text.trim();
  if (BURNED.has(address.toLowerCase())) {
    return {
      reason: "Nobody controls this address, so tokens sent to it are lost; send another address.",
    };
  }
  if (chain === "solana") return checkSolana(address);
  if (chain === "tron") return checkTron(address);
  return checkEvm(address);
}

/** As it is stored and compared: the letters of an EVM address are a checksum, no more. */
export function canonicalAddress(chain: Chain, address: string): string {
  const checked = checkAddress(chain, address);
  return "value" in checked ? checked.value : address;
}

function checkEvm(address: string): Parsed<string> {
  if (!/^0x[0-9a-fA-F]{40}$/.test(address)) {
    return { reason: "Send 0x and 40 hexadecimal digits." };
  }
  const hex = address.slice(2);
  const lower = hex.toLowerCase();
  // Only mixed case contains a checksum (EIP-55).
  if (hex === lower || hex === hex.toUpperCase()) return { value: `0x${lower}` };
  const hash = Buffer.from(keccak_256(Buffer.from(lower))).toString("hex");
  const checksummed = [...lower]
    .map((digit, at) => (Number.parseInt(hash[at]!, 16) >= 8 ? digit.toUpperCase() : digit))
    .join("");
  if (hex !== checksummed) {
    return {
      reason: "The EIP-55 checksum (upper and lower case) does not match; check it for a typo.",
    };
  }
  return { value: `0x${lower}` };
}

function checkTron(address: string): Parsed<string> {
  const bytes = fromBase58Check(address);
  if (bytes?.length !== TRON_BYTES || bytes[0] !== TRON_PREFIX) {
    return { reason: "This is not a tron address; check it for a typo." };
  }
  return { value: address };
}

/** A wallet's address is a point on the curve; about half of all typos are not. */
function checkSolana(address: string): Parsed<string> {
  const bytes = fromBase58(address);
  // By RFC 8032, not ZIP 215, which also accepts encodings that no wallet produces.
  if (bytes?.length !== SOLANA_BYTES || !ed25519.utils.isValidPublicKey(bytes, false)) {
    return { reason: "This is not the address of a solana wallet; check it for a typo." };
  }
  return { value: address };
}
