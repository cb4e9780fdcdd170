import { StatusChip } from "../../parts/status-chip.tsx";

/** The state of an identity check; some of its words mean something else for payouts. */
export function IdentityChip({ status }: { status: string }) {
  return <StatusChip status={status === "initiated" ? "started" : status} />;
}
