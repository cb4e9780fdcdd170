import { Button, Select, TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import type { Invoice } from "@sliproad/sdk";
import { useState } from "react";
import { Link } from "wouter";
import { api } from "../../api.ts";
import { Amount } from "../../parts/amount.tsx";
import { useFilters } from "../../parts/filters.ts";
import { fromMinor } from "../../parts/format-amount.ts";
import { Icon } from "../../parts/icons.tsx";
import { Moment } from "../../parts/moment.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { type Column, NothingMatches, RecordTable } from "../../parts/record-table.tsx";
import { Empty } from "../../parts/states.tsx";
import { StatusChip } from "../../parts/status-chip.tsx";
import { may } from "../../session.ts";
import { daysLate, nameOfParty, otherParty, STATES, symbolOf } from "./invoice.ts";

const COLUMNS: readonly Column<Invoice>[] = [
  {
    name: "Number",
    cell: (row) => (
      <div>
        <div className="strong">{row.invoiceNumber}</div>
        <div className="quiet">{nameOfParty(otherParty(row))}</div>
      </div>
    ),
    is_title: true,
  },
  { name: "Amount", cell: (row) => <Total invoice={row} />, is_amount: true },
  { name: "State", cell: (row) => <State invoice={row} /> },
  { name: "Kind", cell: (row) => (row.role === "seller" ? "Sent" : "Received") },
  { name: "Due", cell: (row) => <Due invoice={row} /> },
  { name: "Created", cell: (row) => <Moment at={row.creationDate} /> },
];

const FILTERS = [
  { value: "", label: "All" },
  { value: "overdue", label: "Overdue" },
  ...Object.entries(STATES).map(([value, { name }]) => {
    return { value, label: name.charAt(0).toUpperCase() + name.slice(1) };
  }),
];
type Filter = NonNullable<Parameters<typeof api.invoices.list>[0]>["status"];

/** A search begins when nothing was typed for this long. */
const PAUSE_MS = 300;

/** Invoices that this account wrote or received. */
export function InvoiceList() {
  const { filters, setFilter, clearFilters } = useFilters();
  const query = {
    ...(filters.status ? { status: filters.status as Filter } : {}),
    ...(filters.search ? { search: filters.search } : {}),
  };
  const create = may("manage_invoices") && (
    <Button component={Link} href="/invoices/new">
      New invoice
    </Button>
  );
  return (
    <>
      <PageHead title="Invoices">{create}</PageHead>
      <div className="list-filters">
        <Search text={filters.search ?? ""} onSearch={(text) => setFilter("search", text)} />
        <Select
          aria-label="State"
          data={FILTERS}
          value={filters.status ?? ""}
          onChange={(next) => setFilter("status", next)}
        />
      </div>
      <RecordTable
        label="Invoices, newest first"
        query_key={["invoices", query]}
        load={(starting_after) => loadInvoices(query, starting_after)}
        columns={COLUMNS}
        pathOf={(row) => `/invoices/${row.id}`}
        empty={
          Object.keys(query).length > 0 ? (
            <NothingMatches onClear={clearFilters} />
          ) : (
            <Empty title="No invoices yet" action={create}>
              An invoice appears here as soon as you write or receive one.
            </Empty>
          )
        }
      />
    </>
  );
}

function Search({ text, onSearch }: { text: string; onSearch: (text: string) => void }) {
  const [typed, setTyped] = useState(text);
  const [known, setKnown] = useState(text);
  // Filters are cleared elsewhere, too.
  if (known !== text) {
    setKnown(text);
    if (typed.trim() !== text) setTyped(text);
  }
  const search = useDebouncedCallback(onSearch, PAUSE_MS);
  return (
    <TextInput
      aria-label="Search invoices"
      placeholder="Number, name, e-mail, tag: whole words"
      leftSection={<Icon name="search" size={16} />}
      value={typed}
      onChange={({ currentTarget: { value } }) => {
        setTyped(value);
        search(value.trim());
      }}
    />
  );
}

function Total({ invoice: { total, currency } }: { invoice: Invoice }) {
  const symbol = symbolOf(currency);
  return <Amount value={fromMinor(total, symbol)} currency={symbol} />;
}

function State({ invoice: { status } }: { invoice: Invoice }) {
  return <StatusChip status={STATES[status].name} family={STATES[status].family} />;
}

function Due({ invoice }: { invoice: Invoice }) {
  const { dueDate } = invoice.paymentTerms ?? {};
  if (!dueDate) return <span className="none">–</span>;
  const late = daysLate(invoice);
  return (
    <div>
      <Moment at={dueDate} />
      {late !== null && (
        <div className="differs">
          {late} {late === 1 ? "day" : "days"} late
        </div>
      )}
    </div>
  );
}

async function loadInvoices(
  query: Parameters<typeof api.invoices.list>[0],
  starting_after?: string,
) {
  const after = starting_after ? { starting_after } : {};
  const page = await api.invoices.list({ ...query, ...after, take: 50 }).page();
  return { rows: page.records, has_more: page.has_more };
}
