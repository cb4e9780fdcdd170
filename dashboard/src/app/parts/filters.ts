import { useCallback } from "react";
import { useLocation, useSearch } from "wouter";

/** The filters of a list, kept in the URL: a link shows the same list to somebody else. */
export function useFilters(): {
  filters: Readonly<Record<string, string>>;
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
