import { fromBase58Check } from "../../chain/base58.ts";

const TRON_PREFIX = 0x41;
const EVM_BYTES = 20;

/**
 * The form in which addresses are compared, on whichever chain: an EVM address may be written in
 * any case, the others mean another address in another case. A Tron address has the bytes of an EVM
 * address, and whoever has the key of one has that of the other.
 */
export function foldWallet(address: string): string {
  const text = address.trim();
  if (/^0x[0-9a-f]{40}$/i.test(text)) return text.toLowerCase();
  const bytes = /^T[1-9A-HJ-NP-Za-km-z]{33}$/.test(text) ? fromBase58Check(text) : undefined;
  if (bytes?.length !== EVM_BYTES + 1 || bytes[0] !== TRON_PREFIX) return text;
  return `0x${Buffer.from(bytes.subarray(1)).toString("hex")}`;
}
