import { ed25519 } from "@noble/curves/ed25519.js";
import { CHAINS, type Chain } from "../../catalogue/chains.ts";
import { newId } from "../../platform/ids.ts";
import { digestRecipient, type SandboxDeps } from "../sandbox-digests.ts";
import { sha256, toBase58, toBase58Check } from "./base58.ts";
import { canonicalAddress, OWN_ADDRESS } from "./check-address.ts";
import type { ChainPort } from "./port.ts";
import {
  existsDepositAddress,
  existsSandboxTransfer,
  findSandboxPayment,
  findSandboxSend,
  insertSandboxSend,
  insertSandboxTransfer,
  listSandboxTransfers,
  listWalletTransfers,
} from "./sandbox-store.ts";
import { sandboxTxId } from "./tx-id.ts";

/**
 * A simulated chain. An announced transfer arrives at once with the exact amount, unless a transfer
 * to that address was scripted (POST /sandbox/crypto_deposits).
 */
export function createSandboxChain({ database: session, index_key }: SandboxDeps): ChainPort {
  return {
    chains: CHAINS,
    simulated: CHAINS,
    sending: CHAINS,
    issueAddresses: async (_session, chains, now) =>
      chains.map((chain) => writeAddress(chain, sha256("sandbox address", chain, newId(now)))),
    announce: async (expected, now) => {
      const { chain, address } = expected;
      const is_scripted = await existsSandboxTransfer(session, chain, address);
      if (!is_scripted)
        await insertSandboxTransfer(session, {
          ...expected,
          sender: sandboxSender(chain, address),
          mined_at: now,
        });
    },
    listTransfers: async (chain, cursor, limit) => {
      // A cursor of another form is that of a real chain, which was simulated before and is now.
      const after = /^\d+$/.test(cursor ?? "") ? BigInt(cursor!) : 0n;
      const transfers = await listSandboxTransfers(session, chain, after, limit);
      const last = transfers.at(-1);
      return { transfers, cursor: last ? String(last.number) : cursor };
    },
    finalUntil: async (_chain, now) => now,
    findStatus: async (chain, expected) => {
      const { is_there, pays } = await findSandboxPayment(session, { ...expected, chain });
      if (!is_there) return "unknown";
      return pays ? "final" : "failed";
    },
    readTransaction: async (chain, tx_id) => {
      const rows = await listWalletTransfers(session, chain, tx_id);
      const [first] = rows;
      if (!first) return { status: "unknown" };
      const transfers = rows.map(({ mined_at: _, ...transfer }) => transfer);
      const { mined_at } = first;
      return { status: "final", mined_at, mined_before: mined_at, transfers };
    },
    // It has no contracts.
    findObjection: async (chain, address) => {
      const is_own = await existsDepositAddress(session, canonicalAddress(chain, address));
      return is_own ? OWN_ADDRESS : null;
    },
    findSend: (_chain, key) => findSandboxSend(session, key),
    send: async ({ address, ...request }) => {
      const { chain, key } = request;
      const tx_id = sandboxTxId(chain, key);
      const recipient = digestRecipient(index_key, key, address);
      const is_same = await insertSandboxSend(session, { ...request, tx_id, recipient });
      if (!is_same) throw new Error(`the key ${key} was used for another transfer`);
      return { tx_id };
    },
  };
}

/** The sender of a sandbox transfer that names none. */
export function sandboxSender(chain: Chain, address: string): string {
  return writeAddress(chain, sha256("sandbox sender", chain, address));
}

// Nobody is meant to sign with these: they only have the form of addresses. On solana that is a
// public key, which about half of all hashes are not.
function writeAddress(chain: Chain, hash: Buffer): string {
  if (chain === "solana") return toBase58(Buffer.from(ed25519.getPublicKey(hash)));
  if (chain === "tron")
    return toBase58Check(Buffer.concat([Buffer.of(0x41), hash.subarray(0, 20)]));
  return `0x${hash.subarray(0, 20).toString("hex")}`;
}
