import { Button } from "@mantine/core";
import type { BankException } from "@sliproad/sdk";
import { useState } from "react";
import { Link } from "wouter";
import { api } from "../../api.ts";
import { Amount } from "../../parts/amount.tsx";
import { Moment } from "../../parts/moment.tsx";
import { type Column, LOOK_EVERY_MS, RecordTable } from "../../parts/record-table.tsx";
import { Empty } from "../../parts/states.tsx";
import { StatusChip } from "../../parts/status-chip.tsx";
import { may, session } from "../../session.ts";
import { ResolveDialog } from "./resolve-dialog.tsx";

const KINDS: Readonly<Record<BankException["kind"], string>> = {
  suspense: "Money came back that fits no sent payment",
  no_such_payment: "It names a payment that is unknown",
  out_of_order: "It contradicts an earlier answer",
  conflict: "Its amount or currency differs from the payment",
};
const ANSWERS: Readonly<Record<BankException["answer"], string>> = {
  booked: "Paid",
  returned: "Came back",
  rejected: "Refused",
};

const COLUMNS: readonly Column<BankException>[] = [
  {
    name: "What is unclear",
    cell: (row) => <span className="strong">{KINDS[row.kind]}</span>,
    is_title: true,
  },
  { name: "The bank said", cell: (row) => ANSWERS[row.answer] },
  {
    name: "Amount",
    cell: (row) => <Amount value={row.amount} currency={row.currency} />,
    is_amount: true,
  },
  {
    name: "State",
    cell: (row) =>
      row.status === "open" ? (
        <StatusChip status="to_decide" family="needs_you" />
      ) : (
        <StatusChip status={row.status} family={row.status === "resolved" ? "done" : "working"} />
      ),
  },
  { name: "Payout", cell: (row) => <Payout row={row} /> },
  { name: "Bank reference", cell: (row) => row.bank_reference || "–" },
  { name: "Received", cell: (row) => <Moment at={row.created_at} /> },
];

/** Answers of the bank that contradict what is known. */
export function BankExceptions() {
  const [chosen, choose] = useState<BankException | null>(null);
  const decide: Column<BankException> = {
    name: "Decide",
    cell: (row) =>
      row.status === "open" && (
        <Button
          size="compact-sm"
          variant="default"
          aria-label={`Resolve ${row.bank_reference || row.end_to_end_id}`}
          onClick={() => choose(row)}
        >
          Resolve
        </Button>
      ),
  };
  return (
    <>
      <RecordTable
        label="Bank exceptions, newest first"
        query_key={["deposits", "exceptions"]}
        look_every_ms={LOOK_EVERY_MS}
        load={loadExceptions}
        columns={may("operate") ? [...COLUMNS, decide] : COLUMNS}
        empty={<Empty title="Nothing is unclear">Every answer of the bank fits a payout.</Empty>}
      />
      {chosen && (
        <ResolveDialog exception={chosen} what={KINDS[chosen.kind]} onClose={() => choose(null)} />
      )}
    </>
  );
}

/** Only payouts of the account that is open can be opened. */
function Payout({ row }: { row: BankException }) {
  if (!row.offramp_id) return <span className="none">–</span>;
  if (row.account_id !== session.account.id) return "Of another account";
  return <Link href={`/payouts/${row.offramp_id}`}>Open the payout</Link>;
}

async function loadExceptions(starting_after?: string) {
  const after = starting_after ? { starting_after } : {};
  const page = await api.deposits.listBankExceptions({ ...after, limit: 50 }).page();
  return { rows: page.records, has_more: page.has_more };
}
