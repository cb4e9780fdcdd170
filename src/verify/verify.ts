import type { KeyObject } from "node:crypto";
import { AUDIT_LOG } from "../access/audit.ts";
import { listAccounts } from "../access/store.ts";
import { LEDGER_LOG } from "../ledger/sealed.ts";
import type { Database, Session } from "../platform/db/database.ts";
import { type SealedLog, verifyChain } from "../platform/sealing/verify-chain.ts";
import { EVENT_LOG } from "../webhooks/record-events.ts";
import { type Check, verifyLedger } from "./verify-ledger.ts";
import { verifyOfframps } from "./verify-offramps.ts";
import { verifyQuotes } from "./verify-quotes.ts";

const SEALED_LOGS: readonly SealedLog[] = [AUDIT_LOG, LEDGER_LOG, EVENT_LOG];
/** After the chains: these find what was wrong from the beginning, and nobody changed since. */
const CHECKS: readonly Check[] = [verifyLedger, verifyQuotes, verifyOfframps];

export type Verification = { accounts: number; fault: string | null };

/** Recomputes everything from one snapshot of a live system and names the first wrong row. */
export function verify(database: Database, key: KeyObject, now: Date): Promise<Verification> {
  return database.transaction(async (tx) => {
    await tx.query("set transaction isolation level repeatable read, read only");
    const accounts = await listAccounts(tx);
    for (const account of accounts) {
      const fault = await findFault(tx, key, account.id, now);
      if (fault) return { accounts: accounts.length, fault };
    }
    return { accounts: accounts.length, fault: null };
  });
}

/** The first fault of one account, in a session that sees one snapshot. */
export async function findFault(
  session: Session,
  key: KeyObject,
  account_id: string,
  now: Date,
): Promise<string | null> {
  for (const log of SEALED_LOGS) {
    const fault = await verifyChain(session, key, log, account_id, now);
    if (fault) return fault;
  }
  for (const check of CHECKS) {
    const fault = await check(session, account_id);
    if (fault) return fault;
  }
  return null;
}
