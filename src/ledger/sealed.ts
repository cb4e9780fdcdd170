import type { SealedLog } from "../platform/sealing/verify-chain.ts";
import { digestEntry } from "./model.ts";
import { findEntryCount, listEntriesById } from "./store.ts";

/** The ledger as a sealed log: the digest of an entry includes its lines. */
export const LEDGER_LOG: SealedLog = {
  log: "ledger",
  read_entries: async (session, account_id, entry_ids) => {
    const entries = await listEntriesById(session, account_id, entry_ids);
    return entries.map((entry) => ({ ...entry, digest: digestEntry(entry) }));
  },
  count_entries: findEntryCount,
};
