import type { ProposedPayout } from "@sliproad/sdk";
import { Link } from "wouter";
import { api } from "../../api.ts";
import { Amount } from "../../parts/amount.tsx";
import { useFilters } from "../../parts/filters.ts";
import { PageHead } from "../../parts/page-head.tsx";
import { type Column, RecordTable } from "../../parts/record-table.tsx";
import { Empty } from "../../parts/states.tsx";
import { StatusChip } from "../../parts/status-chip.tsx";
import { may } from "../../session.ts";

const COLUMNS: readonly Column<ProposedPayout>[] = [
  {
    name: "Payee",
    is_title: true,
    cell: (row) => (
      <div>
        <div className="strong">{row.payee}</div>
        <Notes row={row} />
      </div>
    ),
  },
  {
    name: "Amount",
    is_amount: true,
    cell: (row) => <Amount value={row.destination_amount} currency={row.destination_currency} />,
  },
  { name: "Rail", cell: ({ rails }) => rails.toUpperCase() },
  { name: "Reference", cell: ({ reference }) => <span className="breakable">{reference}</span> },
  { name: "Invoice", cell: ({ invoice_id }) => invoice_id && <Invoice id={invoice_id} /> },
  { name: "Document", cell: (row) => <Document row={row} /> },
  { name: "State", cell: ({ status }) => <StatusChip status={status} /> },
];

/** Everything that the approval of a quote pays. */
export function ProposedPayouts({ id }: { id: string }) {
  // Only payouts of the account that is open can be opened.
  const { filters } = useFilters();
  return (
    <>
      <nav aria-label="Back" className="back">
        <Link href="/approvals">‹ Approvals</Link>
      </nav>
      <PageHead title="Payouts to approve" />
      <RecordTable
        label="Payouts to approve, newest first"
        query_key={["approvals", "payouts", id]}
        load={async (starting_after) => {
          const after = starting_after ? { starting_after } : {};
          const page = await api.proposals.payouts(id, { limit: 100, ...after }).page();
          return { rows: page.records, has_more: page.has_more };
        }}
        columns={COLUMNS}
        {...(filters.of ? {} : { pathOf: (row: ProposedPayout) => `/payouts/${row.id}` })}
        empty={<Empty title="No payouts">This approval pays nobody.</Empty>}
      />
    </>
  );
}

function Notes({ row }: { row: ProposedPayout }) {
  if (row.is_new_payee) return <StatusChip status="Never paid before" family="needs_you" />;
  if (row.is_recent_payee) return <StatusChip status="Added in the last day" family="needs_you" />;
  return null;
}

function Invoice({ id }: { id: string }) {
  return <Link href={`/invoices/${id}`}>Open the invoice</Link>;
}

function Document({ row: { id, document_sha256: hash } }: { row: ProposedPayout }) {
  if (hash === null) return <span className="none">None yet</span>;
  if (may("review_documents")) return <Link href={`/documents/${id}`}>See the document</Link>;
  return <code title={`SHA-256 ${hash}`}>{hash.slice(0, 12)}…</code>;
}
