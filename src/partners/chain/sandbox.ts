import type { Chain } from "../../catalogue/chains.ts";
import { CHAINS } from "../../catalogue/chains.ts";
import type { Session } from "../../platform/db/database.ts";
import { sha256, toBase58, toBase58Check } from "./addresses.ts";
import type { ChainPort, ExpectedTransfer, Transfer } from "./port.ts";

/**
 * A chain that we play ourselves. An announced transfer arrives at once and exactly, unless
 * someone has scripted a transfer to that address (POST /sandbox/crypto_deposits).
 */
export function createSandboxChain(session: Session): ChainPort {
  return {
    chains: CHAINS,
    addressFor: sandboxAddress,
    announce: async (expected, now) => {
      const [scripted] = await session.query("select 1 from sandbox_transfers where address = $1", [
        expected.address,
      ]);
      if (!scripted) await insertSandboxTransfer(session, { ...expected, mined_at: now });
    },
    listTransfers: async (chain, cursor, limit) => {
      const rows = await session.query<Transfer & { number: bigint }>(
        `select number, chain, tx_id, log_index, address, token, amount, mined_at
         from sandbox_transfers where chain = $1 and number > $2 order by number limit $3`,
        [chain, cursor ?? "0", limit],
      );
      const last = rows.at(-1);
      return { transfers: rows, cursor: last ? String(last.number) : cursor };
    },
    findStatus: async (chain, tx_id) => {
      const [row] = await session.query(
        "select 1 from sandbox_transfers where chain = $1 and tx_id = $2 limit 1",
        [chain, tx_id],
      );
      return row ? "final" : "unknown";
    },
    send: async ({ key }) => {
      const tx_id = `0x${sha256("sandbox send", key).toString("hex")}`;
      await session.query(
        "insert into sandbox_sends (key, tx_id) values ($1, $2) on conflict do nothing",
        [key, tx_id],
      );
      return { tx_id };
    },
  };
}

/** Lets a transfer happen on the sandbox's chain. The same transaction and address happen once. */
export async function insertSandboxTransfer(
  session: Session,
  transfer: Omit<ExpectedTransfer, "token"> & { token: string; mined_at: Date },
): Promise<void> {
  // One transaction may pay several of our addresses: each transfer has its own log index.
  await session.query(
    `insert into sandbox_transfers (chain, tx_id, log_index, address, token, amount, mined_at)
     select $1, $2, coalesce(max(log_index) + 1, 0), $3, $4, $5, $6
     from sandbox_transfers where chain = $1 and tx_id = $2`,
    [
      transfer.chain,
      transfer.tx_id,
      transfer.address,
      transfer.token,
      transfer.amount,
      transfer.mined_at,
    ],
  );
}

// Nobody holds keys for these: they only have the form of addresses.
function sandboxAddress(chain: Chain, quote_id: string): string {
  const hash = sha256("sandbox address", chain, quote_id);
  if (chain === "solana") return toBase58(hash);
  if (chain === "tron") return toBase58Check(Buffer.concat([Buffer.of(0x41), hash.subarray(0, 20)]));
  return `0x${hash.subarray(0, 20).toString("hex")}`;
}
