import { Button, CloseButton, Group, NativeSelect, TextInput } from "@mantine/core";
import { useState } from "react";
import { useNames } from "../../names.ts";
import { Icon } from "../../parts/icons.tsx";
import { CURRENCIES, describeFilter, type Filters, HELD_BY, RAILS } from "./filter-names.ts";

type BarProps = {
  filters: Filters;
  setFilter: (name: string, value: string | null) => void;
  clearFilters: () => void;
};

/** Shown by the tabs. */
const BY_TABS = ["status"];

/** What the list is filtered by, each to be taken away, and the fields that add more. */
export function FilterBar({ filters, setFilter, clearFilters }: BarProps) {
  const [isOpen, setOpen] = useState(false);
  const { users, payment_details } = useNames({
    users: filters.user_id ? [filters.user_id] : [],
    payment_details: filters.payment_detail_id ? [filters.payment_detail_id] : [],
  });
  const nameOf = (id: string) => users[id]?.name ?? payment_details[id]?.holder ?? "…";
  const shown = Object.entries(filters).filter(([name]) => !BY_TABS.includes(name));
  return (
    <div className="filter-bar">
      <Group gap="xs">
        <Button
          size="compact-md"
          variant="default"
          leftSection={<Icon name="settings" size={16} />}
          aria-expanded={isOpen}
          aria-controls="filter-fields"
          onClick={() => setOpen(!isOpen)}
        >
          Filters
        </Button>
        {shown.map(([name, value]) => {
          const text = describeFilter(name, value, nameOf);
          return (
            <span key={name} className="filter-pill">
              {text}
              <CloseButton
                size="xs"
                aria-label={`Remove the filter ${text}`}
                onClick={() => setFilter(name, null)}
              />
            </span>
          );
        })}
        {shown.length > 1 && (
          <Button size="compact-sm" variant="subtle" onClick={clearFilters}>
            Clear all
          </Button>
        )}
      </Group>
      {isOpen && <Fields filters={filters} setFilter={setFilter} />}
    </div>
  );
}

const ANY = { value: "", label: "Any" };

function Fields({ filters, setFilter }: Pick<BarProps, "filters" | "setFilter">) {
  const choose = (name: string, label: string, options: readonly (readonly [string, string])[]) => (
    <NativeSelect
      label={label}
      value={filters[name] ?? ""}
      data={[ANY, ...options.map(([value, text]) => ({ value, label: text }))]}
      onChange={({ currentTarget }) => setFilter(name, currentTarget.value || null)}
    />
  );
  const write = (name: string, label: string, type: "date" | "text", disabled = false) => (
    <WrittenField
      key={`${name} ${filters[name] ?? ""}`}
      {...{ label, type, disabled }}
      value={filters[name] ?? ""}
      onWritten={(value) => setFilter(name, value || null)}
    />
  );
  const currencies = CURRENCIES.map((code) => [code, code.toUpperCase()] as const);
  return (
    <div id="filter-fields" className="card filter-fields">
      {choose("currency", "Currency", currencies)}
      {choose("rails", "Rail", Object.entries(RAILS))}
      {choose("held_by", "Held because of", Object.entries(HELD_BY))}
      {write("from", "From", "date")}
      {write("to", "Until", "date")}
      {write("amount_min", "Amount from", "text", !filters.currency)}
      {write("amount_max", "Amount up to", "text", !filters.currency)}
      {!filters.currency && <p className="quiet">Choose a currency to filter by amount.</p>}
    </div>
  );
}

/** Takes effect when the field is left or Enter is pressed, not with every letter. */
function WrittenField(props: {
  label: string;
  type: "date" | "text";
  disabled: boolean;
  value: string;
  onWritten: (value: string) => void;
}) {
  const [text, setText] = useState(props.value);
  const write = () => {
    if (text !== props.value) props.onWritten(text.trim().replace(",", "."));
  };
  return (
    <TextInput
      label={props.label}
      type={props.type}
      disabled={props.disabled}
      value={text}
      {...(props.type === "text" ? { inputMode: "decimal" } : {})}
      onChange={({ currentTarget }) => setText(currentTarget.value)}
      onBlur={write}
      onKeyDown={({ key }) => key === "Enter" && write()}
    />
  );
}
