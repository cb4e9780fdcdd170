import { AUDIT_LOG } from "../accounts/audit.ts";
import { EVENT_LOG } from "../events/record-events.ts";
import { LEDGER_LOG } from "../ledger/sealed.ts";
import type { SealedTable } from "../platform/sealing/verify-chain.ts";

export const SEALED_TABLES: readonly SealedTable[] = [
  { ...AUDIT_LOG, table: "audit_entries" },
  { ...LEDGER_LOG, table: "ledger_entries" },
  { ...EVENT_LOG, table: "events" },
];
