import { Alert, Button, Group, Modal, Stack, Text, Title } from "@mantine/core";
import type { PaymentDetail } from "@sliproad/sdk";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { api, messageOf, queries } from "../../api.ts";
import { Moment } from "../../parts/moment.tsx";
import { type Column, RecordTable } from "../../parts/record-table.tsx";
import { StatusChip } from "../../parts/status-chip.tsx";
import { may } from "../../session.ts";

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
      <Title order={2} size="h4" id="bank-accounts" mb="sm">
        Bank accounts
      </Title>
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
      {chosen && <DeactivateDialog detail={chosen} onClose={() => choose(null)} />}
    </section>
  );
}

function DeactivateDialog({ detail, onClose }: { detail: PaymentDetail; onClose: () => void }) {
  const { mutate, isPending, error } = useMutation({
    mutationFn: () => api.paymentDetails.deactivate(detail.user_id, detail.id),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ["person", detail.user_id] });
      onClose();
    },
  });
  return (
    <Modal
      opened
      onClose={onClose}
      title="Deactivate a bank account"
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <Stack gap="sm">
        <Text size="sm">
          Nothing is paid any more to {detail.account_name}, {detail.bank_name} {endOf(detail)}.
          This cannot be taken back.
        </Text>
        {error && (
          <Alert color="red" variant="light" role="alert">
            {messageOf(error)}
          </Alert>
        )}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button color="red" loading={isPending} onClick={() => mutate()}>
            Deactivate
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}

/** The last four characters of what identifies the account. */
function endOf({ iban, account_number, rib_number }: PaymentDetail): string {
  const identifier = iban ?? account_number ?? rib_number;
  return identifier ? `··${identifier.slice(-4)}` : "";
}
