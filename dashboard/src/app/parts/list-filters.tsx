import { NativeSelect, TextInput } from "@mantine/core";
import { type ReactNode, useState } from "react";
import type { Filters } from "./filters.ts";
import { PersonSelect } from "./person-select.tsx";

type Filtered = { filters: Filters; setFilter: (name: string, value: string | null) => void };
type Named = Filtered & { name: string; label: string; disabled?: boolean };

const ANY = { value: "", label: "Any" };

/** What a list can be filtered by, side by side. */
export function ListFilters({ children }: { children: ReactNode }) {
  return (
    <search className="list-filters" aria-label="Filters">
      {children}
    </search>
  );
}

/** One of these values, or any. */
export function ChoiceFilter(props: Named & { options: readonly (readonly [string, string])[] }) {
  const { name, label, options, filters, setFilter, disabled = false } = props;
  return (
    <NativeSelect
      {...{ label, disabled }}
      value={filters[name] ?? ""}
      data={[ANY, ...options.map(([value, text]) => ({ value, label: text }))]}
      onChange={({ currentTarget }) => setFilter(name, currentTarget.value || null)}
    />
  );
}

/** The records of one person. */
export function PersonFilter({ filters, setFilter, label }: Filtered & { label: string }) {
  return (
    <div className="filter-wide">
      <PersonSelect
        label={label}
        is_clearable
        value={filters.user_id ?? null}
        onChange={(id) => setFilter("user_id", id)}
      />
    </div>
  );
}

/** Takes effect when the field is left or Enter is pressed, not with every letter. */
export function WrittenFilter(props: Named & { type: "date" | "text" }) {
  const { name, filters } = props;
  return <WrittenField key={`${name} ${filters[name] ?? ""}`} {...props} />;
}

/** Created within these days. */
export function DayFilters(props: Filtered) {
  return (
    <>
      <WrittenFilter {...props} name="from" label="From" type="date" />
      <WrittenFilter {...props} name="to" label="Until" type="date" />
    </>
  );
}

function WrittenField(props: Named & { type: "date" | "text" }) {
  const { name, label, type, disabled = false, filters, setFilter } = props;
  const value = filters[name] ?? "";
  const [text, setText] = useState(value);
  const write = () => {
    if (text !== value) setFilter(name, text.trim().replace(",", ".") || null);
  };
  return (
    <TextInput
      {...{ label, type, disabled }}
      value={text}
      {...(type === "text" ? { inputMode: "decimal" } : {})}
      onChange={({ currentTarget }) => setText(currentTarget.value)}
      onBlur={write}
      onKeyDown={({ key }) => key === "Enter" && write()}
    />
  );
}
