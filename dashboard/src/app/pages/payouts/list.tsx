import { Alert, Button, Select, Tabs } from "@mantine/core";
import type { Offramp } from "@sliproad/sdk";
import { Link } from "wouter";
import { ask } from "../../api.ts";
import { loadNames, type Names } from "../../names.ts";
import { Amount } from "../../parts/amount.tsx";
import { readFilters, toQuery, useFilters } from "../../parts/filters.ts";
import { Moment } from "../../parts/moment.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { Payee } from "../../parts/payee.tsx";
import { plainText } from "../../parts/plain-text.ts";
import { type Column, NothingMatches, RecordTable } from "../../parts/record-table.tsx";
import { Empty } from "../../parts/states.tsx";
import { StatusChip, statusName } from "../../parts/status-chip.tsx";
import { may } from "../../session.ts";
import { FilterBar } from "./filter-bar.tsx";
import { KNOWN, STATUSES } from "./filter-names.ts";
import { SavedViews } from "./saved-views.tsx";

type Row = Offramp & { names: Names };

type Status = (typeof STATUSES)[number];

const COLUMNS: readonly Column<Row>[] = [
  { name: "Payee", cell: (row) => <Payee row={row} />, is_title: true },
  {
    name: "Amount",
    cell: (row) => <Amount value={row.destination_amount} currency={row.destination_currency} />,
    is_amount: true,
  },
  { name: "State", cell: (row) => <State row={row} /> },
  { name: "Rail", cell: (row) => row.rails.toUpperCase() },
  { name: "Reference", cell: (row) => row.reference || <span className="none">–</span> },
  { name: "Paid by", cell: (row) => row.names.users[row.user_id]?.name ?? "Erased" },
  { name: "Created", cell: (row) => <Moment at={row.created_at} /> },
];

/** All payouts of the account. */
export function PayoutList() {
  const { filters: given, setFilter, clearFilters } = useFilters();
  const { filters, dropped } = readFilters(given, KNOWN);
  const status = STATUSES.find((known) => known === filters.status);
  const isFiltered = Object.keys(filters).length > 0;
  return (
    <>
      <PageHead title="Payouts">
        <SavedViews />
        {may("prepare_payouts") && (
          <>
            <Button component={Link} href="/payouts/batches" variant="default">
              Batches
            </Button>
            <Button component={Link} href="/payouts/batches/new">
              New batch
            </Button>
          </>
        )}
      </PageHead>
      <StatusTabs status={status} onChange={(next) => setFilter("status", next)} />
      <FilterBar {...{ filters, setFilter, clearFilters }} />
      {dropped.length > 0 && (
        <Alert color="yellow" variant="light" mb="md" role="status">
          This view has filters that do not exist any more; they are left out: {dropped.join(", ")}.
        </Alert>
      )}
      <RecordTable
        label="Payouts, newest first"
        query_key={["payouts", filters]}
        load={(starting_after) => loadRows(toQuery(filters), starting_after)}
        columns={COLUMNS}
        pathOf={(row) => `/payouts/${row.id}`}
        empty={
          isFiltered ? (
            <NothingMatches onClear={clearFilters} />
          ) : (
            <Empty title="No payouts yet">
              A payout appears here as soon as it is added to a quote.
            </Empty>
          )
        }
      />
    </>
  );
}

/** Tabs on a wide screen, a list to choose from on a narrow one. */
function StatusTabs(props: {
  status: Status | undefined;
  onChange: (status: string | null) => void;
}) {
  const { status, onChange } = props;
  return (
    <>
      <Tabs
        className="wide-only"
        value={status ?? "all"}
        onChange={(next) => onChange(next === "all" ? null : next)}
        mb="md"
      >
        <Tabs.List aria-label="State">
          <Tabs.Tab value="all">All</Tabs.Tab>
          {STATUSES.map((name) => (
            <Tabs.Tab key={name} value={name}>
              {statusName(name)}
            </Tabs.Tab>
          ))}
        </Tabs.List>
      </Tabs>
      <Select
        className="narrow-only"
        label="State"
        mb="md"
        data={[
          { value: "all", label: "All" },
          ...STATUSES.map((name) => ({ value: name, label: statusName(name) })),
        ]}
        value={status ?? "all"}
        onChange={(next) => onChange(next === "all" ? null : next)}
      />
    </>
  );
}

type Listed = {
  offramps: Offramp[];
  has_more: boolean;
  next: string | null;
  looked_until: string | null;
};

const ROWS = 50;
/** A filter that no index serves looks at a part of the payouts with each request. */
const PARTS_MAX = 20;

async function loadRows(query: Record<string, string>, starting_after?: string) {
  const found: Offramp[] = [];
  let next = starting_after;
  let page: Listed;
  let parts = 0;
  do {
    const limit = String(ROWS - found.length);
    page = await ask<Listed>("/payouts", { ...query, limit, starting_after: next });
    found.push(...page.offramps);
    next = page.next ?? undefined;
    parts += 1;
  } while (page.looked_until && found.length < ROWS && parts < PARTS_MAX);
  const names = await loadNames({
    users: found.map((row) => row.user_id),
    payment_details: found.map((row) => row.payment_detail_id),
  });
  const rows = found.map((row) => ({ ...row, names }));
  return { rows, has_more: page.has_more, next: page.next, looked_until: page.looked_until };
}

/** The state, and for what waits or came back, why. */
function State({ row }: { row: Row }) {
  const isExplained = ["ongoing_checks", "bounced", "failed"].includes(row.status);
  return (
    <div>
      <StatusChip status={row.status} />
      {isExplained && row.status_message && (
        <div className="quiet why">{plainText(row.status_message)}</div>
      )}
    </div>
  );
}
