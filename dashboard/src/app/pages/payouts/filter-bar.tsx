import { Button, CloseButton, Group } from "@mantine/core";
import { useState } from "react";
import { useNames } from "../../names.ts";
import type { Filters } from "../../parts/filters.ts";
import { Icon } from "../../parts/icons.tsx";
import { ChoiceFilter, DayFilters, WrittenFilter } from "../../parts/list-filters.tsx";
import { CURRENCIES, describeFilter, HELD_BY, RAILS } from "./filter-names.ts";

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
          const text = describeFilter(name, value, { currency: filters.currency, nameOf });
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

function Fields(props: Pick<BarProps, "filters" | "setFilter">) {
  const { currency } = props.filters;
  const currencies = CURRENCIES.map((code) => [code, code.toUpperCase()] as const);
  const amount = { type: "text", disabled: !currency } as const;
  return (
    <div id="filter-fields" className="card filter-fields">
      <ChoiceFilter {...props} name="currency" label="Currency" options={currencies} />
      <ChoiceFilter {...props} name="rails" label="Rail" options={Object.entries(RAILS)} />
      <ChoiceFilter
        {...props}
        name="held_by"
        label="Held because of"
        options={Object.entries(HELD_BY)}
      />
      <DayFilters {...props} />
      <WrittenFilter {...props} {...amount} name="amount_min" label="Amount from" />
      <WrittenFilter {...props} {...amount} name="amount_max" label="Amount up to" />
      {!currency && <p className="quiet">Choose a currency to filter by amount.</p>}
    </div>
  );
}
