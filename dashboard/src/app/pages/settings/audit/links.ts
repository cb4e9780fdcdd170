import { pathOfHit } from "../../../hit.ts";
import { may } from "../../../session.ts";
import type { Entry, Known } from "./entry.ts";

/** Pages of what is no record of a person. */
const PATHS: Readonly<Record<string, readonly [pathOf: (id: string) => string, may: string]>> = {
  person: [() => "/settings/team", "manage_members"],
  member: [() => "/settings/team", "manage_members"],
  api_key: [() => "/settings/developer/keys", "see_keys_and_log"],
  app: [(id) => `/settings/developer/apps/${id}`, "see_apps"],
  payout_batch: [(id) => `/payouts/batches/${id}`, "see_records"],
  deposit: [() => "/deposits?tab=unmatched", "see_records"],
  bank_exception: [() => "/deposits?tab=exceptions", "see_records"],
};

/** The page of what an entry is about; null where there is none, or none any more. */
export function pathOfEntry({ action, record }: Entry, { records }: Known): string | null {
  const at = record.indexOf(":");
  const id = record.slice(at + 1);
  const known = records[id];
  if (known?.kind === "proposal") {
    return `/approvals?tab=${known.note === "pending" ? "waiting" : "decided"}`;
  }
  if (known) return pathOfHit(known);
  const [pathOf, permission] = PATHS[record.slice(0, at)] ?? [];
  if (!pathOf || !permission || action.endsWith(".delete")) return null;
  return may(permission) ? pathOf(id) : null;
}
