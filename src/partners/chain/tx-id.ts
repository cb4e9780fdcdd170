import type { Chain } from "../../catalogue/chains.ts";
import { lowerAscii } from "../../catalogue/text.ts";
import type { Parsed } from "../../platform/problems.ts";
import { fromBase58, sha256, toBase58 } from "./base58.ts";

const HASH = /^(?:0[xX])?([0-9a-fA-F]{64})$/;
const SOLANA_BYTES = 64;

/**
 * The id in the form that is stored and compared.
 * EVM: 0x and 64 lower-case digits; tron: the digits alone; solana: base58 of 64 bytes.
 */
export function checkTxId(chain: Chain, text: string): Parsed<string> {
  if (chain === "solana") {
    if (fromBase58(text)?.length === SOLANA_BYTES) return { value: text };
    return { reason: "Send the signature of the transaction: 64 bytes in base58." };
  }
  const digits = HASH.exec(text)?.[1];
  if (digits === undefined) {
    return { reason: "Send the hash of the transaction: 64 hexadecimal digits." };
  }
  return { value: writeHash(chain, lowerAscii(digits)) };
}

/** An invented id in the chain's format, always the same for the same seed. */
export function sandboxTxId(chain: Chain, seed: string): string {
  const hash = sha256("sandbox transaction", seed);
  if (chain === "solana") return toBase58(Buffer.concat([hash, sha256(hash)]));
  return writeHash(chain, hash.toString("hex"));
}

function writeHash(chain: Chain, digits: string): string {
  return chain === "tron" ? digits : `0x${digits}`;
}
