import { timingSafeEqual } from "node:crypto";
import { keyedHash } from "../../../platform/encryption/cipher.ts";
import type { StoredTransfer } from "./watch-store.ts";

/** The first byte: which key and which columns. */
const MAC_VERSION = Buffer.from([1]);

/**
 * Made by the process that read the transfer from the nodes, with a key that the database never has
 * in clear: a row that was written or changed by SQL is not credited.
 */
export function transferMac(index_key: Buffer, chain_id: number, transfer: StoredTransfer): Buffer {
  const { chain, tx_id, log_index, block_number, block_hash, address } = transfer;
  const { sender, token, amount, mined_at, finding } = transfer;
  const facts = [
    ...[chain_id, chain, tx_id, log_index, block_number, block_hash, address, sender, token],
    ...[amount, mined_at.toISOString(), finding ?? ""],
  ];
  return Buffer.concat([MAC_VERSION, keyedHash(index_key, "evm transfer", ...facts.map(String))]);
}

export function hasTransferMac(
  index_key: Buffer,
  chain_id: number,
  { mac, ...transfer }: StoredTransfer & { mac: Buffer | null },
): boolean {
  const expected = transferMac(index_key, chain_id, transfer);
  return mac !== null && mac.length === expected.length && timingSafeEqual(mac, expected);
}
