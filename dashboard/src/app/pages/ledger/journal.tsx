import { Group, Select, TextInput } from "@mantine/core";
import { Link, useLocation } from "wouter";
import { ask } from "../../api.ts";
import { type Hit, pathOfHit } from "../../hit.ts";
import { Amount } from "../../parts/amount.tsx";
import { isDay, isRecordId, readFilters, toQuery, useFilters } from "../../parts/filters.ts";
import { Moment } from "../../parts/moment.tsx";
import { plainText } from "../../parts/plain-text.ts";
import { type Column, NothingMatches, RecordTable } from "../../parts/record-table.tsx";
import { Empty } from "../../parts/states.tsx";
import { inWords, nameOfAccount } from "./name-of-account.ts";
import { useBalances } from "./use-balances.ts";

type Line = { ledger_account: string; currency: string; amount: string };
type Entry = {
  id: string;
  kind: string;
  key: string;
  lines: Line[];
  created_at: string;
  /** What it is about. */
  record_id: string | null;
};
type People = Record<string, { name: string }>;
type JournalPage = {
  entries: Entry[];
  records: Record<string, Hit>;
  users: People;
  next: string | null;
  looked_until: string | null;
};
type Row = Entry & { record: Hit | undefined; people: People };

const COLUMNS: readonly Column<Row>[] = [
  {
    name: "Entry",
    cell: (row) => <span className="strong">{inWords(row.kind)}</span>,
    is_title: true,
  },
  { name: "About", cell: ({ record }) => <About record={record} /> },
  { name: "Lines", cell: (row) => <Lines row={row} /> },
  { name: "Booked", cell: (row) => <Moment at={row.created_at} is_exact /> },
];

const FILTERS = {
  ledger_account: () => true,
  currency: () => true,
  record_id: isRecordId,
  from: isDay,
  to: isDay,
};

/** Every entry of the books, each with what it is about. */
export function Journal() {
  const { filters, setFilter } = useFilters();
  const [, navigate] = useLocation();
  const query = toQuery(readFilters(filters, FILTERS).filters);
  return (
    <>
      <JournalFilters filters={filters} onChange={setFilter} />
      <RecordTable
        label="Journal, newest first"
        query_key={["ledger", "journal", query]}
        fileRowsOf={({ lines, record, people, ...entry }) =>
          lines.map((line) => ({ ...entry, ...line, about: record ? sayRecord(record) : "" }))
        }
        load={(starting_after) => loadEntries(query, starting_after)}
        columns={COLUMNS}
        empty={
          Object.keys(query).length > 0 ? (
            <NothingMatches onClear={() => navigate("/ledger?tab=journal", { replace: true })} />
          ) : (
            <NoEntries />
          )
        }
      />
    </>
  );
}

export function NoEntries() {
  return <Empty title="Nothing is booked yet">The first deposit or payout is booked here.</Empty>;
}

function JournalFilters(props: {
  filters: Readonly<Record<string, string>>;
  onChange: (name: string, value: string | null) => void;
}) {
  const { filters, onChange } = props;
  const balances = useBalances().data?.balances ?? [];
  const accounts = new Set(balances.map(({ ledger_account }) => ledger_account));
  const currencies = new Set(balances.map(({ currency }) => currency));
  const { ledger_account = null, currency = null, record_id = "" } = filters;
  if (ledger_account) accounts.add(ledger_account);
  if (currency) currencies.add(currency);
  return (
    <Group align="start" mb="md">
      <Select
        label="Ledger account"
        className="filter"
        placeholder="All accounts"
        clearable
        searchable
        data={[...accounts].map((name) => ({ value: name, label: nameOfAccount(name) }))}
        value={ledger_account}
        onChange={(next) => onChange("ledger_account", next)}
      />
      <Select
        label="Currency"
        className="filter"
        placeholder="All"
        clearable
        searchable
        data={[...currencies].map((code) => ({ value: code, label: code.toUpperCase() }))}
        value={currency}
        onChange={(next) => onChange("currency", next)}
      />
      <TextInput
        label="Record"
        className="filter-wide"
        placeholder="Id of a payout, deposit, quote or person"
        error={
          record_id && !isRecordId(record_id) ? "Paste the whole id, 36 characters." : undefined
        }
        value={record_id}
        onChange={(event) => onChange("record_id", event.currentTarget.value.trim().toLowerCase())}
      />
      {(["from", "to"] as const).map((name) => (
        <TextInput
          key={name}
          label={name === "from" ? "From" : "Until"}
          className="filter"
          type="date"
          value={filters[name] ?? ""}
          onChange={(event) => onChange(name, event.currentTarget.value)}
        />
      ))}
    </Group>
  );
}

function About({ record }: { record: Hit | undefined }) {
  if (!record) return <span className="none">–</span>;
  return <Link href={pathOfHit(record)}>{sayRecord(record)}</Link>;
}

function sayRecord({ kind, title, note }: Hit): string {
  return plainText(kind === "payout" && note ? `${title} to ${note}` : title);
}

/** The lines of an entry; they sum to zero in each currency. */
function Lines({ row }: { row: Row }) {
  return (
    <dl className="lines">
      {row.lines.map(({ ledger_account, currency, amount }) => (
        <div key={`${ledger_account} ${currency} ${amount}`}>
          <dt>{nameOfAccount(ledger_account, row.people)}</dt>
          <dd>
            <Amount value={amount} currency={currency} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

async function loadEntries(query: Record<string, string>, starting_after: string | undefined) {
  const page = await ask<JournalPage>("/journal", { ...query, starting_after });
  const { entries, records, users: people, next, looked_until } = page;
  const rows = entries.map((entry) => ({
    ...entry,
    record: records[entry.record_id ?? ""],
    people,
  }));
  return { rows, has_more: next !== null, next, looked_until };
}
