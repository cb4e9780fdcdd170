import type { Chain } from "../../../catalogue/chains.ts";
import type { Clock } from "../../../platform/clock.ts";
import type { Database } from "../../../platform/db/database.ts";
import { realTime } from "../../../platform/tasks/real-time.ts";
import type { ChainPort, Transfer } from "../port.ts";
import { claimIndexes, insertAddresses } from "./address-store.ts";
import { businessTime } from "./business-time.ts";
import { findObjection } from "./find-objection.ts";
import { updateUnproven } from "./finding-store.ts";
import type { EvmSettings, Watcher } from "./model.ts";
import { readFinalTransaction } from "./read-transaction.ts";
import { findSendByKey } from "./send/send-store.ts";
import { outcomeIfDone, sendTokens } from "./send/send-tokens.ts";
import { hasTransferMac } from "./transfer-mac.ts";
import type { Wallet } from "./wallet.ts";
import { findWatchedChain, listCreditable, type StoredTransfer } from "./watch-store.ts";

type EvmDeps = {
  database: Database;
  clock: Clock;
  wallet: Wallet;
  settings: EvmSettings;
  watchers: readonly Watcher[];
};

const CURSOR = "evm ";

/** Real EVM chains. What the worker stored is read here; only transactions are asked for. */
export function createEvmChain(deps: EvmDeps): ChainPort {
  const { database, clock, wallet, settings, watchers } = deps;
  const { treasury } = settings;
  const watcherOf = (chain: Chain) => watchers.find((one) => one.chain.name === chain)!;
  return {
    chains: watchers.map(({ chain }) => chain.name),
    simulated: [],
    sending: watchers.filter(({ chain }) => chain.sending !== null).map(({ chain }) => chain.name),
    issueAddresses: async (session, chains, now) => {
      const indexes = await claimIndexes(session, chains.length);
      const issued = indexes.map((address_index, at) => ({
        address: wallet.addressAt(address_index),
        wallet: wallet.fingerprint,
        address_index,
        chain: chains[at]!,
        created_at: now,
      }));
      if (issued.length > 0) await insertAddresses(session, issued);
      return issued.map(({ address }) => address);
    },
    // Every transfer to every address is read anyway.
    announce: async () => {},
    listTransfers: async (chain, cursor, limit) => {
      const stored = await listCreditable(database, chain, numberOf(cursor), limit);
      const { proofs, chain: of } = watcherOf(chain);
      const isProven = (one: (typeof stored)[number]) =>
        hasTransferMac(proofs.index_key, of.chain_id, one);
      const unproven = stored.filter((one) => !isProven(one)).map(({ number }) => number);
      if (unproven.length > 0) await updateUnproven(database, unproven);
      const transfers = stored.filter(isProven).map(toTransfer);
      const last = stored.at(-1);
      return { transfers, cursor: last ? `${CURSOR}${last.number}` : cursor };
    },
    finalUntil: async (chain, now) => {
      const row = (await findWatchedChain(database, chain))!;
      // The block was mined in real time; the sandbox's clock may be ahead of it.
      const age_ms = realTime(clock).getTime() - row.scanned_at.getTime();
      return new Date(now.getTime() - Math.max(0, age_ms));
    },
    findStatus: async (chain, { tx_id, address, token }) => {
      const transaction = await readFinalTransaction(database, watcherOf(chain), tx_id);
      if (transaction.status !== "final") return transaction.status;
      const pays = transaction.transfers.some((one) => one.to === address && one.token === token);
      return pays ? "final" : "failed";
    },
    readTransaction: async (chain, tx_id) => {
      const read = await readFinalTransaction(database, watcherOf(chain), tx_id);
      if (read.status !== "final") return read;
      const toBusiness = businessTime(clock);
      const { mined_at, mined_before, transfers } = read;
      const times = { mined_at: toBusiness(mined_at), mined_before: toBusiness(mined_before) };
      return { status: "final", ...times, transfers };
    },
    findObjection: (chain, address) =>
      findObjection(database, settings, watcherOf(chain).chain, address),
    findSend: async (_chain, key) => {
      const send = await findSendByKey(database, key);
      return send ? outcomeIfDone(send) : null;
    },
    send: (request) => {
      const chainOf = (name: Chain) => watcherOf(name).chain;
      return sendTokens({ database, treasury, chainOf }, request, realTime(clock));
    },
  };
}

function toTransfer(stored: StoredTransfer): Transfer {
  const { chain, tx_id, log_index, address, sender, token, amount, mined_at } = stored;
  const facts = { chain, tx_id, log_index, address, sender, token, mined_at };
  return { ...facts, amount: BigInt(amount) };
}

/** The chain may have been simulated before, with a cursor of the sandbox: then from the start. */
function numberOf(cursor: string | null): bigint {
  return cursor?.startsWith(CURSOR) ? BigInt(cursor.slice(CURSOR.length)) : 0n;
}
