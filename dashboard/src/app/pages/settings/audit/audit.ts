import { ask } from "../../../api.ts";

export type Entry = {
  id: string;
  at: string;
  actor: string;
  action: string;
  record: string;
  reason: string;
  /** What was set, as far as it is kept. */
  detail: Record<string, unknown>;
};

export type AuditPage = { entries: Entry[]; names: Record<string, string>; next: string | null };

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
  const all: AuditPage = { entries: [], names: {}, next: null };
  do {
    const page = await loadAudit(filters, all.next ?? undefined, EXPORT_PAGE);
    all.entries.push(...page.entries);
    Object.assign(all.names, page.names);
    all.next = page.next;
    onCount(all.entries.length);
  } while (all.next !== null);
  return all;
}
