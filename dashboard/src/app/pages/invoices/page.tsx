import { Button } from "@mantine/core";
import type { Invoice } from "@sliproad/sdk";
import { useMutation } from "@tanstack/react-query";
import { api, messageOf } from "../../api.ts";
import { Amount, fromMinor } from "../../parts/amount.tsx";
import { Icon } from "../../parts/icons.tsx";
import { Moment } from "../../parts/moment.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { type Column, RecordTable } from "../../parts/record-table.tsx";
import { Empty } from "../../parts/states.tsx";
import { StatusChip } from "../../parts/status-chip.tsx";

type Status = Invoice["status"];
type Shown = { name: string; family: "waiting" | "working" | "needs_you" | "done" | "failed" };

const STATES: Readonly<Record<Status, Shown>> = {
  draft: { name: "draft", family: "waiting" },
  scheduled: { name: "repeats", family: "waiting" },
  open: { name: "unpaid", family: "needs_you" },
  accepted: { name: "accepted", family: "working" },
  declaredPaid: { name: "said to be paid", family: "working" },
  paid: { name: "paid", family: "done" },
  canceled: { name: "canceled", family: "failed" },
  rejected: { name: "rejected", family: "failed" },
};

const COLUMNS: readonly Column<Invoice>[] = [
  {
    name: "Number",
    cell: (row) => (
      <div>
        <div className="strong">{row.invoiceNumber}</div>
        <div className="quiet">{nameOfOther(row)}</div>
      </div>
    ),
    is_title: true,
  },
  {
    name: "Amount",
    cell: (row) => <Total invoice={row} />,
    is_amount: true,
  },
  {
    name: "State",
    cell: ({ status }) => (
      <StatusChip status={STATES[status].name} family={STATES[status].family} />
    ),
  },
  { name: "You", cell: (row) => (row.role === "seller" ? "are paid" : "pay") },
  { name: "Due", cell: (row) => <Due invoice={row} /> },
  { name: "Created", cell: (row) => <Moment at={row.creationDate} /> },
  { name: "PDF", cell: (row) => <Download invoice={row} /> },
];

/** Invoices that this account wrote or received. */
export default function InvoicesPage() {
  return (
    <>
      <PageHead title="Invoices" />
      <RecordTable
        label="Invoices, newest first"
        query_key={["invoices"]}
        load={loadInvoices}
        columns={COLUMNS}
        empty={
          <Empty title="No invoices yet">
            An invoice appears here as soon as you write or receive one.
          </Empty>
        }
      />
    </>
  );
}

/** The currency of a token may name its chain as well. */
function Total({ invoice: { total, currency } }: { invoice: Invoice }) {
  const symbol = currency.split("-")[0]!.toLowerCase();
  return <Amount value={fromMinor(total, symbol)} currency={symbol} />;
}

function Due({ invoice: { paymentTerms } }: { invoice: Invoice }) {
  return paymentTerms?.dueDate ? <Moment at={paymentTerms.dueDate} /> : "–";
}

function Download({ invoice }: { invoice: Invoice }) {
  const { mutate, isPending, error } = useMutation({
    mutationFn: async () => {
      const file = await api.invoices.pdf(invoice.id);
      save(await file.blob(), `${invoice.invoiceNumber.replace(/[^\w.-]+/g, "-")}.pdf`);
    },
  });
  return (
    <>
      <Button
        size="compact-sm"
        variant="default"
        loading={isPending}
        leftSection={<Icon name="download" size={14} />}
        aria-label={`Download ${invoice.invoiceNumber} as PDF`}
        onClick={() => mutate()}
      >
        PDF
      </Button>
      {error && <div role="alert">{messageOf(error)}</div>}
    </>
  );
}

function save(content: Blob, name: string): void {
  const url = URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}

async function loadInvoices(starting_after?: string) {
  const after = starting_after ? { starting_after } : {};
  const page = await api.invoices.list({ ...after, take: 50 }).page();
  return { rows: page.records, has_more: page.has_more };
}

/** The party that this account is not. */
function nameOfOther({ role, buyerInfo, sellerInfo }: Invoice): string {
  const other = role === "seller" ? buyerInfo : sellerInfo;
  const person = [other?.firstName, other?.lastName].filter(Boolean).join(" ");
  return other?.businessName || person || other?.email || "";
}
