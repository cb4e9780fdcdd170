import { ask } from "../../../api.ts";
import type { Entry, Known } from "./entry.ts";

export type AuditPage = Known & { entries: Entry[]; next: string | null };

export type AuditFilters = {
  actor?: string | undefined;
  kind?: string | undefined;
  created_after?: string | undefined;
};

const PAGE = 50;
const EXPORT_PAGE = 100;

export function loadAudit(
  filters: AuditFilters,
  starting_after?: string,
  limit = PAGE,
): Promise<AuditPage> {
  return ask<AuditPage>("/audit", { ...filters, starting_after, limit: String(limit) });
}

/** Everything that the filters leave, newest first. */
export async function loadForExport(
  filters: AuditFilters,
  onCount: (count: number) => void,
): Promise<AuditPage> {
  const all: AuditPage = { entries: [], names: {}, records: {}, next: null };
  do {
    const page = await loadAudit(filters, all.next ?? undefined, EXPORT_PAGE);
    all.entries.push(...page.entries);
    Object.assign(all.names, page.names);
    Object.assign(all.records, page.records);
    all.next = page.next;
    onCount(all.entries.length);
  } while (all.next !== null);
  return all;
}
