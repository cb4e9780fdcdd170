import type { KeyObject } from "node:crypto";
import { AUDIT_LOG } from "../access/audit.ts";
import { listAccounts } from "../access/store.ts";
import type { Database } from "../platform/db/database.ts";
import { type SealedLog, verifyChain } from "../platform/sealing/verify-chain.ts";

const SEALED_LOGS: readonly SealedLog[] = [AUDIT_LOG];

export type Verification = { accounts: number; fault: string | null };

/** Recomputes everything from one snapshot of a live system and names the first wrong row. */
export function verify(database: Database, key: KeyObject, now: Date): Promise<Verification> {
  return database.transaction(async (tx) => {
    await tx.query("set transaction isolation level repeatable read, read only");
    const accounts = await listAccounts(tx);
    for (const account of accounts) {
      for (const log of SEALED_LOGS) {
        const fault = await verifyChain(tx, key, log, account.id, now);
        if (fault) return { accounts: accounts.length, fault };
      }
    }
    return { accounts: accounts.length, fault: null };
  });
}
