import { useCallback } from "react";
import { useLocation, useSearch } from "wouter";

export type Filters = Readonly<Record<string, string>>;

const DAY = /^\d{4}-\d{2}-\d{2}$/;
const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The values that a filter can have. */
export const isDay = (text: string) => DAY.test(text);
export const isRecordId = (text: string) => ID.test(text);
export const among = (values: readonly string[]) => (text: string) => values.includes(text);

/** Those that the list knows, and the names of others: an old link or view may have some. */
export function readFilters(
  given: Filters,
  known: Readonly<Record<string, (text: string) => boolean>>,
): { filters: Filters; dropped: string[] } {
  const entries = Object.entries(given);
  const isKnown = ([name, value]: [string, string]) => known[name]?.(value) ?? false;
  return {
    filters: Object.fromEntries(entries.filter(isKnown)),
    dropped: entries.filter((entry) => !isKnown(entry)).map(([name]) => name.replaceAll("_", " ")),
  };
}

/** The query of a list with these filters; the days `from` and `to` are the reader's own. */
export function toQuery({ from, to, ...rest }: Filters): Record<string, string> {
  return {
    ...rest,
    // A millisecond before: "after" excludes it.
    ...(from ? { created_after: new Date(startOf(from) - 1).toISOString() } : {}),
    ...(to ? { created_before: new Date(nextDay(to)).toISOString() } : {}),
  };
}

function startOf(day: string): number {
  return new Date(`${day}T00:00:00`).getTime();
}

function nextDay(day: string): number {
  const date = new Date(`${day}T00:00:00`);
  return date.setDate(date.getDate() + 1);
}

/** The filters of a list, kept in the URL: a link shows the same list to somebody else. */
export function useFilters(): {
  filters: Filters;
  setFilter: (name: string, value: string | null) => void;
  clearFilters: () => void;
} {
  const search = useSearch();
  const [path, navigate] = useLocation();
  const filters = Object.fromEntries(new URLSearchParams(search));
  const setFilter = useCallback(
    (name: string, value: string | null) => {
      const next = new URLSearchParams(search);
      if (value) next.set(name, value);
      else next.delete(name);
      const text = next.toString();
      navigate(text ? `${path}?${text}` : path, { replace: true });
    },
    [search, path, navigate],
  );
  return { filters, setFilter, clearFilters: () => navigate(path, { replace: true }) };
}
