import { Button, Group, Title } from "@mantine/core";
import type { PaymentDetail } from "@sliproad/sdk";
import { useState } from "react";
import { Link } from "wouter";
import { api } from "../../api.ts";
import { Moment } from "../../parts/moment.tsx";
import { type Column, RecordTable } from "../../parts/record-table.tsx";
import { StatusChip } from "../../parts/status-chip.tsx";
import { may } from "../../session.ts";
import { DeactivateDialog } from "../bank-accounts/deactivate-dialog.tsx";

/** Where this person is paid. */
export function BankAccounts({ user_id }: { user_id: string }) {
  const [chosen, choose] = useState<PaymentDetail | null>(null);
  const columns: Column<PaymentDetail>[] = [
    { name: "Holder", cell: (row) => <span className="strong">{row.account_name}</span> },
    { name: "Bank", cell: (row) => [row.bank_name, endOf(row)].filter(Boolean).join(" ") },
    { name: "Currency", cell: (row) => row.currency?.toUpperCase() ?? "–" },
    { name: "State", cell: (row) => <StatusChip status={row.status} /> },
    { name: "Added", cell: (row) => <Moment at={row.created_at} /> },
  ];
  columns[0]!.is_title = true;
  if (may("prepare_payouts")) {
    columns.push({
      name: "Change",
      cell: (row) =>
        row.status !== "deactivated" && (
          <Button
            size="compact-sm"
            variant="default"
            aria-label={`Deactivate ${row.account_name} ${endOf(row)}`}
            onClick={() => choose(row)}
          >
            Deactivate
          </Button>
        ),
    });
  }
  return (
    <section aria-labelledby="bank-accounts">
      <Group justify="space-between" mb="sm">
        <Title order={2} size="h4" id="bank-accounts">
          Bank accounts
        </Title>
        {may("prepare_payouts") && (
          <Button
            component={Link}
            href={`/bank-accounts/new?user_id=${user_id}`}
            variant="default"
            size="compact-md"
          >
            Add a bank account
          </Button>
        )}
      </Group>
      <RecordTable
        label="Bank accounts, newest first"
        query_key={["person", user_id, "bank-accounts"]}
        load={async (starting_after) => {
          const after = starting_after ? { starting_after } : {};
          const page = await api.paymentDetails.list(user_id, { ...after, limit: 25 }).page();
          return { rows: page.records, has_more: page.has_more };
        }}
        columns={columns}
        empty={<p className="card calm">No bank account was added yet.</p>}
      />
      {chosen && (
        <DeactivateDialog
          user_id={user_id}
          id={chosen.id}
          name={`${chosen.account_name}, ${chosen.bank_name} ${endOf(chosen)}`}
          onClose={() => choose(null)}
        />
      )}
    </section>
  );
}

/** The last four characters of what identifies the account. */
function endOf({ iban, account_number, rib_number }: PaymentDetail): string {
  const identifier = iban ?? account_number ?? rib_number;
  return identifier ? `··${identifier.slice(-4)}` : "";
}
