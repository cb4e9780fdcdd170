import { Button, Group, Title } from "@mantine/core";
import type { Balance, Refund } from "@sliproad/sdk";
import { useState } from "react";
import { api } from "../../api.ts";
import { Amount } from "../../parts/amount.tsx";
import { chainName } from "../../parts/chain-name.ts";
import { Copied } from "../../parts/fact.tsx";
import { Moment } from "../../parts/moment.tsx";
import { type Column, LOOK_EVERY_MS, RecordTable } from "../../parts/record-table.tsx";
import { StatusChip } from "../../parts/status-chip.tsx";
import { may } from "../../session.ts";
import { RefundDialog } from "./refund-dialog.tsx";

const COLUMNS: readonly Column<Refund>[] = [
  {
    name: "Amount",
    cell: (row) => <Amount value={row.amount} currency={row.token} />,
    is_amount: true,
    is_title: true,
  },
  { name: "Chain", cell: (row) => chainName(row.chain) },
  {
    name: "To",
    cell: (row) => (
      <Copied text={row.address} short={shorten(row.address)} label="address" is_code />
    ),
  },
  { name: "State", cell: (row) => <StatusChip status={row.status} /> },
  {
    name: "Transaction",
    cell: ({ tx_id }) =>
      tx_id ? <Copied text={tx_id} short={shorten(tx_id)} label="transaction" is_code /> : "–",
  },
  { name: "Asked for", cell: (row) => <Moment at={row.created_at} /> },
];

type RefundsProps = { user_id: string; balances: readonly Balance[] };

/** What is owed to this person and was sent back to an address of theirs. */
export function Refunds({ user_id, balances }: RefundsProps) {
  const [isOpen, open] = useState(false);
  return (
    <section aria-labelledby="refunds">
      <Group justify="space-between" mb="sm">
        <Title order={2} size="h4" id="refunds">
          Refunds
        </Title>
        {may("move_money") && balances.length > 0 && (
          <Button variant="default" size="compact-md" onClick={() => open(true)}>
            Send back what is owed
          </Button>
        )}
      </Group>
      <RecordTable
        label="Refunds, newest first"
        query_key={["person", user_id, "refunds"]}
        // No event tells that the chain confirmed one.
        look_every_ms={LOOK_EVERY_MS}
        load={async (starting_after) => {
          const after = starting_after ? { starting_after } : {};
          const page = await api.refunds.list(user_id, { ...after, limit: 25 }).page();
          return { rows: page.records, has_more: page.has_more };
        }}
        columns={COLUMNS}
        empty={<p className="card calm">Nothing was sent back yet.</p>}
      />
      {isOpen && <RefundDialog {...{ user_id, balances }} onClose={() => open(false)} />}
    </section>
  );
}

function shorten(text: string): string {
  return `${text.slice(0, 6)}…${text.slice(-4)}`;
}
