import { Button, Select, Tabs } from "@mantine/core";
import type { Offramp } from "@sliproad/sdk";
import { Link } from "wouter";
import { api } from "../../api.ts";
import { loadNames, type Names } from "../../names.ts";
import { Amount } from "../../parts/amount.tsx";
import { useFilters } from "../../parts/filters.ts";
import { Moment } from "../../parts/moment.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { type Column, NothingMatches, RecordTable } from "../../parts/record-table.tsx";
import { Empty } from "../../parts/states.tsx";
import { StatusChip, statusName } from "../../parts/status-chip.tsx";
import { may } from "../../session.ts";

type Row = Offramp & { names: Names };

const STATUSES = [
  "ongoing_checks",
  "bounced",
  "pending_internal_assessment",
  "sending_fiat",
  "fiat_sent",
  "failed",
  "initiated",
] as const;
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
  const { filters, setFilter, clearFilters } = useFilters();
  const status = STATUSES.find((known) => known === filters.status);
  const query = {
    ...(status ? { status } : {}),
    ...(filters.user_id ? { user_id: filters.user_id } : {}),
    ...(filters.quote_id ? { quote_id: filters.quote_id } : {}),
  };
  return (
    <>
      <PageHead title="Payouts">
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
      <RecordTable
        label="Payouts, newest first"
        query_key={["payouts", query]}
        load={(starting_after) => loadRows(query, starting_after)}
        columns={COLUMNS}
        pathOf={(row) => `/payouts/${row.id}`}
        empty={
          Object.keys(query).length > 0 ? (
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

async function loadRows(
  query: Parameters<typeof api.offramps.listAll>[0],
  starting_after?: string,
) {
  const after = starting_after ? { starting_after } : {};
  const page = await api.offramps.listAll({ ...query, ...after, limit: 50 }).page();
  const names = await loadNames({
    users: page.records.map((row) => row.user_id),
    payment_details: page.records.map((row) => row.payment_detail_id),
  });
  return { rows: page.records.map((row) => ({ ...row, names })), has_more: page.has_more };
}

function Payee({ row }: { row: Row }) {
  const detail = row.names.payment_details[row.payment_detail_id];
  if (!detail) return <span className="none">Erased</span>;
  return (
    <div>
      <div className="strong">{detail.holder}</div>
      <div className="quiet">
        {detail.bank} ··{detail.account}
      </div>
    </div>
  );
}

/** The state, and for what waits or came back, why. */
function State({ row }: { row: Row }) {
  const isExplained = ["ongoing_checks", "bounced", "failed"].includes(row.status);
  return (
    <div>
      <StatusChip status={row.status} />
      {isExplained && row.status_message && <div className="quiet why">{row.status_message}</div>}
    </div>
  );
}
